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
//   - The owner also knows in memory how many contacts of each channel wait.
//   - What lists a channel's contacts finds each once, whether the index by channel has it or
//     memory alone.
//   - What an [Observer] records changes in the transaction that changes the contacts.
package contacts

import (
	"weir"
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

// New returns the store of contacts in a database.
func New(db *commit.DB, channels *channels.Store, log *events.Log, metrics *Metrics, observer Observer, gate Gate) *Store {
	flights, waiting := newFlights(), newWaiting()
	var index *channelIndex
	if db.Dialect.IndexLater {
		index = newChannelIndex()
	}
	reader := &Reader{db, flights, waiting, index}
	channels.HasContacts = reader.hasContacts
	channels.IsOpen = func(id weir.ChannelID) bool { return waiting.of(id) > 0 || flights.has(id) }
	batch := newPart(reader, contactEvents{log}, observer, gate)
	return &Store{
		Queue: &Queue{db, batch, flights, waiting, index}, Reader: reader, DeadLetterStore: &DeadLetterStore{db, reader, batch.insertions},
		Incoming: &Incoming{db, batch.receipts}, Figures: &Figures{db, flights, waiting, metrics}, Purger: &Purger{db, channels, reader}, Addresses: &Addresses{DB: db, channels: channels, inserted: &batch.insertions.inserted},
	}
}
