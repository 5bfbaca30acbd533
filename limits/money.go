package limits

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/internal/segments"
	"weir/internal/validation"
)

// Money is an amount in millionths of the unit of a currency.
type Money int64

const unit Money = 1_000_000

// ParseMoney reads an amount such as 12.50. Empty is 0.
func ParseMoney(text string) (Money, error) {
	whole, part, _ := strings.Cut(text, ".")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(whole+(part + "000000")[:6], 10, 63)
	if err != nil || whole == "" || len(whole) > 12 || len(part) > 6 {
		return 0, fmt.Errorf("%q is no amount, such as 12.50, with up to 6 decimals", validation.Clip(text))
	}
	return Money(n), nil
}

// String returns the amount with the decimals that it has, at least two.
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	part := strings.TrimRight(fmt.Sprintf("%06d", m%unit), "0")
	for len(part) < 2 {
		part += "0"
	}
	return sign + strconv.FormatInt(int64(m/unit), 10) + "." + part
}

// Price is what contacts over a channel cost.
type Price api.Price

// MaxPrefixes bounds the prefixes of a price.
const MaxPrefixes = 5000

// Check returns the mistakes of a price, with pointers relative to it. Those that its schema
// reports are not among them.
func (p *Price) Check() (m validation.Errors) {
	free := p.PerAttempt == "" && p.PerSegment == "" && p.PerMinute == ""
	seen := map[string]bool{}
	for i, x := range p.Prefixes {
		at := "/prefixes/" + strconv.Itoa(i)
		if seen[x.Prefix] {
			m.Add(at+"/prefix", "duplicate", "%s is listed twice", validation.Clip(x.Prefix))
		}
		if seen[x.Prefix] = true; x.PerAttempt == "" && x.PerSegment == "" && x.PerMinute == "" {
			m.Add(at, "required", "must have an amount: per_attempt, per_segment or per_minute")
		}
		free = false
	}
	if free {
		m.Add("", "required", "must have an amount: per_attempt, per_segment or per_minute")
	}
	return m
}

// Tariff is a price, ready for use. It is immutable.
type Tariff struct {
	*Price
	base     rates
	prefixes map[string]rates
	longest  int // prefix
}

type rates struct{ attempt, segment, minute Money }

// NewTariff makes a price ready for use. An amount that cannot be read is 0.
func NewTariff(p *Price) *Tariff {
	t := &Tariff{Price: p, base: rates{}.with(p.PerAttempt, p.PerSegment, p.PerMinute), prefixes: make(map[string]rates, len(p.Prefixes))}
	for _, x := range p.Prefixes {
		t.prefixes[x.Prefix] = t.base.with(x.PerAttempt, x.PerSegment, x.PerMinute)
		t.longest = max(t.longest, len(x.Prefix))
	}
	return t
}

func (r rates) with(attempt, segment, minute string) rates {
	for _, x := range []struct {
		to   *Money
		text string
	}{{&r.attempt, attempt}, {&r.segment, segment}, {&r.minute, minute}} {
		if m, err := ParseMoney(x.text); err == nil && x.text != "" {
			*x.to = m
		}
	}
	return r
}

// of returns the rates for a canonical address.
func (t *Tariff) of(address string) rates {
	address = strings.TrimPrefix(address, "tel:")
	for n := min(t.longest, len(address)); n > 1; n-- {
		if r, ok := t.prefixes[address[:n]]; ok {
			return r
		}
	}
	return t.base
}

// Reserved returns what the claim of a contact reserves. address is its canonical one.
func (t *Tariff) Reserved(c *weir.Contact, address string) Money {
	r := t.of(address)
	if len(c.Messages) > 0 {
		return r.attempt + r.segment*Money(segments.Total(c.Messages))
	}
	return r.attempt + r.minute*Money(max(1, t.Minutes))
}

// Spent returns what an attempt has cost that ended. Without a report from which that follows,
// it is what was reserved.
func (t *Tariff) Spent(c *weir.Contact, address string, end *weir.Result) Money {
	r := t.of(address)
	switch {
	case end.Cost.Currency == t.Currency:
		return Money(end.Cost.Millionths)
	case len(c.Messages) > 0 || c.Outcome == weir.Lost:
		return t.Reserved(c, address)
	case end.CallSeconds > 0:
		return r.attempt + r.minute*Money((end.CallSeconds+59)/60)
	case c.Outcome != weir.Completed: // nobody has answered
		return r.attempt
	}
	return t.Reserved(c, address)
}

// spending is what a limit of money has counted.
type spending struct {
	days  map[int]Money // by day of the Unix epoch, in UTC
	all   Money
	taken Money // by the batch

	perDay, perMonth, inAll Money // 0: no limit
}

func newSpending(l *Limit) (s spending) {
	s.days = map[int]Money{}
	s.perDay, _ = ParseMoney(l.MoneyPerDay) // its schema has checked them
	s.perMonth, _ = ParseMoney(l.MoneyPerMonth)
	s.inAll, _ = ParseMoney(l.Money)
	return s
}

// Spend counts money that was spent on a day, or with a negative amount, that it was not.
func (u *Usage) Spend(onDay int, amount Money) {
	u.money.days[onDay] += amount
	u.money.all += amount
}

// Unspent forgets all money.
func (u *Usage) Unspent() { u.money = newSpending(u.Limit) }

