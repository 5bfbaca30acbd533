package limits_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/api"
	"weir/limits"
	"weir/people"
)

func TestMoney_IsReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0.0075": "0.0075", "12": "12.00", "12.5": "12.50", "999999999999.999999": "999999999999.999999", "007.10": "7.10", "": "0.00"} {
		m, err := limits.ParseMoney(text)
		if err != nil || m.String() != want {
			t.Errorf("%q is %s, %v; want %s", text, m, err, want)
		}
	}
	for _, text := range []string{".5", "1.1234567", "-1", "1e3", "1,5", "1234567890123", "1.5.5", " 1", "+1"} {
		if m, err := limits.ParseMoney(text); err == nil || m != 0 {
			t.Errorf("%q is read as %s", text, m)
		}
	}
	if got := limits.Money(-12_345_600).String(); got != "-12.3456" {
		t.Errorf("a negative amount: %s", got)
	}
}

// price is one of texts and calls, with other rates for two prefixes.
func price() *limits.Tariff {
	return limits.NewTariff(&limits.Price{
		Currency: "USD", PerAttempt: "0.001", PerSegment: "0.01", PerMinute: "0.02", Minutes: 3,
		Prefixes: []api.PrefixPrice{{Prefix: "+254", PerSegment: "0.05"}, {Prefix: "+2547", PerMinute: "0.1"}},
	})
}

func TestTariff_ReservesByTheLongestPrefix(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 161) // two segments
	for _, c := range []struct {
		name, to string
		messages []string
		want     string
	}{
		{"a text", "+15550001", []string{"hello"}, "0.011"},
		{"segments of several texts", "+15550001", []string{"hello", long}, "0.031"},
		{"a prefix", "+254200123456", []string{"hello"}, "0.051"},
		{"the longest prefix; it has the others' rates of the channel", "+254722123456", []string{"hello"}, "0.011"},
		{"a call", "+254722123456", nil, "0.301"},
		{"a call elsewhere", "+15550001", nil, "0.061"},
		{"an address that is no number", "@ana", []string{"hello"}, "0.011"},
	} {
		if got := price().Reserved(&weir.Contact{Spec: weir.Spec{Messages: c.messages}}, people.Canonical(c.to)).String(); got != c.want {
			t.Errorf("%s: %s is reserved, want %s", c.name, got, c.want)
		}
	}
}

func TestTariff_AnEndSaysWhatWasSpent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		messages []string
		outcome  weir.Outcome
		end      weir.Result
		want     string
	}{
		{"a text", []string{"hello"}, weir.Completed, weir.Result{}, "0.011"},
		{"a text that failed", []string{"hello"}, weir.Failed, weir.Result{}, "0.011"},
		{"a call of 61 seconds", nil, weir.Completed, weir.Result{CallSeconds: 61}, "0.041"},
		{"a call of a minute", nil, weir.Completed, weir.Result{CallSeconds: 60}, "0.021"},
		{"a call whose seconds nobody reports", nil, weir.Completed, weir.Result{}, "0.061"},
		{"nobody has answered", nil, weir.Failed, weir.Result{}, "0.001"},
		{"nobody knows how it ended", nil, weir.Lost, weir.Result{}, "0.061"},
		{"the provider says", nil, weir.Completed, weir.Result{CallSeconds: 61, Cost: weir.Cost{Millionths: 7000, Currency: "USD"}}, "0.007"},
		{"the provider says that it was free", []string{"hello"}, weir.Completed, weir.Result{Cost: weir.Cost{Currency: "USD"}}, "0.00"},
		{"in another currency", []string{"hello"}, weir.Completed, weir.Result{Cost: weir.Cost{Millionths: 7000, Currency: "EUR"}}, "0.011"},
	} {
		contact := weir.Contact{Spec: weir.Spec{Messages: c.messages}, Progress: weir.Progress{State: weir.Done, Outcome: c.outcome}}
		if got := price().Spent(&contact, people.Canonical("+15550001"), &c.end).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPrice_MistakesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		price limits.Price
		want  string
	}{
		{limits.Price{Currency: "USD"}, ""},
		{limits.Price{Currency: "USD", Prefixes: []api.PrefixPrice{{Prefix: "+1"}}}, "/prefixes/0"},
		{limits.Price{Currency: "USD", Prefixes: []api.PrefixPrice{{Prefix: "+1", PerMinute: "1"}, {Prefix: "+1", PerMinute: "2"}}}, "/prefixes/1/prefix"},
	} {
		m := c.price.Check()
		if len(m) != 1 || m[0].Pointer != c.want {
			t.Errorf("%+v: %v, want one at %q", c.price, m, c.want)
		}
	}
	for _, good := range []limits.Price{{PerAttempt: "0.1"}, {PerSegment: "0.1"}, {PerMinute: "0.1"}, {Prefixes: []api.PrefixPrice{{Prefix: "+1", PerAttempt: "1"}}}} {
		if m := good.Check(); len(m) > 0 {
			t.Errorf("%+v: %v", good, m)
		}
	}
}

