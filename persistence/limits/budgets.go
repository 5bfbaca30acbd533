package limits

import (
	"context"
	"maps"
	"sync"

	"weir"
	"weir/limits"
	"weir/persistence/commit"
)

// Budgets returns the budgets of the surveys that were launched, by name.
type Budgets func(context.Context) (map[string]*limits.SurveyBudget, error)

// budgetStore knows the budgets of surveys, and how much of them is used.
type budgetStore struct {
	*commit.DB
	prices *priceStore
	load   Budgets  // nil: there are none
	uses   sync.Map // limits.BudgetUse, by survey
	// Used on the writer's goroutine only.
	current  map[string]*budget
	budgeted map[string]*budget      // by the batch; nil: removed
	unpaid   map[string]limits.Money // of the batch: the cheapest claim that a budget has refused
}

func newBudgetStore(db *commit.DB) *budgetStore {
	return &budgetStore{DB: db, current: map[string]*budget{}}
}

// begin begins a batch.
func (s *budgetStore) begin() {
	s.budgeted, s.unpaid = nil, nil
	for _, b := range s.current {
		b.usage.Begin()
	}
}

// spentForSQL sums what contacts for surveys of a name have cost. It reads the whole table,
// which is small, and only for a launch: a budget that is there knows its sum.
const spentForSQL = "SELECT COALESCE(SUM(amount), 0) FROM spent WHERE survey = ? AND currency = ?"

// SpentFor implements [limits.Budgets].
func (s *budgetStore) SpentFor(ctx context.Context, survey, currency string) (limits.Money, error) {
	var spent int64
	err := s.Read.GetContext(ctx, &spent, spentForSQL, survey, currency)
	return limits.Money(spent), s.Failure("read what was spent for a survey", err)
}

// BudgetUse implements [limits.Budgets].
func (s *budgetStore) BudgetUse(survey string) (limits.BudgetUse, bool) {
	found, ok := s.uses.Load(survey)
	use, _ := found.(limits.BudgetUse)
	return use, ok
}

// loadAll reads the budgets and what is spent of each.
func (s *budgetStore) loadAll(ctx context.Context) error {
	if s.load == nil {
		return nil
	}
	all, err := s.load(ctx)
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
	spent := map[key]limits.Money{}
	for _, r := range rows {
		spent[key{r.Survey, r.Currency}] = limits.Money(r.Amount)
	}
	for name, b := range all {
		s.current[name] = newBudget(name, b, spent[key{name, b.Currency}])
		s.publish(name)
	}
	return nil
}

// budget is a survey's budget with its usage.
type budget struct {
	limit
	rules   *limits.SurveyBudget
	refused limits.Money // see [limits.BudgetUse]
}

func newBudget(name string, b *limits.SurveyBudget, spent limits.Money) *budget {
	return &budget{limit: limit{name: name, usage: limits.NewBudget(name, b, spent), read: true}, rules: b}
}

// SetBudget sets the budget of a survey in the batch that launches or changes it, or removes
// it: nil. With check it refuses one that the survey cannot be run on; launch is said of one
// that begins. Every later claim is judged by it, those of the batch among them.
func (s *budgetStore) SetBudget(t *commit.Tx, r *commit.Request, survey string, to *limits.SurveyBudget, check, launch bool) (refused bool, _ error) {
	if to == nil {
		if s.current[survey] != nil || s.budgeted[survey] != nil {
			s.set(survey, nil)
		}
		return false, nil
	}
	spent, err := s.spentFor(t, survey, to.Currency)
	if err != nil {
		return false, err
	}
	if check {
		if fields := to.Refusals(s.prices.tariffs(), spent, launch); len(fields) > 0 {
			r.Refuse(&weir.Error{Code: weir.CodeInvalid, Message: "the survey cannot be run on this budget", Fields: fields})
			return true, nil
		}
	}
	s.set(survey, newBudget(survey, to, spent))
	// Programs that do not count money must not run on it.
	t.RequireStep(pricesStep)
	return false, nil
}

// spentFor returns what contacts for surveys of a name have cost, before what the batch adds.
func (s *budgetStore) spentFor(t *commit.Tx, survey, currency string) (limits.Money, error) {
	if b := s.current[survey]; b != nil && b.rules.Currency == currency {
		return b.usage.SpentInAll(), nil
	}
	var spent int64
	err := t.Get(&spent, spentForSQL, survey, currency)
	return limits.Money(spent), err
}

func (s *budgetStore) set(survey string, to *budget) {
	if s.budgeted == nil {
		s.budgeted = map[string]*budget{}
	}
	s.budgeted[survey] = to
}

// notPaid notes that a claim was refused because the survey's budget does not pay for it.
func (s *budgetStore) notPaid(survey string, cost limits.Money) {
	if s.unpaid == nil {
		s.unpaid = map[string]limits.Money{}
	}
	if least, known := s.unpaid[survey]; !known || cost < least {
		s.unpaid[survey] = cost
	}
}

// now returns the budgets as this batch leaves them, by survey.
func (s *budgetStore) now() map[string]*budget {
	if len(s.budgeted) == 0 {
		return s.current
	}
	now := maps.Clone(s.current)
	for survey, to := range s.budgeted {
		if now[survey] = to; to == nil {
			delete(now, survey)
		}
	}
	return now
}

// usesPrice returns the name of a survey whose budget counts money over a channel, in a
// currency other than the given one; empty: there is none.
func (s *budgetStore) usesPrice(channel, currency string) (survey, counted string) {
	for name, b := range s.now() {
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

// committed keeps the changes of a batch, and what its claims have taken.
func (s *budgetStore) committed(spent map[spentKey]limits.Money) {
	s.current = s.now()
	changed := map[string]bool{}
	for survey := range s.budgeted {
		changed[survey] = true
	}
	for survey, cost := range s.unpaid {
		if b := s.current[survey]; b != nil && (b.refused == 0 || cost < b.refused) {
			b.refused = cost
		}
		changed[survey] = true
	}
	for k, amount := range spent {
		if b := s.current[k.survey]; b != nil && b.usage.Counts(k.name, k.survey, k.currency) {
			b.usage.Spend(k.day, amount)
			changed[k.survey] = true
		}
	}
	for _, b := range s.current {
		b.usage.Committed()
	}
	for survey := range changed {
		s.publish(survey)
	}
}

// publish updates what readers see of the use of a budget. A refusal counts no longer once
// what is left pays for it.
func (s *budgetStore) publish(survey string) {
	b := s.current[survey]
	if b == nil {
		s.uses.Delete(survey)
		return
	}
	use := limits.BudgetUse{Currency: b.rules.Currency, Most: b.rules.Amount(), Spent: b.usage.SpentInAll()}
	if use.Spent+b.refused <= use.Most {
		b.refused = 0
	}
	use.Refused = b.refused
	s.uses.Store(survey, use)
}
