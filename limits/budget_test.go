package limits_test

import (
	"slices"
	"testing"
	"time"

	"weir/limits"
)

func TestBudget_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		budget *limits.Budget
		want   []string
	}{
		{nil, nil},
		{&limits.Budget{Money: "2500", Currency: "USD"}, nil},
		{&limits.Budget{Money: "0.000001", Currency: "AZZ"}, nil},
		{&limits.Budget{Currency: "USD"}, []string{"/money required"}},
		{&limits.Budget{Money: "1,5", Currency: "USD"}, []string{"/money format"}},
		{&limits.Budget{Money: "0.00", Currency: "USD"}, []string{"/money minimum"}},
		{&limits.Budget{Money: "1"}, []string{"/currency format"}},
		{&limits.Budget{Money: "1", Currency: "USDT"}, []string{"/currency format"}},
		{&limits.Budget{Money: "1", Currency: "US1"}, []string{"/currency format"}},
		{&limits.Budget{Money: "1", Currency: "usd"}, []string{"/currency format"}},
	} {
		var got []string
		for _, m := range c.budget.Check() {
			got = append(got, m.Pointer+" "+m.Code)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.budget, got, c.want)
		}
	}
}

// A survey needs a price in the currency of its budget for each channel, and an amount that is not spent.
func TestBudget_RefusesWhatCannotBePaid(t *testing.T) {
	t.Parallel()
	prices := map[string]*limits.Tariff{}
	for name, currency := range map[string]string{"texts": "USD", "calls": "EUR"} {
		prices[name] = limits.NewTariff(&limits.Price{Currency: currency, PerAttempt: "1"})
	}
	const unit = 1_000_000
	for name, c := range map[string]struct {
		channels map[string]string
		spent    limits.Money
		launch   bool
		want     []string
	}{
		"all well":                     {map[string]string{"/modes/a": "texts"}, 0, true, nil},
		"without a price":              {map[string]string{"/modes/b": "other", "/modes/a": "texts"}, 0, true, []string{"/modes/b no_price"}},
		"in another currency":          {map[string]string{"/modes/b": "calls", "/modes/a": "other"}, 0, false, []string{"/modes/a no_price", "/modes/b no_price"}},
		"some of it is spent":          {nil, 9 * unit, true, nil},
		"it is spent, at a launch":     {nil, 10 * unit, true, []string{"/budget/money minimum"}},
		"it is spent, while it runs":   {nil, 10 * unit, false, nil},
		"more is spent, while it runs": {nil, 10*unit + 1, false, []string{"/budget/money minimum"}},
		"more is spent, at a launch":   {nil, 10*unit + 1, true, []string{"/budget/money minimum"}},
	} {
		b := limits.SurveyBudget{Budget: limits.Budget{Money: "10", Currency: "USD"}, Channels: c.channels}
		var got []string
		for _, m := range b.Refusals(prices, c.spent, c.launch) {
			got = append(got, m.Pointer+" "+m.Code)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What a budget does not pay for waits a minute, for contacts may cost less than was reserved; once the survey is over it
// ends.
func TestBudget_PaysForItsSurveyAlone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC)
	for _, over := range []bool{false, true} {
		u := limits.NewBudget("s", &limits.SurveyBudget{Budget: limits.Budget{Money: "10", Currency: "USD"}, Over: over}, 7_000_000)
		until := now.Add(time.Minute)
		if over {
			until = time.Time{}
		}
		for _, w := range []struct {
			cost     limits.Money
			currency string
			want     bool
		}{{3_000_000, "USD", true}, {3_000_001, "USD", false}, {1, "EUR", false}} {
			h, ok := u.Room("s", &limits.Demand{Cost: w.cost, Currency: w.currency}, 0, now)
			if ok != w.want || !ok && (h.Rule != limits.RuleBudget || h.Channel || !h.Until.Equal(until)) {
				t.Errorf("over %v, %s %s: %v %+v", over, w.cost, w.currency, ok, h)
			}
		}
		for _, c := range []struct {
			survey, currency string
			want             bool
		}{{"s", "USD", true}, {"r", "USD", false}, {"", "USD", false}, {"s", "EUR", false}} {
			if got := u.Counts("any channel", c.survey, c.currency); got != c.want {
				t.Errorf("contacts for %q in %s count: %v", c.survey, c.currency, got)
			}
		}
	}
	if use := (limits.BudgetUse{Most: 5, Spent: 7}); use.Left() != 0 {
		t.Errorf("%d left", use.Left())
	}
}

func TestLimit_ConcernsItsChannelsAndSurveys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit           limits.Limit
		channel, survey string
		want            bool
	}{
		{limits.Limit{Channels: []string{"a", "b"}}, "b", "", true},
		{limits.Limit{Channels: []string{"a", "b"}}, "c", "s", false},
		{limits.Limit{Surveys: []string{"s"}}, "c", "s", true},
		{limits.Limit{Surveys: []string{"s"}}, "c", "", false},
		{limits.Limit{Channels: []string{"a"}, Surveys: []string{"s"}}, "a", "s", true},
		{limits.Limit{Channels: []string{"a"}, Surveys: []string{"s"}}, "b", "s", false},
		{limits.Limit{Channels: []string{"a"}, Surveys: []string{"s"}}, "a", "r", false},
	} {
		if got := c.limit.Concerns(c.channel, c.survey); got != c.want {
			t.Errorf("%+v concerns %q for %q: %v", c.limit, c.channel, c.survey, got)
		}
	}
}
