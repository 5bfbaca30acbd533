// Package plantest looks at the plans of the store's statements over a channel
// with a million queued and a million finished contacts. It is a package of
// its own so that it can be run without the race detector: it tests the
// database, not the program.
package plantest
