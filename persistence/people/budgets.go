package people

import (
	"context"
	"maps"

	"weir"
	"weir/people"
	"weir/persistence/commit"
)

// Budgets returns the budgets of the surveys that were launched, by name.
type Budgets func(context.Context) (map[string]*people.SurveyBudget, error)

// spentForSQL sums what contacts for surveys of a name have cost. It reads the whole table,
// which is small, and only for a launch: a budget that is there knows its sum.
const spentForSQL = "SELECT COALESCE(SUM(amount), 0) FROM spent WHERE survey = ? AND currency = ?"

// SpentFor implements [people.Budgets].
func (s *Store) SpentFor(ctx context.Context, survey, currency string) (people.Money, error) {
	var spent int64
	err := s.Read.GetContext(ctx, &spent, spentForSQL, survey, currency)
	return people.Money(spent), s.Failure("read what was spent for a survey", err)
}

// BudgetUse implements [people.Budgets].
func (s *Store) BudgetUse(survey string) (people.BudgetUse, bool) {
	found, ok := s.budgets.Load(survey)
	use, _ := found.(people.BudgetUse)
	return use, ok
}

// readBudgets reads the budgets and what is spent of each.
func (s *Store) readBudgets(ctx context.Context) error {
	if s.Budgets == nil {
		return nil
	}
	all, err := s.Budgets(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	var rows []struct {
		Survey   string `db:"survey"`
		Currency string `db:"currency"`
		Amount   int64  `db:"amount"`
	}
	err = s.Read.SelectContext(ctx, &rows, "SELECT survey, currency, SUM(amount) AS amount FROM spent WHERE survey <> '' GROUP BY survey, currency")
	if err != nil {
		return s.Failure("read what surveys have spent", err)
	}
	type key struct{ survey, currency string }
	spent := map[key]people.Money{}
	for _, r := range rows {
		spent[key{r.Survey, r.Currency}] = people.Money(r.Amount)
	}
	for name, b := range all {
		s.gate.limits.budgets[name] = newBudget(name, b, spent[key{name, b.Currency}])
		s.gate.publishBudget(name)
	}
	return nil
}

// budget is a survey's budget with its usage.
type budget struct {
	limit
	rules   *people.SurveyBudget
	refused people.Money // see [people.BudgetUse]
}

func newBudget(name string, b *people.SurveyBudget, spent people.Money) *budget {
	return &budget{limit: limit{name: name, usage: people.NewBudget(name, b, spent), read: true}, rules: b}
}

// SetBudget sets the budget of a survey in the batch that launches or changes it, or removes
// it: nil. With check it refuses one that the survey cannot be run on; launch is said of one
// that begins. Every later claim is judged by it, those of the batch among them.
func (g *Gate) SetBudget(t *commit.Tx, r *commit.Request, survey string, to *people.SurveyBudget, check, launch bool) (refused bool, _ error) {
	if to == nil {
		if g.limits.budgets[survey] != nil || g.budgeted[survey] != nil {
			g.budget(survey, nil)
		}
		return false, nil
	}
	spent, err := g.spentFor(t, survey, to.Currency)
	if err != nil {
		return false, err
	}
	if check {
		if fields := to.Refusals(g.tariffs(), spent, launch); len(fields) > 0 {
			r.Refuse(&weir.Error{Code: weir.CodeInvalid, Message: "the survey cannot be run on this budget", Fields: fields})
			return true, nil
		}
	}
	g.budget(survey, newBudget(survey, to, spent))
	// Programs that do not count money must not run on it.
	t.Add(oldestSQL, pricesStep, pricesStep)
	return false, nil
}

// spentFor returns what contacts for surveys of a name have cost, before what the batch adds.
func (g *Gate) spentFor(t *commit.Tx, survey, currency string) (people.Money, error) {
	if b := g.limits.budgets[survey]; b != nil && b.rules.Currency == currency {
		return b.usage.SpentInAll(), nil
	}
	var spent int64
	err := t.Get(&spent, spentForSQL, survey, currency)
	return people.Money(spent), err
}

func (g *Gate) budget(survey string, to *budget) {
	if g.budgeted == nil {
		g.budgeted = map[string]*budget{}
	}
	g.budgeted[survey] = to
}

// notPaid notes that a claim was refused because the survey's budget does not pay for it.
func (g *Gate) notPaid(survey string, cost people.Money) {
	if g.unpaid == nil {
		g.unpaid = map[string]people.Money{}
	}
	if least, known := g.unpaid[survey]; !known || cost < least {
		g.unpaid[survey] = cost
	}
}

// budgets returns the budgets as this batch leaves them, by survey.
func (g *Gate) budgets() map[string]*budget {
	if len(g.budgeted) == 0 {
		return g.limits.budgets
	}
	now := maps.Clone(g.limits.budgets)
	for survey, to := range g.budgeted {
		if now[survey] = to; to == nil {
			delete(now, survey)
		}
	}
	return now
}

// usesPrice returns the name of a survey whose budget counts money over a channel, in a
// currency other than the given one; empty: there is none.
func (g *Gate) usesPrice(channel, currency string) (survey, counted string) {
	for name, b := range g.budgets() {
		if b.rules.Over || b.rules.Currency == currency || survey != "" && survey < name {
			continue
		}
		for _, used := range b.rules.Channels {
			if used == channel {
				survey, counted = name, b.rules.Currency
			}
		}
	}
	return survey, counted
}

// budgetsCommitted keeps the changes of a batch, and what its claims have taken.
func (g *Gate) budgetsCommitted() {
	g.limits.budgets = g.budgets()
	changed := map[string]bool{}
	for survey := range g.budgeted {
		changed[survey] = true
	}
	for survey, cost := range g.unpaid {
		if b := g.limits.budgets[survey]; b != nil && (b.refused == 0 || cost < b.refused) {
			b.refused = cost
		}
		changed[survey] = true
	}
	for k, amount := range g.spent {
		if b := g.limits.budgets[k.survey]; b != nil && b.usage.Counts(k.name, k.survey, k.currency) {
			b.usage.Spend(k.day, amount)
			changed[k.survey] = true
		}
	}
	for _, b := range g.limits.budgets {
		b.usage.Committed()
	}
	for survey := range changed {
		g.publishBudget(survey)
	}
}

// publishBudget tells readers how much of a budget is used. A refusal counts no longer once
// what is left pays for it.
func (g *Gate) publishBudget(survey string) {
	b := g.limits.budgets[survey]
	if b == nil {
		g.store.budgets.Delete(survey)
		return
	}
	use := people.BudgetUse{Currency: b.rules.Currency, Most: b.rules.Amount(), Spent: b.usage.SpentInAll()}
	if use.Spent+b.refused <= use.Most {
		b.refused = 0
	}
	use.Refused = b.refused
	g.store.budgets.Store(survey, use)
}
