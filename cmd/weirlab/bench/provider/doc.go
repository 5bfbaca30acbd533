// Package provider simulates the provider of a benchmark, a process of its own: it
// accepts every contact, reports its end after a delay, and records both.
//
// It shares two cores with what is measured, and is part of both sides of every ratio,
// so it must cost little: HTTP/1.1 is read and written by hand, on one goroutine for
// each connection. It speaks the wire formats of Nuntium and Verboice, as far as a
// workload needs them.
package provider
