// Package compat finds changes of the API that break its clients: it compares two
// OpenAPI 3.1 descriptions. A test compares the current description with that of
// the last release, docs/openapi-baseline.json.
//
// # Invariants
//
//   - It is pure: two texts in, a list out, in the same order each time.
//   - Requests that were valid stay valid: a request schema may become wider,
//     never narrower.
//   - Responses stay compatible: they may contain more, never less, and never in
//     another type. An enum in a response, such as states, may get more values:
//     clients must tolerate unknown ones.
package compat
