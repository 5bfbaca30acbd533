// Package docs makes a page for people of the API's description.
//
// # Invariants
//
//   - The page says what the description says and nothing else; it is made of it
//     on the server, when somebody asks for it first.
//   - It needs nothing from elsewhere and runs no script, so that its content
//     security policy allows none. Its links are relative: it works under any
//     prefix.
//   - Every operation and every schema has an anchor, which stays as long as its
//     name does.
package docs
