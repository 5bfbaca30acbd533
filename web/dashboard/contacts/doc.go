// Package contacts has the pages of contacts: lists and files of them, one with its
// attempts, the form and the file that send some, and dead letters.
//
// # Invariants
//
//   - A number is posted, and is in no URL and no title.
//   - What changes many contacts counts them first, and changes none that came later.
//   - A form that is sent twice makes one contact.
package contacts
