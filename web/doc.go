// Package web is everything that Weir says over HTTP: the API for clients, the
// callbacks for providers, metrics and health.
//
// # Invariants
//
//   - A 2xx for contacts, a cancellation or a callback is written only after
//     the broker (or the store) said that it is durable. A store that is down
//     is a 503 with Retry-After, never a 2xx and never a 404.
//   - A request with any mistake changes nothing. All of its mistakes are
//     listed at once, each with a JSON pointer and a stable code.
//   - What is checked and what /openapi.json says come from the same Go types.
//   - No token, no channel secret, no phone number and no content of a message
//     reaches a log line, a metric or an error. A callback's URL holds a
//     secret, so routes are logged by their pattern, never by their path.
//   - Every route has a row in the table of scopes, or the handler is not made;
//     who lacks pii:read sees two digits of a number, in texts too. Tokens are
//     in memory: no request waits for the store to be let in.
//   - Imports and downloads take bounded memory however long they are, and end
//     when nothing has come or gone for half a minute, not before. A file that
//     broke off is never answered as if it were whole.
//   - The package knows neither the actors nor the database: it declares the
//     small interfaces that it needs.
package web
