package surveys

import (
	"weir"
	"weir/people"
)

// Budget returns what the survey may spend; nil: there is no bound.
func (s *Survey) Budget() *people.SurveyBudget {
	if s.Definition.Budget == nil {
		return nil
	}
	b := &people.SurveyBudget{Budget: *s.Definition.Budget, Channels: map[string]string{}, Over: s.State == Stopping || s.State == Done}
	for mode, spec := range s.Definition.Modes {
		b.Channels["/modes/"+string(mode)+"/channel"] = spec.Channel
	}
	return b
}

// Cost returns what a contact by a mode would reserve; ok is false if that is not known,
// because its channel has no price.
type Cost func(mode Mode, spec *weir.Spec) (_ people.Money, ok bool)

// Need is what the next contact of a respondent needs of the budget.
type Need struct {
	// Free reports that something may follow that the budget does not decide: a contact is in
	// flight, and may cost less than was reserved; an answer may come; the respondent may end.
	Free bool
	Cost people.Money // otherwise: what the next contact reserves
}

// BudgetCheck finds out whether what is left of a budget pays for any contact. It is given what
// every respondent needs who is active or pending, the active ones first; while they are given,
// Left must not change. Its zero value, with Left, is ready for use.
type BudgetCheck struct {
	Left    people.Money
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
