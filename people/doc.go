// Package people holds what Weir promises to the persons whom it contacts: whoever refused
// is not contacted. It is pure: what was recorded and the instant are given.
//
// A person is known by an address in its canonical form ([Canonical]). What is recorded of
// an address is a history of consents, which only grows, and a state for each purpose. The
// state is kept by a keyed hash of the address ([Key]), so that it outlives the address:
// a number that was erased stays refused, and nobody can read it back without the key.
//
// The decision ([Decide]) is taken in the transaction that claims a contact, so that it
// holds for contacts that waited already, and after a crash.
package people
