// Package client speaks Weir's HTTP API.
//
// What the API has is in client.gen.go, which is generated from its description
// (docs/openapi.json): a type for each body and a method of [Client] for each
// operation, named as there. Beside it stand what a description cannot say:
// what may be repeated ([Options]), errors ([Error]), lists to their end
// ([Client.Surveys] and its like), imports and downloads of any size
// ([Client.Import], [Client.Download]), and events as they happen
// ([Client.Follow]).
//
//	c, err := client.New(client.Options{URL: "https://weir.example", Token: token})
//	...
//	defer c.Close()
//	channel, err := c.GetChannel(ctx, "texts")
//
// The package imports nothing of Weir's.
//
// # Invariants
//
//   - The token goes into the Authorization header and nowhere else: no error
//     and no other value of this package holds it.
//   - A request is repeated only if that cannot do anything twice: it never
//     reached the server, or its method, its body or its caller says that a
//     repetition is harmless. An upload that has begun is never repeated.
//   - Bodies of any size pass through in bounded memory.
//   - Words of an answer, such as states, are texts: one that a later Weir adds
//     is no error.
package client
