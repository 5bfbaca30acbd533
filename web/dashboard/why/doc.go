// Package why shows why something waits or has stopped, in the words and for the pages of
// every subject: contacts, channels, surveys and jobs. The API says what the reason is;
// here are its sentences in the language of the reader, what a brake has counted, and what
// rules have kept from being dispatched.
//
// # Invariants
//
//   - Whatever comes from the API is escaped; the instants in it alone are marked up, so
//     that they are shown in the reader's zone.
//   - A rule has the same words on every page.
package why
