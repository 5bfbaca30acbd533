// Package verboice hands calls to Verboice, an IVR server, and reads what it
// reports of them.
//
// A call is identified by the attempt's id, which is part of the
// status_callback_url that goes out with each call, and by the number that
// Verboice answers, the provider reference. Verboice knows no idempotency: a
// call whose answer was lost cannot be looked up and must not be sent again.
//
// Weir never gives a Verboice schedule with a call, so that the first terminal
// callback is the end of the attempt.
package verboice
