// Package delivery hands the events of the log to receivers: subscriptions to
// which Weir POSTs them, webhooks of surveys.
//
// Invariants: a receiver gets every event that it wants at least once, unless
// that fails until the event is a day old; of events that have to stay in
// order, none is handed over before the one ahead of it is settled; an event
// that fails is put aside durably, with those that have to stay behind it, and
// the others go on; what is kept in memory, and what is put aside, is bounded:
// beyond that the log itself is the queue. Only the process that has the role
// delivers. Errors and bodies of receivers are not logged, nor their URLs.
package delivery
