// Package plainhttp sends POSTs over plain HTTP, on connections that it keeps and
// on the goroutine of the caller. net/http passes each request to a goroutine that
// writes, and its answer to the caller from one that reads; if a request is small
// and its answer is waited for, that costs more than the request. If the provider is
// reached without TLS, this package saves 18 of 189 µs of CPU per contact (ADR 13,
// docs/performance.md).
//
// Everything else in HTTP stays with net/http: TLS, HTTP/2, proxies, other
// methods, large bodies. The head of a request is written as by net/http, and its
// parser reads the answer.
//
// # Invariants
//
//   - A request is written once. The only exception are kept connections that
//     are found dead before a single byte was written.
//   - Unwritten is reported only if no byte of the request was sent.
//   - A connection is kept only after a whole answer with nothing after it, and
//     only if nothing can still disturb it.
//   - A call ends with its context; heads and bodies of answers are bounded.
//   - Redirects are answers.
package plainhttp
