// Package web is the HTTP surface of Weir: the API for clients, callbacks for
// providers, metrics and health.
//
// # Invariants
//
//   - A 2xx for contacts, a cancellation or a callback is written only after
//     the broker or the store reports the commit. If the store is down, the
//     response is a 503 with Retry-After, never a 2xx and never a 404.
//   - A request with any error changes nothing. All of its errors are reported
//     at once, each with a JSON pointer and a stable code.
//   - Validation and /openapi.json come from the same Go types.
//   - No token, channel secret, phone number or message content reaches a log
//     line, a metric or an error. A callback's URL holds a secret, so routes
//     are logged by their pattern, never by their path.
//   - Every route has a row in the table of scopes, or the handler is not
//     created. A token without pii:read sees two digits of a phone number, in
//     texts too. Tokens are in memory: no token check waits for the store.
//   - Imports and downloads take bounded memory regardless of their length.
//     They end after half a minute without progress, not before. A truncated
//     file is never answered as complete.
//   - The package imports neither the actors nor the database: it declares the
//     small interfaces that it needs.
package web
