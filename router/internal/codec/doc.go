// Package codec writes and reads the JSON of labels, selectors and jobs by hand,
// because they fill the event log and the snapshots. Reader and Writer use the same
// order of members: change both together.
package codec
