// Package events keeps events, many in one row, and how far each receiver has got. The
// ids of events are in the order of commits, without a gap.
package events