// A price cannot go, or be in another currency, while limits count money by it; the first of them by name
// is named.
func TestUsesPrice_NamesALimit(t *testing.T) {
	t.Parallel()
	money := func(currency string, channels ...string) *limits.Limit {
		return &limits.Limit{Channels: channels, Currency: currency, Money: "1"}
	}
	for _, c := range []struct {
		limits map[string]*limits.Limit
		want   string
	}{
		{nil, ""},
		{map[string]*limits.Limit{"x": money("USD", "a")}, ""},
		{map[string]*limits.Limit{"x": money("EUR", "b")}, ""},
		{map[string]*limits.Limit{"x": {Channels: []string{"a"}, InFlight: 1}}, ""},
		{map[string]*limits.Limit{"x": money("EUR", "b", "a")}, "x"},
		{map[string]*limits.Limit{"x": money("EUR", "a"), "w": money("GBP", "a"), "v": money("USD", "a")}, "w"},
	} {
		if got := limits.UsesPrice(c.limits, "a", "USD"); got != c.want {
			t.Errorf("%v: %q, want %q", c.limits, got, c.want)
		}
	}
}

func TestLimit_MistakesOfMoneyAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit limits.Limit
		want  []string
	}{
		{limits.Limit{Channels: []string{"a"}, Money: "5"}, []string{"/currency"}},
		{limits.Limit{Channels: []string{"a"}, InFlight: 1, Currency: "USD"}, []string{"/currency"}},
		{limits.Limit{Surveys: []string{"s"}, InFlight: 1}, []string{"/in_flight"}},
		{limits.Limit{Surveys: []string{"s", "s"}, Money: "1", Currency: "USD"}, []string{"/surveys/1"}},
		{limits.Limit{Surveys: []string{"s"}, Money: "0", Currency: "USD"}, []string{"/money"}},
		{limits.Limit{Channels: []string{"a"}, MoneyPerDay: "5", MoneyPerMonth: "4", Money: "4.5", Currency: "USD"}, []string{"/money_per_day"}},
		{limits.Limit{Channels: []string{"a"}, MoneyPerMonth: "5", Money: "4", Currency: "USD"}, []string{"/money_per_month"}},
		{limits.Limit{}, []string{"/channels", ""}},
		{limits.Limit{Surveys: []string{"s"}, Money: "10", MoneyPerDay: "10", Currency: "USD"}, nil},
		{limits.Limit{Channels: []string{"a"}, MoneyPerDay: "1", Currency: "USD"}, nil},
		{limits.Limit{Channels: []string{"a"}, InFlight: 1}, nil},
		{limits.Limit{Channels: []string{"a"}, PerSecond: 1}, nil},
		{limits.Limit{Channels: []string{"a"}, NewPeoplePerDay: 1}, nil},
	} {
		m := c.limit.Check()
		var got []string
		for _, x := range m {
			got = append(got, x.Pointer)
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") || len(got) != len(c.want) {
			t.Errorf("%+v: %v, want mistakes at %v", c.limit, m, c.want)
		}
	}
}

