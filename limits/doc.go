// Package limits holds what bounds contacts beside the sake of the person: limits that several
// channels share, prices of contacts, and budgets of surveys. It is pure: what is used already
// and the instant are given.
//
// The decision ([Usage.Room]) is taken in the transaction that claims a contact, so that a limit
// is never exceeded, also not after a crash. A claim reserves what it is expected to cost
// ([Tariff.Reserved]); its end corrects that ([Tariff.Spent]).
package limits
