// Package simulation holds what the simulated providers have in common: a tally
// that keeps the provider's own records, scripts of faults, an agenda, a bounded
// sender of callbacks and the HTTP interface under /_simulator/ through which
// tests, the demo and people inspect all that.
//
// It is independent of Weir's brokers: a simulator counts what reached it over
// HTTP, so that its numbers can prove a broker wrong.
//
// # Invariants
//
//   - Every goroutine ends when the context of the Run that started it does.
//   - With the same seed and the same requests for an address, the same
//     faults happen, in whatever order the addresses come.
package simulation
