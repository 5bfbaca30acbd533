package surveys

import (
	"weir"
	"weir/limits"
	"weir/people"
)

// Budget returns what the survey may spend; nil: there is no bound.
func (s *Survey) Budget() *limits.SurveyBudget {
	if s.Definition.Budget == nil {
		return nil
	}
	b := &limits.SurveyBudget{Budget: limits.Budget(*s.Definition.Budget), Channels: map[string]string{}, Over: s.State == Stopping || s.State == Done}
	for mode, spec := range s.Definition.Modes {
		b.Channels["/modes/"+string(mode)+"/channel"] = spec.Channel
	}
	return b
}

// Cost returns what a contact by a mode would reserve; ok is false if that is not known,
// because its channel has no price.
type Cost func(mode Mode, spec *weir.Spec) (_ limits.Money, ok bool)

// CostOf returns what contacts of a survey would reserve.
func CostOf(plan *Plan, prices map[string]*limits.Tariff, currency string) Cost {
	return func(mode Mode, spec *weir.Spec) (limits.Money, bool) {
		return reserved(prices[plan.Channels[mode]], currency, spec)
	}
}

func reserved(price *limits.Tariff, currency string, spec *weir.Spec) (limits.Money, bool) {
	if price == nil || price.Currency != currency {
		return 0, false
	}
	return price.Reserved(&weir.Contact{Spec: *spec}, people.Canonical(spec.To)), true
}

// Need is what the next contact of a respondent needs of the budget.
type Need struct {
	// Free reports that something may follow that the budget does not decide: a contact is in
	// flight, and may cost less than was reserved; an answer may come; the respondent may end.
	Free bool
	Cost limits.Money // otherwise: what the next contact reserves
}

// BudgetCheck finds out whether what is left of a budget pays for any contact. It is given what
// every respondent needs who is active or pending, the active ones first; while they are given,
// Left must not change. Its zero value, with Left, is ready for use.
type BudgetCheck struct {
	Left    limits.Money
	GoesOn  bool // somebody can be contacted, or may answer
	Payable bool // a pending respondent can be contacted
	Unpaid  int  // active respondents who cannot, until the first who goes on
}

// Add adds what a respondent needs, and reports whether the survey goes on because of it.
func (c *BudgetCheck) Add(status Status, n Need) (goesOn bool) {
	switch {
	case n.Free, n.Cost <= c.Left:
		c.GoesOn = true
		c.Payable = c.Payable || status == Pending && !n.Free
	case status == Active:
		c.Unpaid++
	}
	return c.GoesOn
}

// NeedOf returns what the next contact of a respondent costs who has no open one.
func (st *Stepper) NeedOf(r *Respondent, cost Cost) (need Need) {
	_, _, err := st.Try(r.Progress, func(p Progress) (Progress, Effects, error) {
		need = st.Plan.NeedOf(st.Survey.Name, st.Tokens.Person(r), p, st.Now, st.arm(r), cost)
		return p, Effects{}, nil
	})
	if err != nil { // its step fails, and it is given up
		return Need{Free: true}
	}
	return need
}

// NeedOfWaiting returns what a contact costs that waits for money, by the price of its channel. One
// that waits for something else may be claimed: the claim decides. One that was deleted has no state.
func NeedOfWaiting(c *weir.Contact, price *limits.Tariff, currency string) Need {
	if c.State != weir.Delayed || c.Receipt.Rule != limits.RuleBudget {
		return Need{Free: true}
	}
	cost, ok := reserved(price, currency, &c.Spec)
	return Need{Free: !ok, Cost: cost}
}

// How many respondents a round looks at for the budget: of the active ones whose contacts wait these
// are read, too.
const (
	budgetActive  = 100
	budgetPending = 500
)

// BudgetWatch is what rounds know of a survey's budget. Nothing of it is stored: after a
// restart, the respondents are looked at once.
type BudgetWatch struct {
	Use     limits.BudgetUse // as of the beginning of the check
	Running bool             // the check goes on in the next round; nobody is started meanwhile
	Unpaid  int              // active respondents whose contacts cannot be paid for
	Payable bool             // some pending respondents can be contacted, others cannot

	check  BudgetCheck
	people int // pending and active respondents at its beginning
	pass   budgetPass
	cursor RespondentID
	known  bool // a check has found that the survey goes on, or nothing was refused since
}

// budgetPass is what a check looks at. The active respondents come first, because while any is
// in flight the others do not matter, and again at the end: they may have answered meanwhile.
type budgetPass int

const (
	activeFirst budgetPass = iota
	pendingOnes
	activeAgain
)

// Begin begins or continues a check, and reports whether respondents have to be looked at: they are
// once a claim was refused. bounded reports whether there is a budget; open is how many respondents
// are pending or active.
func (b *BudgetWatch) Begin(use limits.BudgetUse, bounded bool, open int) (looks bool) {
	if !bounded || b.known && use.Refused == 0 {
		*b = BudgetWatch{known: bounded}
		return false
	}
	if !b.Running || b.Use != use || open > b.people {
		b.Use, b.people, b.Running, b.pass, b.cursor = use, open, true, activeFirst, 0
		b.check = BudgetCheck{Left: use.Left()}
	}
	return true
}

// Page returns which respondents of a survey the check looks at next.
func (b *BudgetWatch) Page(survey int64) Filter {
	if b.pass == pendingOnes {
		return Filter{Survey: survey, Statuses: []Status{Pending}, After: b.cursor, Limit: budgetPending}
	}
	return Filter{Survey: survey, Statuses: []Status{Active}, After: b.cursor, Limit: budgetActive}
}

// Look looks at a page; next is where the following one begins, 0 after the last. done reports that
// the check is complete, spent that what is left pays for no contact.
func (b *BudgetWatch) Look(page []Respondent, next RespondentID, need func(*Respondent) Need) (done, spent bool) {
	for i := range page {
		if b.check.Add(page[i].Status, need(&page[i])) {
			b.pass = activeAgain + 1
			break
		}
	}
	if b.pass <= activeAgain {
		if b.cursor = next; next != 0 {
			return false, false
		}
		if b.pass++; b.pass == activeAgain {
			b.check.Unpaid = 0 // they are counted again
		}
	}
	if b.pass <= activeAgain {
		return false, false
	}
	if b.Running = false; !b.check.GoesOn {
		return true, true
	}
	b.known, b.Unpaid, b.Payable = true, b.check.Unpaid, b.check.Payable
	return true, false
}
