package limits

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"weir"
	"weir/api"
	"weir/internal/document"
	"weir/limits"
	"weir/persistence/columns"
	"weir/persistence/commit"
	"weir/persistence/dialect"
)

// limit is a limit with its usage.
type limit struct {
	name  string
	usage *limits.Usage
	read  bool // the usage has what was stored before
}

// limitSet is the limits of an installation, as the writer judges by them. It is used on
// the writer's goroutine.
type limitSet struct {
	list     []*limit                    // by name
	channels map[string][]weir.ChannelID // of members that are known
	budgets  map[string]*budget          // by survey, as the batch leaves them
}

// newPeople reports whether one counts the new people of a channel.
func (l *limitSet) newPeople(channel string) bool {
	return slices.ContainsFunc(l.list, func(x *limit) bool {
		return x.usage.NewPeoplePerDay > 0 && slices.Contains(x.usage.Channels, channel)
	})
}

// of lists the limits of contacts over a channel, for a survey.
func (l *limitSet) of(channel, survey string) (list []*limit) {
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
func (l *limitSet) set(name string, to *limits.Limit) {
	l.list = slices.DeleteFunc(slices.Clone(l.list), func(x *limit) bool { return x.name == name })
	if to != nil {
		l.list = append(l.list, &limit{name: name, usage: limits.NewUsage(to)})
		slices.SortFunc(l.list, func(a, b *limit) int { return cmp.Compare(a.name, b.name) })
	}
}

// addChannel notes which channel has a name.
func (l *limitSet) addChannel(name string, id weir.ChannelID) {
	if !slices.Contains(l.channels[name], id) {
		l.channels[name] = append(l.channels[name], id)
	}
}

// limitStore keeps the limits, and counts what is used of them.
type limitStore struct {
	*commit.DB
	rules *named[limits.Limit, limits.Limit]
	used  atomic.Pointer[map[string]limits.LimitUse]
	// inFlight returns how many contacts of a channel are in flight, as they were committed
	// last.
	inFlight func(weir.ChannelID) int
	// contacted reads whom channels have contacted.
	contacted Contacts
	budgets   *budgetStore
	// Used on the writer's goroutine only.
	current limitSet
	undone  []undone // by the batch
}

// undone is a person who counts no longer as contacted over a channel at an instant.
type undone struct {
	channel string
	Contacted
}

func newLimitStore(db *commit.DB, b *budgetStore) *limitStore {
	s := &limitStore{DB: db, budgets: b, current: limitSet{channels: map[string][]weir.ChannelID{}}, inFlight: func(weir.ChannelID) int { return 0 }}
	s.rules = newNamed(db, "limits", "name", func(l *limits.Limit) *limits.Limit { return l })
	s.used.Store(&map[string]limits.LimitUse{})
	return s
}

// loadAll reads all limits into memory at the start.
func (s *limitStore) loadAll(ctx context.Context) error {
	if err := s.rules.load(ctx); err != nil {
		return err
	}
	for name, l := range s.Limits() {
		s.current.set(name, l)
	}
	now := time.Now()
	for _, l := range s.current.list {
		if err := s.readUsage(ctx, s.Read, &s.current, l, now); err != nil {
			return s.Failure("read how much of a limit is used", err)
		}
	}
	s.publish(now)
	return nil
}

// Limits implements [limits.Limits].
func (s *limitStore) Limits() map[string]*limits.Limit { return s.rules.committed() }

// PutLimit implements [limits.Limits].
func (s *limitStore) PutLimit(ctx context.Context, name string, l *limits.Limit, on document.Condition) error {
	return s.Change(ctx, s.put(name, l, on, false))
}

// CheckLimit implements [limits.Limits].
func (s *limitStore) CheckLimit(ctx context.Context, name string, l *limits.Limit, on document.Condition) error {
	return s.Check(ctx, s.put(name, l, on, true))
}

// DeleteLimit implements [limits.Limits].
func (s *limitStore) DeleteLimit(ctx context.Context, name string) error {
	if s.Limits()[name] == nil {
		return weir.Errorf(weir.CodeNotFound, "there is no limit %q", name)
	}
	return s.Change(ctx, &limitChange{of: s.rules, name: name})
}

type limitChange = change[limits.Limit, limits.Limit]

// put returns the work that sets a limit.
func (s *limitStore) put(name string, to *limits.Limit, on document.Condition, dry bool) *limitChange {
	w := &limitChange{of: s.rules, name: name, to: to, on: on, dry: dry, step: limitsStep}
	if to.CountsMoney() {
		w.step = pricesStep
	}
	w.refuse = func() error {
		if known := s.Limits(); known[name] == nil && len(known)+len(s.rules.changed) >= limits.MaxLimits {
			return weir.Errorf(weir.CodeConflict, "there are %d limits, the most that are possible", len(known))
		}
		return nil
	}
	return w
}

// begin begins a batch.
func (s *limitStore) begin() {
	s.rules.begin()
	s.undone = nil
	for _, l := range s.current.list {
		l.usage.Begin()
	}
}

// judgedBy returns the limits by which this batch is judged, with what is stored of them.
func (s *limitStore) judgedBy(t *commit.Tx) (*limitSet, error) {
	now := &s.current
	if len(s.rules.changed) > 0 {
		changed := limitSet{list: s.current.list, channels: s.current.channels}
		for name, to := range s.rules.changed {
			changed.set(name, to)
		}
		now = &changed
	}
	now.budgets = s.budgets.now()
	for _, l := range now.list {
		if l.read {
			continue
		}
		if err := s.readUsage(t.Ctx, t, now, l, t.Now); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// readUsage reads whom the channels of a limit have contacted in the last 24 hours, and what
// was spent.
func (s *limitStore) readUsage(ctx context.Context, from dialect.Reader, into *limitSet, l *limit, now time.Time) error {
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
		into.addChannel(r.Name, weir.ChannelID(r.ID))
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
	list, err := s.contacted(ctx, from, ids, now.Add(-24*time.Hour))
	if err != nil {
		l.read = false
		return err
	}
	for _, c := range list {
		l.usage.Contacted(c.Person, c.At)
	}
	return nil
}

// takeRoom takes room for a claim from every limit of its channel. If one has none it takes
// nothing, and returns which.
func (s *limitStore) takeRoom(t *commit.Tx, now *limitSet, c *weir.Contact, want *limits.Demand) limits.Denial {
	name := t.Channel(c.Channel).Name
	mine := now.of(name, c.Survey)
	if len(mine) == 0 {
		return limits.Denial{}
	}
	now.addChannel(name, c.Channel)
	for _, l := range mine {
		inFlight := 0
		if l.usage.InFlight > 0 {
			for _, member := range l.usage.Channels {
				for _, id := range now.channels[member] {
					inFlight += s.inFlight(id)
				}
			}
		}
		if h, ok := l.usage.Room(l.name, want, inFlight, t.Now); !ok {
			if h.Rule == limits.RuleBudget && want.Currency == l.usage.Currency {
				s.budgets.notPaid(c.Survey, want.Cost)
			}
			return h
		}
	}
	for _, l := range mine {
		l.usage.Take(want, columns.Instant(columns.Micros(c.ClaimedAt)))
	}
	return limits.Denial{}
}

// LimitUse implements [limits.Limits].
func (s *limitStore) LimitUse() map[string]limits.LimitUse { return *s.used.Load() }

// publish updates the snapshot of usage that readers get.
func (s *limitStore) publish(now time.Time) {
	use := make(map[string]limits.LimitUse, len(s.current.list))
	for _, l := range s.current.list {
		u := limits.LimitUse{LimitUse: api.LimitUse{NewPeople: l.usage.People(now)}}
		u.Today, u.Month, u.Spent = l.usage.MoneySpent(now)
		for _, member := range l.usage.Channels {
			for _, id := range s.current.channels[member] {
				u.InFlightNow += s.inFlight(id)
			}
		}
		use[l.name] = u
	}
	s.used.Store(&use)
}

// committed keeps the changes of a batch, and what its claims have taken.
func (s *limitStore) committed(spent map[spentKey]limits.Money) {
	for name, to := range s.rules.changed {
		s.current.set(name, to)
	}
	s.rules.publish()
	if len(s.current.list) == 0 {
		return
	}
	for _, l := range s.current.list {
		l.usage.Committed()
		for k, amount := range spent {
			if l.usage.Counts(k.name, k.survey, k.currency) {
				l.usage.Spend(k.day, amount)
			}
		}
		for _, u := range s.undone {
			if slices.Contains(l.usage.Channels, u.channel) {
				l.usage.UndoContacted(u.Person, u.At)
			}
		}
	}
	s.publish(time.Now())
}
