// Package channels has the pages of channels: state, figures and charts of one, the forms
// that create and change it, and the steps of its set-up.
//
// # Invariants
//
//   - A secret is never sent to a browser: a form shows that there is one.
//   - Whoever changes a channel changes the version that the form showed, or is told what
//     was changed meanwhile.
//   - Charts are kept by the rights of their readers.
package channels
