// Package limits has the pages of limits that channels share, of prices, and of what was
// spent.
//
// # Invariants
//
//   - A limit is about the whole installation: only a token without a limit of its own sees
//     one.
//   - Amounts are the API's texts. Nothing here computes with floating-point money.
package limits
