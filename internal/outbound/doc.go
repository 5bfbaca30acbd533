// Package outbound calls addresses that users configured: function rules of
// the router, receivers of events, webhooks of surveys.
//
// Invariants: nothing is sent to an address that was not checked, and the
// address that was checked is the address that is dialed, so that a name which
// resolves differently the next time (DNS rebinding) gains nothing; no redirect is
// followed; no proxy of the environment is used; a call ends in a bounded time
// and its answer has a bounded size. Errors contain neither URLs, which may hold
// secrets, nor the addresses that a name resolved to.
package outbound
