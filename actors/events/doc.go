// Package events delivers the events of the log to receivers: subscriptions to
// which Weir POSTs them, and webhooks of surveys.
//
// Invariants:
//   - a receiver gets every event that it wants at least once, unless delivery
//     fails until the event is a day old
//   - of events that must stay in order, none is delivered before the one ahead
//     of it is done
//   - an event that fails is deferred durably, with the events that
//     must stay behind it; the others continue
//   - the number of events in memory, and of deferred ones, is bounded: beyond
//     that the log itself is the queue
//   - errors, bodies and URLs of receivers are not logged
package events
