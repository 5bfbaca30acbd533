// Package httponce is an HTTP/1.1 client that carries out each request at most once, and
// knows whether any of it was sent. Providers are called with it: a person must not be called
// twice because a connection broke.
//
// # Invariants
//
//   - A request is written on one connection. Another connection is used only if not a single
//     byte of the request was handed to the first one, which was kept from an earlier request.
//   - An error that [NotSent] does not recognize leaves open whether the server has acted.
//     One that it recognizes is certain: no byte of the request left (connecting, a proxy's
//     tunnel and the TLS handshake carry none of it).
//   - A connection that the server has closed, or on which it sent something unasked for, is
//     noticed before anything is written on it.
//   - Whatever a server does, a request ends with its context, the head of an answer has a
//     bounded size, and an answer to one request is never taken for that to another: a
//     connection is kept only after an answer that was read to its end.
//   - A request is answered even if the server answers, or closes, before it has read all of it.
//   - HTTP/2 is neither offered nor understood, and no redirect is followed.
//
// Requests and answers are written and parsed by net/http ([http.Request.Write],
// [http.ReadResponse]); what this package replaces is its Transport, whose goroutines repeat
// requests by rules of their own, and tell only by hooks how far one got.
package httponce
