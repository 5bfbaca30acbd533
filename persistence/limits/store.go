// Package limits keeps limits, prices, what was spent, and how much of budgets is used.
//
// # Invariants
//
//   - Limits and prices are changed by the writer that commits claims: a batch that begins after a
//     change was committed judges by it.
//   - What was spent is the sum of what the receipts of all attempts say: a claim adds what it
//     reserves, its end the difference, each in the transaction that writes the receipt.
//   - A person counts as contacted over the channels of a limit from the commit of the claim on.
package limits

import (
	"context"
	"time"

	"weir"
	"weir/limits"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

var _ limits.Store = (*Store)(nil)

// Store keeps limits, prices and the use of budgets. Each part has its own file.
type Store struct {
	*limitStore
	*priceStore
	*budgetStore
	*dailyStore
}

// New returns the limits, prices and budgets in a database.
func New(db *commit.DB) *Store {
	budgets := newBudgetStore(db)
	bounds := newLimitStore(db, budgets)
	names := &dailyStore{DB: db, limits: bounds, budgets: budgets, names: dayNames{}}
	budgets.prices = newPriceStore(db, bounds, budgets, names)
	return &Store{limitStore: bounds, priceStore: budgets.prices, budgetStore: budgets, dailyStore: names}
}

// Contacted is a person who was contacted at an instant.
type Contacted struct {
	Person limits.Person
	At     time.Time
}

// Contacts reads whom channels, given by their ids, have contacted or answered since an instant,
// in that order.
type Contacts func(ctx context.Context, from dialect.Reader, channels []any, since time.Time) ([]Contacted, error)

// CountBy gives the store what it counts by: inFlight returns how many contacts of a channel are in
// flight, as they were committed last; contacted reads whom channels have contacted; budgets reads
// the budgets of surveys.
func (s *Store) CountBy(inFlight func(weir.ChannelID) int, contacted Contacts, budgets Budgets) {
	s.inFlight, s.contacted, s.load = inFlight, contacted, budgets
}

// Load reads prices, budgets and limits, and how much of them is used. It is for the owner of the
// database, before anything is claimed.
func (s *Store) Load(ctx context.Context) error {
	if err := s.priceStore.rules.load(ctx); err != nil {
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
