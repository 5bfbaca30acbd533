// Package access has the pages of what other programs and people may do with this Weir and
// what they did: tokens, webhooks and the audit log.
//
// # Invariants
//
//   - The text of a token and the secret of a webhook are shown once, after they were made,
//     and are in no URL.
//   - Only a token for the whole installation sees the audit log.
package access