// Counts reports whether money spent over a channel, for a survey, in a currency counts.
func (u *Usage) Counts(channel, survey, currency string) bool {
	return u.Currency == currency && u.Concerns(channel, survey)
}

// MoneySpent returns what was spent today, in this month, both in UTC, and in all.
func (u *Usage) MoneySpent(now time.Time) (today, month, all Money) {
	y, m, d := now.UTC().Date()
	first := weir.DayOf(time.Date(y, m, 1, 0, 0, 0, 0, time.UTC))
	for n := first; n < first+d; n++ {
		month += u.money.days[n]
	}
	return u.money.days[weir.DayOf(now)], month, u.money.all
}

// SpentInAll returns what was spent in all.
func (u *Usage) SpentInAll() Money { return u.money.all }

// affords reports whether the limit has money for a claim.
func (u *Usage) affords(name string, w *Demand, now time.Time) (Denial, bool) {
	s := &u.money
	if !u.CountsMoney() {
		return Denial{}, true
	}
	channel := len(u.Surveys) == 0
	deny := func(until time.Time, format string, args ...any) Denial {
		if u.budget != nil {
			return u.beyondBudget(fmt.Sprintf(format, args...), now)
		}
		soon := unpaidRetry
		if channel {
			soon = unpaidChannelRetry
		}
		if soonest := now.Add(soon); soonest.Before(until) {
			until = soonest
		}
		return Denial{RuleMoney, fmt.Sprintf("limit %s: %v", name, fmt.Sprintf(format, args...)), until, channel}
	}
	if w.Currency != u.Currency {
		return deny(now.Add(day), "the channel has no price in %s", u.Currency), false
	}
	today, month, all := u.MoneySpent(now)
	y, m, d := now.UTC().Date()
	for _, x := range []struct {
		most, spent Money
		until       time.Time
		deny        func(until time.Time, values ...any) Denial
	}{
		{s.inAll, all, now.Add(day), func(until time.Time, values ...any) Denial {
			return deny(until, "%s of %s %s spent, and a contact for %s more would exceed it", values...)
		}},
		{s.perMonth, month, time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC), func(until time.Time, values ...any) Denial {
			return deny(until, "%s of %s %s spent in this month (UTC), and a contact for %s more would exceed it", values...)
		}},
		{s.perDay, today, time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC), func(until time.Time, values ...any) Denial {
			return deny(until, "%s of %s %s spent today (UTC), and a contact for %s more would exceed it", values...)
		}},
	} {
		if spent := x.spent + s.taken; x.most > 0 && spent+w.Cost > x.most {
			return x.deny(x.until, spent, x.most, u.Currency, w.Cost), false
		}
	}
	return Denial{}, true
}

// How soon somebody looks again for money: contacts may have cost less than was reserved, and
// the limit may be raised. A look of a contact is a write, one of a channel is not.
const (
	unpaidRetry        = 15 * time.Minute
	unpaidChannelRetry = 10 * time.Second
	unpaidBudgetRetry  = time.Minute // its survey may end as soon as nothing is in flight
)

// checkMoney adds the mistakes of a limit's money.
func (l *Limit) checkMoney(m *validation.Errors) {
	if !l.CountsMoney() {
		if l.Currency != "" {
			m.Add("/currency", "unexpected", "there is no amount in it: give money, money_per_day or money_per_month")
		}
		return
	}
	if l.Currency == "" {
		m.Add("/currency", "required", "must name the currency of the amounts")
	}
	amounts := []struct{ name, text string }{{"money_per_day", l.MoneyPerDay}, {"money_per_month", l.MoneyPerMonth}, {"money", l.Money}}
	for i, x := range amounts {
		n, err := ParseMoney(x.text)
		if err != nil {
			continue // its schema says so
		}
		if n == 0 && x.text != "" {
			m.Add("/"+x.name, "minimum", "must be more than 0")
		}
		for _, longer := range amounts[i+1:] {
			if most, err := ParseMoney(longer.text); err == nil && most > 0 && n > most {
				m.Add("/"+x.name, "maximum", "must not exceed %s", longer.name)
				break
			}
		}
	}
}

// Spending is what was spent over a channel for a survey on a day.
type Spending struct {
	Channel  weir.ChannelID
	Survey   string // empty: direct contacts
	Day      int    // see [weir.DayOf]
	Currency string
	Amount   Money
}

// Prices keeps what contacts cost.
type Prices interface {
	// Prices returns the prices, by channel. They are immutable.
	Prices() map[string]*Tariff
	// PutPrice sets the price of a channel. When it returns, every later claim is counted by it.
	PutPrice(ctx context.Context, channel string, p *Price) error
	// CheckPrice returns the error that PutPrice would, and writes nothing.
	CheckPrice(ctx context.Context, channel string, p *Price) error
	DeletePrice(ctx context.Context, channel string) error
	// Spending returns what was spent from a day to another, both included, in the order of
	// day, channel and survey, at most limit entries behind one.
	Spending(ctx context.Context, from, to int, after *Spending, limit int) ([]Spending, error)
}

// UsesPrice returns the name of a limit that counts money over a channel, in a currency other
// than the given one; empty: there is none.
func UsesPrice(limits map[string]*Limit, channel, currency string) string {
	var names []string
	for name, l := range limits {
		if l.CountsMoney() && l.Currency != currency && slices.Contains(l.Channels, channel) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}
