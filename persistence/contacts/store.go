// Package contacts keeps contacts: accepts them, moves them from state to state, lists them.
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
//   - A claim is committed only if the [Gate] lets it pass; otherwise the contact ends in
//     that transaction, and was never dispatched.
//   - channel_counts changes in the transaction that changes the contacts, and so does
//     what an [Observer] records.
package contacts

import (
	"context"
	"iter"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/people"
	"weir/persistence/channels"
	"weir/persistence/commit"
	"weir/persistence/events"
)

// Store is everything that keeps contacts.
type Store struct {
	*Queue
	*Reader
	*DeadLetterStore
	*Incoming
	*Figures
	*Purger
	*Addresses
}

// Queue accepts contacts and moves them from state to state, in batches of the writer.
type Queue struct {
	*commit.DB
	part    *part
	flights *flights
}

// InFlightNow returns how many contacts of a channel are in flight, as they were committed
// last. It is for the writer's goroutine.
func (s *Queue) InFlightNow(channel weir.ChannelID) int { return len(s.flights.channels[channel]) }

var (
	_ weir.Accepter  = (*Queue)(nil)
	_ weir.Committer = (*Queue)(nil)
)

// Observer records for another package what happens to contacts, in the transaction in
// which it happens.
type Observer interface {
	// Changed is told the transitions of a batch, those of one contact in order.
	Changed(t *commit.Tx, transitions iter.Seq[*weir.Transition]) error
	// Received is told a message of a person; ReceivedCommitted, that it was committed.
	Received(ctx context.Context, tx *sqlx.Tx, channel weir.ChannelID, m *weir.Incoming) error
	ReceivedCommitted()
}

// Gate decides, for the sake of people, which claims are not committed, in the transaction
// that would commit them.
type Gate interface {
	// Judge decides about the claims of a batch; nil: nothing is against any.
	Judge(t *commit.Tx, claims []*weir.Contact) ([]people.Verdict, error)
	// Claimed is told a claim that the batch commits.
	Claimed(t *commit.Tx, c *weir.Contact)
	// Returned is told an attempt of which certainly nothing went out, in the batch that
	// commits that. before is the progress that the attempt had.
	Returned(t *commit.Tx, c *weir.Contact, attempt int, before *weir.Progress)
	// Skipped is told a contact that a rule has ended before it was claimed, or has delayed.
	Skipped(c *weir.Contact, at time.Time)
	// Ended is told the end of a contact that was in flight, and whether anything may have gone
	// out. It returns the receipt to keep.
	Ended(t *commit.Tx, end *weir.Transition, out bool) weir.Receipt
}

// New returns the store of contacts in a database.
func New(db *commit.DB, channels *channels.Store, log *events.Log, metrics *Metrics, observer Observer, gate Gate) *Store {
	flights := newFlights()
	reader := &Reader{db, flights}
	batch := &part{contacts: reader, log: log, observer: observer, gate: gate}
	return &Store{
		Queue: &Queue{db, batch, flights}, Reader: reader, DeadLetterStore: &DeadLetterStore{db, reader, batch},
		Incoming: &Incoming{db, channels, log, observer}, Figures: &Figures{db, flights, metrics}, Purger: &Purger{db, channels}, Addresses: &Addresses{db, channels},
	}
}
