package limits

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/limits"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

// Steps of the schema with which programs begin to heed limits, and to count money.
const (
	limitsStep = 24
	pricesStep = 26
)

// spentKey is a row of spent.
type spentKey struct {
	channel  weir.ChannelID
	name     string // of the channel
	survey   string
	day      int
	currency string
}

// priceStore keeps the prices, and what was spent.
type priceStore struct {
	*commit.DB
	limits  *limitStore
	budgets *budgetStore
	names   *dailyStore
	rules   *named[limits.Price, limits.Tariff] // by channel
	spent   map[spentKey]limits.Money           // by the batch; used on the writer's goroutine only
}

func newPriceStore(db *commit.DB, l *limitStore, b *budgetStore, names *dailyStore) *priceStore {
	return &priceStore{DB: db, limits: l, budgets: b, names: names, rules: newNamed(db, "prices", "channel", limits.NewTariff)}
}

// begin begins a batch.
func (s *priceStore) begin() {
	s.rules.begin()
	s.spent = nil
}

// tariffs returns the prices as this batch leaves them, by channel.
func (s *priceStore) tariffs() map[string]*limits.Tariff { return s.rules.now() }

// spend counts money for a contact, on the day of its claim.
func (s *priceStore) spend(t *commit.Tx, c *weir.Contact, currency string, amount limits.Money, claimedAt time.Time) {
	if amount == 0 {
		return
	}
	if s.spent == nil {
		s.spent = map[spentKey]limits.Money{}
	}
	day := weir.DayOf(claimedAt)
	s.spent[spentKey{c.Channel, t.Channel(c.Channel).Name, s.names.countedAs(c.Survey, day), day, currency}] += amount
}

// settle replaces what was reserved for a contact that ends by what it has cost, and returns
// its receipt. Without a price, which was deleted meanwhile, that is what was reserved. If
// nothing went out, what was reserved is taken back with that.
func (s *priceStore) settle(t *commit.Tx, end *weir.Transition, out bool) weir.Receipt {
	c := &end.Contact
	var cost limits.Money
	receipt, reserved, currency := people.Settle(c.Receipt, func(reserved limits.Money, currency string) limits.Money {
		cost = reserved
		tariff := s.tariffs()[t.Channel(c.Channel).Name]
		switch {
		case !out:
			cost = 0
		case tariff != nil && tariff.Currency == currency:
			cost = tariff.Spent(c, people.Canonical(c.To), &end.Result)
		}
		return cost
	})
	if out && currency != "" {
		s.spend(t, c, currency, cost-reserved, c.ClaimedAt)
	}
	return receipt
}

// write adds what the batch has spent.
func (s *priceStore) write(t *commit.Tx) {
	const width = 5
	keys := slices.SortedFunc(maps.Keys(s.spent), func(a, b spentKey) int {
		return cmp.Or(cmp.Compare(a.channel, b.channel), cmp.Compare(a.survey, b.survey), cmp.Compare(a.currency, b.currency), cmp.Compare(a.day, b.day))
	})
	d := t.Dialect()
	for part := range slices.Chunk(keys, columns.KeysPerList) {
		args := make([]any, 0, width*len(part))
		for _, k := range part {
			args = append(args, int64(k.channel), k.survey, k.currency, k.day, int64(s.spent[k]))
		}
		t.Add("INSERT INTO spent (channel_id, survey, currency, day, amount) VALUES "+columns.RowsOf(len(part), width)+
			d.Merge("channel_id", "survey", "currency", "day")+"amount = amount + "+d.Fresh("amount"), args...)
	}
}

