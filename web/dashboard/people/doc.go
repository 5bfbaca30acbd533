// Package people has the pages of people: what is known of one, consents and refusals,
// messages that may be refusals, and the purposes with their rules.
//
// # Invariants
//
//   - An address is posted, and is in no URL and no title.
//   - Whoever may not search for people may record a refusal all the same.
package people
