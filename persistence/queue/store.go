// Package queue keeps contacts: accepts them, moves them from state to state, lists them.
//
// # Invariants
//
//   - A contact has one row in contacts, which never changes, and is in one state: in
//     contacts_queued, contacts_delayed, contacts_done, or in flight, where the
//     latest record of it in the log contacts_in_flight counts.
//   - The owner of the database knows in memory all contacts that are in flight, as they
//     were committed last.
//   - A transition is written only by the latest incarnation of its channel's broker and
//     over the revision that it names.
//   - channel_counts changes in the transaction that changes the contacts; an outbox
//     entry is written in the transaction of what it reports.
package queue

import (
	"sync/atomic"

	"weir/persistence/channels"
	"weir/persistence/commit"
	"weir/persistence/eventlog"
)

// Store keeps contacts.
type Store struct {
	*commit.DB
	channels *channels.Store
	events   *eventlog.Log
	part     part
	flights  *flights
	onOutbox atomic.Pointer[func()]
	metrics  *Metrics
}

func New(db *commit.DB, channels *channels.Store, log *eventlog.Log, metrics *Metrics) *Store {
	s := &Store{DB: db, channels: channels, events: log, flights: newFlights(), metrics: metrics}
	s.part.s = s
	return s
}
