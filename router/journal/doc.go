// Package journal holds the events of the router, their encoding, and the interface
// of the store that keeps them. The state of the router is the result of its events
// in order; a snapshot replaces the oldest ones.
package journal
