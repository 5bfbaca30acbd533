// Package plainhttp sends POSTs to a server that is reached by plain HTTP, over
// connections that it keeps, on the goroutine of the caller. net/http hands each
// request to a goroutine that writes and its answer to the caller from one that
// reads; where a request is small and its answer is waited for, that costs more
// than the request.
//
// Whatever else there is to HTTP stays with net/http: TLS, HTTP/2, proxies, other
// methods, large bodies. The head of a request is what net/http writes, the
// answer is read by its parser.
//
// # Invariants
//
//   - A request is written once. The only exception are kept connections that
//     turn out to be dead before a single byte was written.
//   - Unwritten is said only of a request of which nothing went out.
//   - A connection is kept only after a whole answer, which nothing followed, and
//     only if nothing can still disturb it.
//   - A call ends with its context; heads and bodies of answers are bounded.
//   - Redirects are answers.
package plainhttp
