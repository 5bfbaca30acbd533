// Package drivertest is the contract suite of channel types. [Run] holds a driver to
// what package channels promises of it, against the simulated provider of its type:
// which results a Send may have, what is known after a lost answer, which callbacks
// count, and that no text shows a secret or a phone number.
//
// What a result may claim is compared with the simulator's own count of what it has.
// Package peers lists the types, each with what sets it apart; a [World] is also
// where a driver's own tests play.
package drivertest
