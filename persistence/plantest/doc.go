// Package plantest checks the query plans of the store's statements over a channel
// with 200,000 queued and 200,000 finished contacts. It is a separate package
// so that it can run without the race detector: it tests the database, not the
// program.
package plantest
