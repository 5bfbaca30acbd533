// Package verboice dispatches calls to Verboice, an IVR server, and reads its
// reports on them.
//
// A call is identified by the attempt's id, which is part of the
// status_callback_url sent with each call, and by the number that Verboice
// returns, the provider reference. Verboice has no idempotency key: a call whose
// answer was lost cannot be looked up and must not be sent again.
//
// Weir never sends a Verboice schedule with a call, so that the first terminal
// callback is the end of the attempt.
package verboice