// readSpent reads what was spent of a limit.
func readSpent(ctx context.Context, from dialect.Reader, u *limits.Usage, channels []any) error {
	u.Unspent()
	text, args := "SELECT day, SUM(amount) AS amount FROM spent WHERE currency = ?", []any{u.Currency}
	if len(u.Channels) > 0 {
		if len(channels) == 0 {
			return nil
		}
		text, args = text+" AND channel_id IN "+columns.Marks(len(channels)), append(args, channels...)
	}
	if len(u.Surveys) > 0 {
		text, args = text+" AND survey IN "+columns.Marks(len(u.Surveys)), append(args, texts(u.Surveys)...)
	}
	var rows []struct {
		Day    int   `db:"day"`
		Amount int64 `db:"amount"`
	}
	if err := from.SelectContext(ctx, &rows, text+" GROUP BY day", args...); err != nil {
		return err
	}
	for _, r := range rows {
		u.Spend(r.Day, limits.Money(r.Amount))
	}
	return nil
}

// Prices implements [limits.Prices].
func (s *priceStore) Prices() map[string]*limits.Tariff { return s.rules.committed() }

// PutPrice implements [limits.Prices].
func (s *priceStore) PutPrice(ctx context.Context, channel string, p *limits.Price) error {
	return s.Change(ctx, s.change(channel, p, false))
}

// CheckPrice implements [limits.Prices].
func (s *priceStore) CheckPrice(ctx context.Context, channel string, p *limits.Price) error {
	return s.Check(ctx, s.change(channel, p, true))
}

// DeletePrice implements [limits.Prices].
func (s *priceStore) DeletePrice(ctx context.Context, channel string) error {
	if s.Prices()[channel] == nil {
		return weir.Errorf(weir.CodeNotFound, "channel %q has no price", channel)
	}
	return s.Change(ctx, s.change(channel, nil, false))
}

// change returns the work that sets a price, or deletes it: nil.
func (s *priceStore) change(channel string, to *limits.Price, dry bool) *change[limits.Price, limits.Tariff] {
	currency := ""
	if to != nil {
		currency = to.Currency
	}
	refuse := func() error {
		now := s.limits.rules.now()
		if name := limits.UsesPrice(now, channel, currency); name != "" {
			return weir.Errorf(weir.CodeConflict, "the limit %s counts %s over channel %s: delete the limit first, or set it to another currency", name, now[name].Currency, channel)
		}
		if survey, counted := s.budgets.usesPrice(channel, currency); survey != "" {
			return weir.Errorf(weir.CodeConflict, "the budget of survey %s counts %s over channel %s: its price may change, but not go or be in another currency, until the survey is over", survey, counted, channel)
		}
		return nil
	}
	return &change[limits.Price, limits.Tariff]{of: s.rules, name: channel, to: to, step: pricesStep, refuse: refuse, dry: dry}
}

// Spending implements [limits.Prices].
func (s *priceStore) Spending(ctx context.Context, from, to int, after *limits.Spending, limit int) ([]limits.Spending, error) {
	var rows []struct {
		Channel  int64  `db:"channel_id"`
		Survey   string `db:"survey"`
		Currency string `db:"currency"`
		Day      int    `db:"day"`
		Amount   int64  `db:"amount"`
	}
	text, args := "SELECT channel_id, survey, currency, day, amount FROM spent WHERE day >= ? AND day <= ?", []any{from, to}
	if after != nil {
		text += " AND (day > ? OR (day = ? AND (channel_id > ? OR (channel_id = ? AND (survey > ? OR (survey = ? AND currency > ?))))))"
		args = append(args, after.Day, after.Day, int64(after.Channel), int64(after.Channel), after.Survey, after.Survey, after.Currency)
	}
	err := s.Read.SelectContext(ctx, &rows, text+" ORDER BY day, channel_id, survey, currency LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, s.Failure("read what was spent", err)
	}
	list := make([]limits.Spending, 0, len(rows))
	for _, r := range rows {
		list = append(list, limits.Spending{Channel: weir.ChannelID(r.Channel), Survey: r.Survey, Day: r.Day, Currency: r.Currency, Amount: limits.Money(r.Amount)})
	}
	return list, nil
}

// texts returns texts as arguments of a statement.
func texts(list []string) []any {
	args := make([]any, len(list))
	for i, text := range list {
		args[i] = text
	}
	return args
}
