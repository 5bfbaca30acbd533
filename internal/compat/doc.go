// Package compat tells what of a changed API breaks its clients: it compares
// two descriptions in OpenAPI 3.1. A test holds the description as it is against
// that of the last release, docs/openapi-baseline.json.
//
// # Invariants
//
//   - It is pure: two texts in, a list out, in the same order each time.
//   - What a client sends must be taken as before: requests may become wider,
//     never narrower.
//   - What a client is sent must be as before: answers may say more, never less,
//     and never in another type. Words of answers, such as states, may become
//     more: clients have to bear one that they do not know.
package compat
