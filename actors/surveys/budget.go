package surveys

import (
	"context"
	"fmt"
	"time"

	"weir"
	"weir/operators"
	"weir/people"
	"weir/surveys"
)

// budgetState is what rounds know of a survey's budget. Nothing of it is stored: after a
// restart, the respondents are looked at once.
type budgetState struct {
	check   surveys.BudgetCheck
	use     people.BudgetUse // as of the beginning of the check
	people  int              // pending and active respondents then
	running bool             // the check goes on in the next round; nobody is started meanwhile
	pass    budgetPass
	cursor  surveys.RespondentID

	known   bool // a check has found that the survey goes on, or nothing was refused since
	unpaid  int  // active respondents whose contacts cannot be paid for
	payable bool // some pending respondents can be contacted, others cannot
}

// budgetPass is what a check looks at. The active respondents come first, because while any is
// in flight the others do not matter, and again at the end: they may have answered meanwhile.
type budgetPass int

const (
	activeFirst budgetPass = iota
	pendingOnes
	activeAgain
)

// budgetPage is how many active respondents one round looks at: of those whose contacts wait
// these are read, too.
const budgetPage = 100

// budgetOf returns how much of a survey's budget is used; ok is false if it has none.
func (a *access) budgetOf(s *surveys.Survey) (_ people.BudgetUse, ok bool) {
	if s.Definition.Budget == nil || a.People == nil {
		return people.BudgetUse{}, false
	}
	return a.People.BudgetUse(s.Name)
}

// costOf returns what contacts of a survey would reserve.
func (a *access) costOf(plan *surveys.Plan, currency string) surveys.Cost {
	prices := a.People.Prices()
	return func(mode surveys.Mode, spec *weir.Spec) (people.Money, bool) {
		return reserved(prices[plan.Channels[mode]], currency, spec)
	}
}

func reserved(price *people.Tariff, currency string, spec *weir.Spec) (people.Money, bool) {
	if price == nil || price.Currency != currency {
		return 0, false
	}
	return price.Reserved(&weir.Contact{Spec: *spec}, people.Canonical(spec.To)), true
}

// budgetSpent reports whether a running survey has to end because what is left of its budget
// pays for no contact. It looks at the respondents once a claim was refused, a page in each
// round. What is in flight may give money back, so the survey goes on until it is done.
func (l *lifecycle) budgetSpent(ctx context.Context, sv *surveyState, t surveys.Tally) (spent bool, _ error) {
	b := &sv.budget
	use, ok := l.io.budgetOf(&sv.survey)
	if !ok || b.known && use.Refused == 0 {
		*b = budgetState{known: ok}
		return false, nil
	}
	if people := t.Pending + t.Active; !b.running || b.use != use || people > b.people {
		b.use, b.people, b.running, b.pass, b.cursor = use, people, true, activeFirst, 0
		b.check = surveys.BudgetCheck{Left: use.Left()}
	}
	st, err := l.view.stepper(ctx, sv)
	if err != nil {
		return false, err
	}
	done, err := l.checkBudget(ctx, sv, st)
	if err != nil || !done {
		l.schedule.moreWork = l.schedule.moreWork || err == nil
		return false, err
	}
	b.running = false
	if !b.check.GoesOn {
		return true, nil
	}
	b.known, b.unpaid, b.payable = true, b.check.Unpaid, b.check.Payable
	return false, nil
}

// checkBudget looks at one page of respondents. done reports that the check is complete.
func (l *lifecycle) checkBudget(ctx context.Context, sv *surveyState, st *surveys.Stepper) (done bool, _ error) {
	b := &sv.budget
	filter := surveys.Filter{Survey: sv.survey.ID, Statuses: []surveys.Status{surveys.Active}, After: b.cursor, Limit: budgetPage}
	if b.pass == pendingOnes {
		filter.Statuses, filter.Limit = []surveys.Status{surveys.Pending}, openPage
	}
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, surveys.RespondentID, error) {
		return l.io.Store.Respondents(ctx, filter)
	})
	if err != nil {
		return false, fmt.Errorf("read respondents for the budget: %w", err)
	}
	waits := func(r *surveys.Respondent) bool { return r.Progress.Contact == surveys.Waiting }
	contacts, err := l.io.readContacts(ctx, page, waits)
	if err != nil {
		return false, err
	}
	cost := l.io.costOf(sv.plan, b.use.Currency)
	for i := range page {
		need := st.NeedOf(&page[i], cost)
		if waits(&page[i]) {
			c := contacts[page[i].Contact]
			if need, err = l.needOfWaiting(ctx, &c, b.use.Currency); err != nil {
				return false, err
			}
		}
		if b.check.Add(page[i].Status, need) {
			return true, nil
		}
	}
	if b.cursor = next; next != 0 {
		return false, nil
	}
	if b.pass++; b.pass == activeAgain {
		b.check.Unpaid = 0 // they are counted again
	}
	return b.pass > activeAgain, nil
}

