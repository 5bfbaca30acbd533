// Package files has the pages on which people send a file of rows, whatever its rows become:
// a [Use] says that. It shows what the columns are, what the first rows become, how far a
// long file has come, and the rows that were refused.
//
// # Invariants
//
//   - A file is sent in two steps: the first one shows what its rows become, the second one
//     sends them. Nothing of it is stored in between: a small file travels in the form of
//     the second step, a larger one is chosen again.
//   - Both steps pass the file on to the API, which alone reads its rows; the second one
//     while it arrives, so that its memory does not depend on the length of the file.
//   - Rows that were sent are recognized when they are sent again, and so the whole file can
//     be repeated after an interruption of any kind.
package files