// TestUsage_MoneyIsNeverExceeded: whatever is claimed, rolled back and settled, no limit is exceeded by what
// claims reserve, and every refusal says when to look again.
func TestUsage_MoneyIsNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perDay, perMonth, all := rapid.IntRange(0, 20).Draw(t, "day"), rapid.IntRange(0, 60).Draw(t, "month"), rapid.IntRange(0, 100).Draw(t, "all")
		text := func(n int) string {
			if n == 0 {
				return ""
			}
			return limits.Money(n * 1_000_000).String()
		}
		l := &limits.Limit{Surveys: []string{"s"}, Currency: "USD", Money: text(all), MoneyPerDay: text(perDay), MoneyPerMonth: text(perMonth)}
		u := limits.NewUsage(l)
		now := time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC)
		spent := map[string]int{} // by day
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 7, 24, 24 * 12}).Draw(t, "hours")) * time.Hour)
			u.Begin()
			batch := 0
			for range rapid.IntRange(1, 4).Draw(t, "claims") {
				cost := rapid.IntRange(0, 9).Draw(t, "cost")
				want := limits.Demand{Cost: limits.Money(cost * 1_000_000), Currency: "USD"}
				h, ok := u.Room("l", &want, 0, now)
				if !ok {
					if !h.Until.After(now) || h.Channel || h.Rule != limits.RuleMoney {
						t.Fatalf("no room: %+v at %v", h, now)
					}
					if today, month, inAll := u.MoneySpent(now); !beyond(perDay, today, batch+cost) && !beyond(perMonth, month, batch+cost) && !beyond(all, inAll, batch+cost) {
						t.Fatalf("no room for %d beside %d: %+v", cost, batch, h)
					}
					continue
				}
				u.Take(&want, now)
				batch += cost
			}
			if rapid.IntRange(0, 4).Draw(t, "commits") == 0 { // it is rolled back
				continue
			}
			u.Committed()
			u.Spend(weir.DayOf(now), limits.Money(batch*1_000_000))
			spent[now.Format(time.DateOnly)] += batch
			if batch > 0 && rapid.IntRange(0, 3).Draw(t, "settles") == 0 { // for less
				less := rapid.IntRange(0, batch).Draw(t, "less")
				u.Spend(weir.DayOf(now), limits.Money(-less*1_000_000))
				spent[now.Format(time.DateOnly)] -= less
			}
			month, total := 0, 0
			for d, n := range spent {
				if total += n; strings.HasPrefix(d, now.Format("2006-01")) {
					month += n
				}
			}
			today, thisMonth, inAll := u.MoneySpent(now)
			if today != limits.Money(spent[now.Format(time.DateOnly)]*1_000_000) || thisMonth != limits.Money(month*1_000_000) || inAll != limits.Money(total*1_000_000) {
				t.Fatalf("spent %s, %s, %s; want %d, %d, %d", today, thisMonth, inAll, spent[now.Format(time.DateOnly)], month, total)
			}
			if all > 0 && total > all || perDay > 0 && spent[now.Format(time.DateOnly)] > perDay || perMonth > 0 && month > perMonth {
				t.Fatalf("exceeded: %d today, %d in the month, %d in all; limits %d, %d, %d", spent[now.Format(time.DateOnly)], month, total, perDay, perMonth, all)
			}
		}
	})
}

// beyond reports whether a limit, of which 0 is none, is less than what is spent and some more.
func beyond(most int, spent limits.Money, more int) bool {
	return most > 0 && spent+limits.Money(more*1_000_000) > limits.Money(most*1_000_000)
}

// What a limit of money does not pay for waits a while, but not beyond the day or month whose money is spent.
func TestUsage_WaitsForMoney(t *testing.T) {
	t.Parallel()
	day, newYear := limits.Limit{MoneyPerDay: "5"}, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	month, all := limits.Limit{MoneyPerMonth: "5"}, limits.Limit{Money: "5"}
	for _, c := range []struct {
		limit    limits.Limit
		channels bool // it bounds channels, not a survey
		ago      time.Duration
		want     time.Duration
	}{
		{day, false, time.Hour, 15 * time.Minute}, {day, true, time.Hour, 10 * time.Second},
		{day, false, 14 * time.Minute, 14 * time.Minute}, {day, true, 9 * time.Second, 9 * time.Second},
		{month, false, time.Hour, 15 * time.Minute}, {month, false, 14 * time.Minute, 14 * time.Minute}, {month, true, 9 * time.Second, 9 * time.Second},
		{all, false, 14 * time.Minute, 15 * time.Minute}, {all, true, 9 * time.Second, 10 * time.Second},
	} {
		l, now := c.limit, newYear.Add(-c.ago)
		if l.Currency = "USD"; c.channels {
			l.Channels = []string{"a"}
		} else {
			l.Surveys = []string{"s"}
		}
		u := limits.NewUsage(&l)
		u.Spend(weir.DayOf(now), 4_500_000)
		if h, ok := u.Room("l", &limits.Demand{Cost: 500_000, Currency: "USD"}, 0, now); !ok {
			t.Errorf("%+v: no room for what is left: %+v", l, h)
		}
		if h, ok := u.Room("l", &limits.Demand{Cost: 500_001, Currency: "USD"}, 0, now); ok || h.Channel != c.channels || h.Until.Sub(now) != c.want {
			t.Errorf("%+v, %v before the year ends: %v for %v", l, c.ago, h, h.Until.Sub(now))
		}
	}
}

func TestUsage_AChannelWithoutPriceWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 20, 0, 0, 0, 0, time.UTC)
	for _, l := range []limits.Limit{{MoneyPerDay: "5"}, {MoneyPerMonth: "5"}, {Money: "5"}} {
		l.Channels, l.Currency = []string{"a"}, "USD"
		u := limits.NewUsage(&l)
		for _, w := range []limits.Demand{{}, {Currency: "EUR", Cost: 1}} {
			h, ok := u.Room("l", &w, 0, now)
			if ok || !h.Channel || h.Reason != "limit l: the channel has no price in USD" || !h.Until.Equal(now.Add(10*time.Second)) {
				t.Errorf("%+v, %+v: %+v, %v", l, w, h, ok)
			}
		}
	}
}