// needOfWaiting returns what a contact costs that waits for money. One that waits for something
// else may be claimed: the claim decides. One that was deleted has no state.
func (l *lifecycle) needOfWaiting(ctx context.Context, c *weir.Contact, currency string) (surveys.Need, error) {
	if c.State != weir.Delayed || c.Receipt.Rule != string(people.RuleBudget) {
		return surveys.Need{Free: true}, nil
	}
	if err := l.view.loadChannels(ctx, map[weir.ChannelID]bool{c.Channel: true}); err != nil {
		return surveys.Need{}, err
	}
	n, ok := reserved(l.io.People.Prices()[l.view.channels[c.Channel].Name], currency, &c.Spec)
	return surveys.Need{Free: !ok, Cost: n}, nil
}

// affordable returns a filter of respondents to start: those whom the budget does not pay for
// are left out, and if others can be paid for, delayed, so that the next page shows them.
func (f *feeder) affordable(sv *surveyState, st *surveys.Stepper) func(*surveys.Respondent) (ok bool, put *surveys.Change) {
	use, bounded := f.io.budgetOf(&sv.survey)
	if !bounded || use.Refused == 0 {
		return func(*surveys.Respondent) (bool, *surveys.Change) { return true, nil }
	}
	cost, n := f.io.costOf(sv.plan, use.Currency), 0
	return func(r *surveys.Respondent) (bool, *surveys.Change) {
		need := st.NeedOf(r, cost)
		if need.Free || need.Cost <= use.Left() {
			return true, nil
		}
		if !sv.budget.payable {
			return false, nil
		}
		n++
		p := r.Progress
		p.DelayedUntil = st.Now.Add(blockedDelay + time.Duration(n)*time.Millisecond)
		c := st.Build(*r, p, surveys.Effects{})
		f.schedule.wakeAt(st.Now.Add(blockedPause))
		return false, &c
	}
}

// whySpent explains that the budget of a survey pays for no further contact like the one that
// was refused; zero if it does.
func (a *access) whySpent(survey *surveys.Survey) operators.Why {
	use, ok := a.budgetOf(survey)
	if !ok || use.Refused == 0 {
		return operators.Why{}
	}
	return operators.NewWhy(operators.WhyBudget, operators.TextBudget, "spent", use.Spent, "budget", use.Most, "currency", use.Currency, "cost", use.Refused)
}

// refusesBudget returns why a survey cannot be launched on its budget, and how much of it surveys
// of its name have used.
func (c *commands) refusesBudget(ctx context.Context, s *surveys.Survey) (use people.BudgetUse, _ []weir.FieldError, err error) {
	b := s.Budget()
	if b == nil || c.io.People == nil {
		return use, nil, nil
	}
	use = people.BudgetUse{Currency: b.Currency, Most: b.Amount()}
	use.Spent, err = c.io.People.SpentFor(ctx, s.Name, b.Currency)
	return use, b.Refusals(c.io.People.Prices(), use.Spent, true), err
}

// costSum sums what the first attempts of respondents would reserve.
type costSum struct {
	st   *surveys.Stepper // nil: the survey has no budget
	cost surveys.Cost
	sum  people.Money
	n    int
}

func (c *commands) newCostSum(s *surveys.Survey, plan *surveys.Plan, now time.Time) *costSum {
	if s.Definition.Budget == nil || c.io.People == nil {
		return &costSum{}
	}
	draft := *s
	return &costSum{
		st:   &surveys.Stepper{Survey: &draft, Plan: plan, Now: now, Random: c.io.Random, Tokens: c.io.Tokens, OnPanic: func(any) {}},
		cost: c.io.costOf(plan, s.Definition.Budget.Currency),
	}
}

func (s *costSum) add(r *surveys.Respondent) {
	if s.st == nil {
		return
	}
	if need := s.st.NeedOf(r, s.cost); !need.Free {
		s.sum += need.Cost
		s.n++
	}
}

// average returns what a first attempt costs; 0: nothing, or that is not known.
func (s *costSum) average() people.Money { return s.sum / people.Money(max(1, s.n)) }
