// Package client is a Go client of Weir's HTTP API.
//
// The operations are in client.gen.go, which is generated from the API description
// (docs/openapi.json): a method of [Client] for each operation, and a name for each
// body, whose type is that of package api. The other files add what a
// description cannot express: retries ([Options]), errors ([Error]), iterators over
// whole lists ([Client.Channels] and others), streamed imports ([Client.Import]) and
// live events ([Client.Follow]).
//
// The package imports package api of Weir and no other. The module is not published: another
// module needs "require weir v0.0.0" and "replace weir => PATH" in its go.mod.
//
// # Invariants
//
//   - The token is sent in the Authorization header and nowhere else: no error
//     and no other value of this package contains it.
//   - A request is retried only if that cannot have a second effect: it never
//     reached the server, or its method, its body or its caller makes it
//     idempotent. An import is never retried once it has begun.
//   - Bodies of any size are streamed in bounded memory.
//   - Enumerated values in responses, such as states, are strings: a value that a
//     later version of Weir adds is no error.
package client
