package people

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir"
	"weir/internal/segments"
	"weir/people"
	"weir/persistence/columns"
	"weir/persistence/commit"
)

// limit is a limit with its usage.
type limit struct {
	name  string
	usage *people.Usage
	read  bool // the usage has what was stored before
}

// limits are the limits of an installation, as the writer judges by them. They are used on
// the writer's goroutine.
type limits struct {
	list     []*limit                    // by name
	channels map[string][]weir.ChannelID // of members that are known
	budgets  map[string]*budget          // by survey
}

// newPeople reports whether one counts the new people of a channel.
func (l *limits) newPeople(channel string) bool {
	return slices.ContainsFunc(l.list, func(x *limit) bool {
		return x.usage.NewPeoplePerDay > 0 && slices.Contains(x.usage.Channels, channel)
	})
}

// of lists the limits of contacts over a channel, for a survey.
func (l *limits) of(channel, survey string) (list []*limit) {
	for _, x := range l.list {
		if x.usage.Concerns(channel, survey) {
			list = append(list, x)
		}
	}
	if b := l.budgets[survey]; b != nil && survey != "" {
		list = append(list, &b.limit)
	}
	return list
}

// set replaces a limit, or removes it: nil. What is used of the new one is read when it is
// needed.
func (l *limits) set(name string, to *people.Limit) {
	l.list = slices.DeleteFunc(slices.Clone(l.list), func(x *limit) bool { return x.name == name })
	if to != nil {
		l.list = append(l.list, &limit{name: name, usage: people.NewUsage(to)})
		slices.SortFunc(l.list, func(a, b *limit) int { return cmp.Compare(a.name, b.name) })
	}
}

// learn notes which channel has a name.
func (l *limits) learn(name string, id weir.ChannelID) {
	if !slices.Contains(l.channels[name], id) {
		l.channels[name] = append(l.channels[name], id)
	}
}

// readLimits reads the limits.
func (s *Store) readLimits(ctx context.Context) error {
	var rows []struct {
		Name  string `db:"name"`
		Rules string `db:"rules"`
	}
	if err := s.Read.SelectContext(ctx, &rows, "SELECT name, rules FROM limits"); err != nil {
		return s.Failure("read the limits", err)
	}
	all := map[string]*people.Limit{}
	for _, r := range rows {
		var l people.Limit
		if err := json.Unmarshal([]byte(r.Rules), &l); err != nil {
			return fmt.Errorf("the limit %s cannot be read: %w", r.Name, err)
		}
		all[r.Name] = &l
		s.gate.limits.set(r.Name, &l)
	}
	s.limits.Store(&all)
	now := time.Now()
	for _, l := range s.gate.limits.list {
		if err := readUsage(ctx, s.Read, &s.gate.limits, l, now); err != nil {
			return s.Failure("read how much of a limit is used", err)
		}
	}
	s.gate.publish(now)
	return nil
}

// Limits implements [people.Limits].
func (s *Store) Limits() map[string]*people.Limit { return *s.limits.Load() }

// PutLimit implements [people.Limits].
func (s *Store) PutLimit(ctx context.Context, name string, l *people.Limit) error {
	return s.change(ctx, &limitChange{s, name, l})
}

// DeleteLimit implements [people.Limits].
func (s *Store) DeleteLimit(ctx context.Context, name string) error {
	if s.Limits()[name] == nil {
		return weir.Errorf(weir.CodeNotFound, "there is no limit %q", name)
	}
	return s.change(ctx, &limitChange{s, name, nil})
}

// limitChange is the work of [Store.PutLimit] and [Store.DeleteLimit].
type limitChange struct {
	s    *Store
	name string
	to   *people.Limit // nil: delete it
}

// Write implements [commit.Work].
func (w *limitChange) Write(t *commit.Tx, r *commit.Request) error {
	g := w.s.gate
	if g.limited == nil {
		g.limited = map[string]*people.Limit{}
	}
	if w.to == nil {
		t.AddOnce("DELETE FROM limits WHERE name = ?", w.name)
		g.limited[w.name] = nil
		return nil
	}
	if known := w.s.Limits(); known[w.name] == nil && len(known)+len(g.limited) >= people.MaxLimits {
		r.Refuse(weir.Errorf(weir.CodeConflict, "there are %d limits, the most that are possible", len(known)))
		return nil
	}
	step := purposesStep
	if w.to.CountsMoney() {
		step = pricesStep
	}
	g.limited[w.name] = w.to
	return writeRules(t, "limits", "name", w.name, w.to, r.At, step)
}

// writeRules sets the row of a limit or a price, and keeps programs away that do not know it.
func writeRules(t *commit.Tx, table, key, name string, rules any, at time.Time, step int) error {
	text, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	d := t.Dialect()
	t.AddOnce("INSERT INTO "+table+" ("+key+", rules, changed_at) VALUES "+columns.Marks(3)+d.Merge(key)+
		"rules = "+d.Fresh("rules")+", changed_at = "+d.Fresh("changed_at"), name, string(text), columns.Micros(at))
	t.Add(oldestSQL, step, step)
	return nil
}

