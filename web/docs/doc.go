// Package docs renders the API's description as a readable page.
//
// # Invariants
//
//   - The page contains the description and nothing else. It is rendered on the
//     server, at the first request.
//   - It loads nothing external and runs no script, so its content security policy
//     allows none. Its links are relative: it works under any prefix.
//   - Every operation and every schema has an anchor, which is stable as long as its
//     name is.
package docs
