package limits

import (
	"time"

	"weir"
	"weir/internal/segments"
	"weir/limits"
	"weir/persistence/commit"
)

// Gate judges the claims of a batch by limits, and counts what they take. Package people's gate
// asks it, after the rules for the sake of the person. It is used on the writer's goroutine only.
type Gate struct {
	limits  *limitStore
	prices  *priceStore
	budgets *budgetStore
	names   *dailyStore
}

// Limiting returns the gate of the store.
func (s *Store) Limiting() *Gate {
	return &Gate{s.limitStore, s.priceStore, s.budgetStore, s.dailyStore}
}

// Begin begins a batch.
func (g *Gate) Begin() {
	g.prices.begin()
	g.limits.begin()
	g.budgets.begin()
}

// Committed keeps what the batch has changed, and what its claims have taken.
func (g *Gate) Committed() {
	g.prices.rules.publish()
	g.limits.committed(g.prices.spent)
	g.budgets.committed(g.prices.spent)
}

// Bounds are the limits, budgets and prices by which a batch is judged.
type Bounds struct {
	set     *limitSet
	tariffs map[string]*limits.Tariff
	gate    *Gate
}

// Bounds returns by what this batch is judged, with what is stored of its use.
func (g *Gate) Bounds(t *commit.Tx) (*Bounds, error) {
	set, err := g.limits.judgedBy(t)
	if err != nil {
		return nil, err
	}
	return &Bounds{set, g.prices.tariffs(), g}, nil
}

// None reports whether there is neither a limit nor a price.
func (b *Bounds) None() bool { return !b.limit() && len(b.tariffs) == 0 }

func (b *Bounds) limit() bool { return len(b.set.list)+len(b.set.budgets) > 0 }

// Tariff returns the price of a channel; nil: it has none.
func (b *Bounds) Tariff(channel string) *limits.Tariff { return b.tariffs[channel] }

// Take takes room for a claim that costs an amount from every limit of its channel and survey. If
// one has none it takes nothing, and returns which; otherwise the denial has no rule. person
// returns whom the claim is for, and is called only if there are limits.
func (b *Bounds) Take(t *commit.Tx, c *weir.Contact, cost limits.Money, currency string, person func() limits.Person) limits.Denial {
	if !b.limit() {
		return limits.Denial{}
	}
	return b.gate.limits.takeRoom(t, b.set, c, &limits.Demand{Person: person(), Units: max(1, segments.Total(c.Messages)), Cost: cost, Currency: currency})
}

// Spend counts money for a contact, on the day of its claim.
func (g *Gate) Spend(t *commit.Tx, c *weir.Contact, currency string, amount limits.Money, claimedAt time.Time) {
	g.prices.spend(t, c, currency, amount, claimedAt)
}

// Settle replaces what was reserved for a contact that ends by what it has cost, and returns its
// receipt. out says whether anything may have gone out.
func (g *Gate) Settle(t *commit.Tx, end *weir.Transition, out bool) weir.Receipt {
	return g.prices.settle(t, end, out)
}

// CountsPeople reports whether a limit counts the new people of a channel.
func (g *Gate) CountsPeople(channel string) bool { return g.limits.current.newPeople(channel) }

// Undo has a person count no longer as contacted over a channel at an instant.
func (g *Gate) Undo(channel string, person limits.Person, at time.Time) {
	g.limits.undone = append(g.limits.undone, undone{channel, Contacted{person, at}})
}

// CountedAs returns the name under which a survey is counted on a day.
func (g *Gate) CountedAs(survey string, day int) string { return g.names.countedAs(survey, day) }

// Flush adds what the batch has spent.
func (g *Gate) Flush(t *commit.Tx) { g.prices.write(t) }
