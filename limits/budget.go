package limits

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/api"
	"weir/internal/validation"
)

// Budget is what a survey may spend in all.
type Budget api.Budget

// Check returns the mistakes of a budget, with pointers relative to it.
func (b *Budget) Check() (m validation.Errors) {
	if b == nil {
		return nil
	}
	switch n, err := ParseMoney(b.Money); {
	case b.Money == "":
		m.Add("/money", "required", "must be an amount, such as 2500")
	case err != nil:
		m.Add("/money", "format", "%v", err)
	case n == 0:
		m.Add("/money", "minimum", "must be more than 0")
	}
	if len(b.Currency) != 3 || slices.ContainsFunc([]byte(b.Currency), func(c byte) bool { return c < 'A' || c > 'Z' }) {
		m.Add("/currency", "format", "must be three capital letters, such as USD")
	}
	return m
}

// Amount returns the money of a budget.
func (b *Budget) Amount() Money {
	n, _ := ParseMoney(b.Money) // Check has reported what is wrong
	return n
}

// SurveyBudget is the budget of a survey that was launched.
type SurveyBudget struct {
	Budget
	Channels map[string]string // names of the survey's channels, by the pointers of their fields
	Over     bool              // the survey is stopping or done: a contact that cannot be paid for waits no longer
}

// Refusals returns why the survey cannot be run on the budget: channels without a price in its
// currency, and an amount that is less than what is spent. A launch needs more than that.
func (b *SurveyBudget) Refusals(prices map[string]*Tariff, spent Money, launch bool) (list []weir.FieldError) {
	for _, at := range slices.Sorted(maps.Keys(b.Channels)) {
		if price := prices[b.Channels[at]]; price == nil || price.Currency != b.Currency {
			list = append(list, weir.FieldError{Pointer: at, Code: "no_price", Detail: fmt.Sprintf("channel %q has no price in %s, the currency of the budget: set it first", b.Channels[at], b.Currency)})
		}
	}
	switch most := b.Amount(); {
	case launch && spent > 0 && most <= spent:
		list = append(list, weir.FieldError{Pointer: "/budget/money", Code: "minimum", Detail: fmt.Sprintf("must be more than %s %s, which contacts for a survey of this name have cost before", spent, b.Currency)})
	case most < spent:
		list = append(list, weir.FieldError{Pointer: "/budget/money", Code: "minimum", Detail: fmt.Sprintf("must be at least %s %s, which is spent or reserved already", spent, b.Currency)})
	}
	return list
}

// NewBudget returns the usage of a budget, of which an amount is spent: that of a limit of money
// which ends what cannot be paid for once the survey is over.
func NewBudget(survey string, b *SurveyBudget, spent Money) *Usage {
	u := NewUsage(&Limit{Surveys: []string{survey}, Currency: b.Currency, Money: b.Money})
	u.budget = b
	u.Spend(0, spent)
	return u
}

// beyondBudget returns what a claim is told that the budget does not pay for.
func (u *Usage) beyondBudget(reason string, now time.Time) Denial {
	h := Denial{Rule: RuleBudget, Reason: fmt.Sprintf("the survey's budget: %v", reason), Until: now.Add(unpaidBudgetRetry)}
	if u.budget.Over {
		h.Until = time.Time{}
	}
	return h
}

// BudgetUse is how much of a survey's budget is used.
type BudgetUse struct {
	Currency    string
	Most, Spent Money
	// Refused is what the cheapest contact would have cost that was refused since the process
	// started, while what is left does not pay for it; 0: there is none.
	Refused Money
}

// Left returns what is not spent.
func (u BudgetUse) Left() Money { return max(0, u.Most-u.Spent) }

// Budgets reports how much of the budgets of surveys is used.
type Budgets interface {
	// BudgetUse returns how much of a survey's budget is used, as of the latest write; ok is
	// false if it has none, or was not launched.
	BudgetUse(survey string) (_ BudgetUse, ok bool)
	// SpentFor returns what contacts for surveys of a name have cost in a currency, and reserve.
	SpentFor(ctx context.Context, survey, currency string) (Money, error)
}
