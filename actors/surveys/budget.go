package surveys

import (
	"context"
	"fmt"
	"time"

	"weir"
	"weir/limits"
	"weir/operators"
	"weir/surveys"
)

// budgetOf returns how much of a survey's budget is used; ok is false if it has none.
func (a *access) budgetOf(s *surveys.Survey) (_ limits.BudgetUse, ok bool) {
	if s.Definition.Budget == nil || a.Limits == nil {
		return limits.BudgetUse{}, false
	}
	return a.Limits.BudgetUse(s.Name)
}

// fundsOf returns what is left of a survey's budget for those who are to be started; nil if no claim was
// refused by it.
func (a *access) fundsOf(sv *surveyState) *surveys.Funds {
	use, bounded := a.budgetOf(&sv.survey)
	if !bounded || use.Refused == 0 {
		return nil
	}
	return &surveys.Funds{Left: use.Left(), Cost: surveys.CostOf(sv.plan, a.Limits.Prices(), use.Currency), Payable: sv.budget.Payable}
}

// budgetSpent reports whether a running survey has to end because what is left of its budget
// pays for no contact. It looks at the respondents once a claim was refused, a page in each
// round. What is in flight may give money back, so the survey goes on until it is done.
func budgetSpent(ctx context.Context, r *roundState, sv *surveyState, t surveys.Tally) (spent bool, _ error) {
	use, bounded := r.io.budgetOf(&sv.survey)
	if !sv.budget.Begin(use, bounded, t.Pending+t.Active) {
		return false, nil
	}
	filter := sv.budget.Page(sv.survey.ID)
	page, next, err := call2(ctx, func(ctx context.Context) ([]surveys.Respondent, surveys.RespondentID, error) {
		return r.io.Store.Respondents(ctx, filter)
	})
	if err != nil {
		return false, fmt.Errorf("read respondents for the budget: %w", err)
	}
	waits := func(p *surveys.Respondent) bool { return p.Progress.Contact == surveys.Waiting }
	contacts, err := r.io.readContacts(ctx, page, waits)
	if err != nil {
		return false, err
	}
	channels := map[weir.ChannelID]bool{}
	for ref := range contacts {
		channels[ref.Channel] = true
	}
	if err := r.loadChannels(ctx, channels); err != nil {
		return false, err
	}
	st, err := r.stepper(ctx, sv)
	if err != nil {
		return false, err
	}
	prices := r.io.Limits.Prices()
	cost := surveys.CostOf(sv.plan, prices, use.Currency)
	done, spent := sv.budget.Look(page, next, func(p *surveys.Respondent) surveys.Need {
		if c := contacts[p.Contact]; waits(p) {
			return surveys.NeedOfWaiting(&c, prices[r.channels[c.Channel].Name], use.Currency)
		}
		return st.NeedOf(p, cost)
	})
	r.continueIf(!done)
	return spent, nil
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
func (a *access) refusesBudget(ctx context.Context, s *surveys.Survey) (use limits.BudgetUse, _ []weir.FieldError, err error) {
	b := s.Budget()
	if b == nil || a.Limits == nil {
		return use, nil, nil
	}
	use = limits.BudgetUse{Currency: b.Currency, Most: b.Amount()}
	use.Spent, err = a.Limits.SpentFor(ctx, s.Name, b.Currency)
	return use, b.Refusals(a.Limits.Prices(), use.Spent, true), err
}

// costSum sums what the first attempts of respondents would reserve.
type costSum struct {
	st   *surveys.Stepper // nil: the survey has no budget
	cost surveys.Cost
	sum  limits.Money
	n    int
}

func (a *access) newCostSum(s *surveys.Survey, plan *surveys.Plan, now time.Time) *costSum {
	if s.Definition.Budget == nil || a.Limits == nil {
		return &costSum{}
	}
	draft := *s
	return &costSum{
		st:   &surveys.Stepper{Survey: &draft, Plan: plan, Now: now, Random: a.Random, Tokens: a.Tokens, OnPanic: func(any) {}},
		cost: surveys.CostOf(plan, a.Limits.Prices(), s.Definition.Budget.Currency),
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
func (s *costSum) average() limits.Money { return s.sum / limits.Money(max(1, s.n)) }
