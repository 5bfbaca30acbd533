// Package simulation is what the simulated providers have in common: a tally
// that keeps the provider's own truth, scripts of faults, a timetable, a
// bounded sender of callbacks and the HTTP surface under /_simulator/ through
// which tests, the demo and people look at all that.
//
// It knows nothing of Weir's brokers: what a simulator counts is what reached
// it over HTTP, so that its numbers can convict the broker.
//
// # Invariants
//
//   - Every goroutine ends when the context of the Run that started it does.
//   - With the same seed and the same requests for an address, the same
//     faults happen, in whatever order the addresses come.
package simulation
