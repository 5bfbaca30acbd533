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
	"weir"
	"weir/persistence/channels"
	"weir/persistence/commit"
	"weir/persistence/eventlog"
)

// Store is everything that keeps contacts.
type Store struct {
	*Queue
	*Reader
	*DeadLetterStore
	*Outbox
	*Incoming
	*Figures
	*Purger
}

// Queue accepts contacts and moves them from state to state, in batches of the writer.
type Queue struct {
	*commit.DB
	part    *part
	flights *flights
}

var (
	_ weir.Accepter  = (*Queue)(nil)
	_ weir.Committer = (*Queue)(nil)
)

// New returns the store of contacts in a database.
func New(db *commit.DB, channels *channels.Store, log *eventlog.Log, metrics *Metrics) *Store {
	flights := newFlights()
	reader, outbox := &Reader{db, flights}, &Outbox{DB: db}
	batch := &part{contacts: reader, log: log, outbox: outbox}
	return &Store{
		Queue: &Queue{db, batch, flights}, Reader: reader, DeadLetterStore: &DeadLetterStore{db, reader, batch}, Outbox: outbox,
		Incoming: &Incoming{db, channels, log, outbox}, Figures: &Figures{db, flights, metrics}, Purger: &Purger{db, channels},
	}
}
