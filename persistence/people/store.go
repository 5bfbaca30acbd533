// Package people keeps what people said about being contacted, and decides about claims by
// it.
//
// # Invariants
//
//   - Consents are written by the writer that commits claims. A batch that begins after a
//     refusal was committed sees it.
//   - States are kept by a keyed hash of the address. A key that states were made with is
//     never forgotten.
//   - Rules of purposes are changed by the writer, too: a batch that begins after a change
//     was committed judges by it.
//   - The answer to a message is queued in the transaction that records what the message
//     says, together with that the person has had one.
//   - Of whom nothing is recorded, nothing is read. What a claim is told so is never wrong: see
//     known.
//   - An earlier contact counts once for each claim that was committed, in that transaction,
//     and no longer in the transaction that learns that nothing went out.
//   - Limits are asked last, in the same step: a claim that a rule is against takes nothing of them.
package people

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/contacts"
	"weir/persistence/limits"
)

var (
	_ people.Store  = (*Store)(nil)
	_ contacts.Gate = (*Gate)(nil)
	_ commit.Part   = (*Gate)(nil)
)

// Store keeps consents, purposes and when people were contacted. Each part has its own file.
type Store struct {
	*keyring
	*consentStore
	*purposeStore
	*skipStore
	*historyStore
	*messageStore
	limits *limits.Store
	gate   *Gate
}

// New returns the consents and purposes in a database, whose limits are kept by another store.
func New(db *commit.DB, bounds *limits.Store) *Store {
	keys := &keyring{db: db}
	consents, purposes := &consentStore{DB: db, keyring: keys, said: known{table: statesTable}}, &purposeStore{DB: db}
	purposes.current.Store(newPurposes(nil))
	limiting := bounds.Limiting()
	s := &Store{
		keyring: keys, consentStore: consents, purposeStore: purposes, limits: bounds, skipStore: &skipStore{DB: db, names: limiting},
		historyStore: &historyStore{DB: db, keyring: keys, purposes: purposes, contacted: known{table: contactsTable}},
		messageStore: &messageStore{DB: db, keyring: keys, consents: consents, purposes: purposes},
	}
	s.history = s.historyStore
	s.gate = &Gate{keyring: keys, consents: consents, purposes: purposes, limits: limiting, skips: s.skipStore, before: histories{most: maxRows}, contacted: &s.contacted}
	return s
}

// Gate returns what judges the claims of all batches, and has a part in each.
func (s *Store) Gate() *Gate { return s.gate }

// Connect gives the store of contacts: inFlight returns how many contacts of a channel are in
// flight, as they were committed last, and queue takes the answers to messages. budgets reads
// the budgets of surveys.
func (s *Store) Connect(inFlight func(weir.ChannelID) int, queue Queue, budgets limits.Budgets) {
	s.queue = queue
	s.limits.CountBy(inFlight, contactedBy, budgets)
}

// OpenPeople reads the purposes, prices and limits, and makes the keys of addresses known: the configured ones, of which the first is
// for new states, or the one that the database has, which the first call makes. It is for
// the owner of the database, before anything is claimed. An error says that a key is
// missing, without which those who refused would be contacted again.
func (s *Store) OpenPeople(ctx context.Context, configured [][]byte) error {
	s.said.begin()
	s.contacted.begin()
	if err := s.keyring.open(ctx, configured); err != nil {
		return err
	}
	if err := s.purposeStore.loadAll(ctx); err != nil {
		return err
	}
	return s.limits.Load(ctx)
}

// PurgeDaily deletes what rules have skipped more than [limits.DaysKept] days ago, and adds up what
// was spent before: see [limits.Store.AddUpSpent]. It does so with a part of at most limit rows, and
// reports whether more may follow.
func (s *Store) PurgeDaily(ctx context.Context, now time.Time, limit int) (more bool, _ error) {
	n, err := s.skipStore.purge(ctx, weir.DayOf(now)-limits.DaysKept, limit)
	if err == nil && n < limit {
		n, err = s.limits.AddUpSpent(ctx, now, limit)
	}
	return n >= limit, err
}

// ReadPeople reads a page of whom the rules know, so that claims look up nobody else; until it has
// read all, they look up everybody. It returns whether it did something. It is for the owner of the
// database.
func (s *Store) ReadPeople(ctx context.Context, page int) (more bool, err error) {
	for _, k := range []*known{&s.said, &s.contacted} {
		if more, err = k.read(ctx, s.gate.consents.DB, page); more || err != nil {
			return more, err
		}
	}
	return false, nil
}

// purge deletes the oldest rows from before an instant, about limit at most, and returns how
// many. oldest finds the latest instant of those.
func purge(ctx context.Context, db *commit.DB, oldest, remove string, before time.Time, limit int) (int, error) {
	var n int64
	err := db.Transaction(ctx, func(tx *sqlx.Tx) error {
		var last int64
		err := tx.GetContext(ctx, &last, oldest, columns.Micros(before), limit)
		if err != nil || last == 0 {
			return err
		}
		r, err := tx.ExecContext(ctx, remove, last)
		if err != nil {
			return err
		}
		n, err = r.RowsAffected()
		return err
	})
	return int(n), err
}