// judgedBy returns the limits by which this batch is judged, with what is stored of them.
func (g *Gate) judgedBy(t *commit.Tx) (*limits, error) {
	now := &g.limits
	if len(g.limited)+len(g.budgeted) > 0 {
		changed := limits{list: g.limits.list, channels: g.limits.channels, budgets: g.budgets()}
		for name, to := range g.limited {
			changed.set(name, to)
		}
		now = &changed
	}
	for _, l := range now.list {
		if l.read {
			continue
		}
		if err := readUsage(t.Ctx, t, now, l, t.Now); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// readUsage reads whom the channels of a limit have contacted in the last 24 hours, and what
// was spent.
func readUsage(ctx context.Context, from selecter, into *limits, l *limit, now time.Time) error {
	var rows []struct {
		ID   int64  `db:"id"`
		Name string `db:"name"`
	}
	if names := texts(l.usage.Channels); len(names) > 0 {
		err := from.SelectContext(ctx, &rows, "SELECT id, name FROM channels WHERE name IN "+columns.Marks(len(names)), names...)
		if err != nil {
			return err
		}
	}
	ids := make([]any, 0, len(rows)+1)
	for _, r := range rows {
		into.learn(r.Name, weir.ChannelID(r.ID))
		ids = append(ids, r.ID)
	}
	if l.usage.CountsMoney() {
		if err := readSpent(ctx, from, l.usage, ids); err != nil {
			return err
		}
	}
	if l.read = true; l.usage.NewPeoplePerDay == 0 || len(ids) == 0 {
		return nil
	}
	var found []struct {
		Hash []byte `db:"hash"`
		At   int64  `db:"claimed_at"`
	}
	err := from.SelectContext(ctx, &found, newPeopleSQL(len(ids)), append([]any{columns.Micros(now.Add(-24 * time.Hour))}, ids...)...)
	if err != nil {
		l.read = false
		return err
	}
	for _, f := range found {
		l.usage.Contacted(people.Hash(f.Hash), columns.Instant(f.At))
	}
	return nil
}

// newPeopleSQL reads whom n channels have contacted since an instant.
func newPeopleSQL(n int) string {
	return "SELECT hash, claimed_at FROM person_contacts WHERE claimed_at > ? AND channel_id IN " + columns.Marks(n) + " ORDER BY claimed_at"
}

// takeRoom takes room for a claim from every limit of its channel. If one has none it takes
// nothing, and returns the verdict.
func (g *Gate) takeRoom(t *commit.Tx, now *limits, c *weir.Contact, claim *people.Claim, hash people.Hash) people.Verdict {
	name := t.Channel(c.Channel).Name
	mine := now.of(name, c.Survey)
	if len(mine) == 0 {
		return people.Verdict{}
	}
	now.learn(name, c.Channel)
	want := people.Want{Hash: hash, Units: max(1, segments.Total(c.Messages)), Cost: claim.Cost, Currency: claim.Currency}
	for _, l := range mine {
		inFlight := 0
		if l.usage.InFlight > 0 {
			for _, member := range l.usage.Channels {
				for _, id := range now.channels[member] {
					inFlight += g.InFlight(id)
				}
			}
		}
		if h, ok := l.usage.Room(l.name, &want, inFlight, t.Now); !ok {
			if h.Rule == people.RuleBudget && want.Currency == l.usage.Currency {
				g.notPaid(c.Survey, want.Cost)
			}
			return people.Verdict{Receipt: weir.Receipt{Rule: string(h.Rule)}, Reason: h.Reason, Due: h.Until, Channel: h.Channel}
		}
	}
	for _, l := range mine {
		l.usage.Take(&want, columns.Instant(columns.Micros(c.ClaimedAt)))
	}
	return people.Verdict{}
}

// LimitUse implements [people.Limits].
func (s *Store) LimitUse() map[string]people.LimitUse { return *s.used.Load() }

// publish tells readers how much of the limits is used.
func (g *Gate) publish(now time.Time) {
	use := make(map[string]people.LimitUse, len(g.limits.list))
	for _, l := range g.limits.list {
		u := people.LimitUse{People: l.usage.People(now)}
		u.Today, u.Month, u.Spent = l.usage.MoneySpent(now)
		for _, member := range l.usage.Channels {
			for _, id := range g.limits.channels[member] {
				u.InFlight += g.InFlight(id)
			}
		}
		use[l.name] = u
	}
	g.store.used.Store(&use)
}

// limitsCommitted keeps the changes of a batch, and what its claims have taken.
func (g *Gate) limitsCommitted() {
	if len(g.limited) > 0 {
		all := maps.Clone(*g.store.limits.Load())
		for name, to := range g.limited {
			g.limits.set(name, to)
			if all[name] = to; to == nil {
				delete(all, name)
			}
		}
		g.store.limits.Store(&all)
	}
	g.budgetsCommitted()
	if len(g.limits.list) == 0 {
		return
	}
	for _, l := range g.limits.list {
		l.usage.Committed()
		for k, amount := range g.spent {
			if l.usage.Counts(k.name, k.survey, k.currency) {
				l.usage.Spend(k.day, amount)
			}
		}
		for _, u := range g.uncontacted {
			if slices.Contains(l.usage.Channels, u.channel) {
				l.usage.Uncontacted(u.hash, u.at)
			}
		}
	}
	g.publish(time.Now())
}
