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
//   - What was spent is the sum of what the receipts of all attempts say: a claim adds what it
//     reserves, its end the difference, each in the transaction that writes the receipt.
package people

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/contacts"
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
	*limitStore
	*priceStore
	*skipStore
	*historyStore
	*messageStore
	*budgetStore
	*dailyStore
	gate *Gate
}

// New returns the consents and purposes in a database.
func New(db *commit.DB) *Store {
	keys := &keyring{db: db}
	budgets := newBudgetStore(db)
	consents, purposes, limits := &consentStore{DB: db, keyring: keys, said: known{table: statesTable}}, &purposeStore{DB: db}, newLimitStore(db, budgets)
	names := &dailyStore{DB: db, limits: limits, budgets: budgets, names: dayNames{}}
	purposes.current.Store(newPurposes(nil))
	s := &Store{
		keyring: keys, consentStore: consents, purposeStore: purposes, limitStore: limits, priceStore: newPriceStore(db, limits, budgets, names), skipStore: &skipStore{DB: db, names: names},
		budgetStore: budgets, dailyStore: names,
		historyStore: &historyStore{DB: db, keyring: keys, purposes: purposes, contacted: known{table: contactsTable}},
		messageStore: &messageStore{DB: db, keyring: keys, consents: consents, purposes: purposes},
	}
	budgets.prices = s.priceStore
	s.history = s.historyStore
	s.gate = &Gate{keyring: keys, consents: consents, purposes: purposes, limits: limits, prices: s.priceStore, skips: s.skipStore, budgets: budgets, before: histories{most: maxRows}, contacted: &s.contacted}
	return s
}

// Gate returns what judges the claims of all batches, and has a part in each.
func (s *Store) Gate() *Gate { return s.gate }

// Connect gives the store of contacts: inFlight returns how many contacts of a channel are in
// flight, as they were committed last, and queue takes the answers to messages. budgets reads
// the budgets of surveys.
func (s *Store) Connect(inFlight func(weir.ChannelID) int, queue Queue, budgets Budgets) {
	s.inFlight, s.queue, s.load = inFlight, queue, budgets
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
	if err := s.priceStore.loadAll(ctx); err != nil {
		return err
	}
	if err := s.budgetStore.loadAll(ctx); err != nil {
		return err
	}
	if err := s.dailyStore.loadAll(ctx, time.Now()); err != nil {
		return err
	}
	return s.limitStore.loadAll(ctx)
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

// change has the writer do a small work, and waits for it.
func change(ctx context.Context, db *commit.DB, w commit.Work) error {
	call, err := db.NewCall(ctx, &commit.Request{Work: w, Rows: 1, Bytes: 1000})
	if err != nil {
		return err
	}
	call.Submit(nil)
	return call.Wait()
}

// checked is the refusal of a change that is checked only, and could be written. A dry run so sees what the change itself would see:
// the rows as they are in the transaction, after all that is written before it.
type checked struct{}

// Error implements error.
func (checked) Error() string { return "the change was checked only" }

// check has a change checked that is refused with [checked] if it could be written.
func check(ctx context.Context, db *commit.DB, w commit.Work) error {
	err := change(ctx, db, w)
	if _, right := errors.AsType[checked](err); right {
		return nil
	}
	return err
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

// writeRules sets the row of a limit or a price, and keeps programs away that do not know it.
func writeRules(t *commit.Tx, table, key, name string, rules any, at time.Time, step int) error {
	text, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	d := t.Dialect()
	t.AddOnce("INSERT INTO "+table+" ("+key+", rules, changed_at) VALUES "+columns.Marks(3)+d.Merge(key)+
		"rules = "+d.Fresh("rules")+", changed_at = "+d.Fresh("changed_at"), name, string(text), columns.Micros(at))
	t.Add(oldestSQL, step, step)
	return nil
}
