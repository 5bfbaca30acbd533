// Package router keeps the journal of the router and its snapshots. Groups of records
// follow each other without a gap.
package router
