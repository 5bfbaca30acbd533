// Package choices reads what the forms and pages of several subjects choose from: channels
// and purposes.
//
// # Invariants
//
//   - A token is offered only what its scopes reach.
//   - What was chosen before stays a choice, even if it was deleted meanwhile: the API
//     reports that.
package choices
