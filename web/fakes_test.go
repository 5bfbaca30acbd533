package web_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir"
	"weir/operators"
	consent "weir/people"
	"weir/web"
)

// memory is a store and a minimal broker over it. It counts every write.
type memory struct {
	mu        sync.Mutex
	channels  []weir.Channel
	contacts  []weir.Contact
	ended     map[weir.Ref][]weir.Attempt
	incoming  map[weir.ChannelID][]weir.Incoming
	reports   []weir.Report
	announced []weir.Contact
	changed   []weir.ChannelID
	writes    int
	lookups   int // of callback channels
	conflicts int // remaining updates that fail with a version conflict
	deleting  bool
	down      error
	now       func() time.Time
	current   []operators.Minute
}

var errDown = &weir.Error{Code: weir.CodeUnavailable, Message: "the store is not reachable", Cause: errors.New("dial tcp CANARY-cause")}

func (m *memory) begin(write bool) (func(), error) {
	m.mu.Lock()
	if m.down != nil {
		err := m.down
		m.mu.Unlock()
		return nil, err
	}
	if write {
		m.writes++
	}
	return m.mu.Unlock, nil
}

func notFound() error { return weir.Errorf(weir.CodeNotFound, "not found") }

func (m *memory) find(f func(*weir.Channel) bool) (*weir.Channel, error) {
	for i := range m.channels {
		if f(&m.channels[i]) {
			return &m.channels[i], nil
		}
	}
	return nil, notFound()
}

func named(name string) func(*weir.Channel) bool {
	return func(c *weir.Channel) bool { return c.Name == name && !c.Deleted }
}

func (m *memory) PutChannel(_ context.Context, c weir.Channel) (weir.Channel, bool, error) {
	end, err := m.begin(true)
	if err != nil {
		return c, false, err
	}
	defer end()
	if have, err := m.find(named(c.Name)); err == nil {
		c.ID, c.Secret, c.Version = have.ID, have.Secret, have.Version+1
		*have = c
		return c, false, nil
	}
	c.ID = weir.ChannelID(len(m.channels) + 1)
	c.Secret, c.Version, c.Created, c.Updated = fmt.Sprintf("%s-%d", secretCanary, c.ID), 1, m.now(), m.now()
	m.channels = append(m.channels, c)
	return c, true, nil
}

func (m *memory) UpdateChannel(_ context.Context, c weir.Channel) (weir.Channel, error) {
	end, err := m.begin(false)
	if err != nil {
		return c, err
	}
	defer end()
	have, err := m.find(func(h *weir.Channel) bool { return h.ID == c.ID })
	if err != nil {
		return c, err
	}
	if m.conflicts > 0 {
		m.conflicts--
		have.Version++
		have.Title = fmt.Sprintf("changed concurrently %d", have.Version)
	}
	if have.Version != c.Version {
		return c, weir.Errorf(weir.CodeConflict, "another version")
	}
	m.writes++
	c.Version++
	*have = c
	return c, nil
}

func (m *memory) Channel(_ context.Context, name string) (weir.Channel, error) {
	return m.one(named(name))
}

func (m *memory) ChannelByID(_ context.Context, id weir.ChannelID) (weir.Channel, error) {
	return m.one(func(c *weir.Channel) bool { return c.ID == id })
}

func (m *memory) one(f func(*weir.Channel) bool) (weir.Channel, error) {
	end, err := m.begin(false)
	if err != nil {
		return weir.Channel{}, err
	}
	defer end()
	c, err := m.find(f)
	if err != nil {
		return weir.Channel{}, err
	}
	return *c, nil
}

func (m *memory) Channels(_ context.Context, after string, limit int) ([]weir.Channel, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	var list []weir.Channel
	for _, c := range m.channels {
		if !c.Deleted && c.Name > after {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b weir.Channel) int { return cmp.Compare(a.Name, b.Name) })
	return list[:min(limit, len(list))], nil
}

func (m *memory) CallbackChannels(_ context.Context, name string) ([]weir.Channel, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	m.lookups++
	var list []weir.Channel
	for _, c := range m.channels {
		if c.Name == name {
			list = append(list, c)
		}
	}
	return list, nil
}

func (m *memory) DeleteChannel(_ context.Context, id weir.ChannelID) error {
	end, err := m.begin(false)
	if err != nil {
		return err
	}
	defer end()
	for i := range m.contacts {
		if m.contacts[i].Channel == id && m.contacts[i].State != weir.Done {
			return weir.Errorf(weir.CodeConflict, "open contacts")
		}
	}
	m.writes++
	c, err := m.find(func(c *weir.Channel) bool { return c.ID == id })
	if err == nil {
		c.Deleted = true
	}
	return err
}

func (m *memory) OpenChannels(context.Context) ([]weir.ChannelID, error) { return nil, nil }

func (m *memory) Contact(_ context.Context, ref weir.Ref) (weir.Contact, []weir.Attempt, error) {
	end, err := m.begin(false)
	if err != nil {
		return weir.Contact{}, nil, err
	}
	defer end()
	for _, c := range m.contacts {
		if c.Ref == ref {
			return c, m.ended[ref], nil
		}
	}
	return weir.Contact{}, nil, notFound()
}

func (m *memory) Contacts(_ context.Context, f weir.ContactFilter) ([]weir.Contact, string, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, "", err
	}
	defer end()
	var list []weir.Contact
	for _, c := range m.contacts {
		if (f.Channel == 0 || c.Channel == f.Channel) && (f.Survey == "" || c.Survey == f.Survey) &&
			(f.To == nil || slices.Contains(f.To, c.To)) && (f.Key == "" || c.Key == f.Key) && (f.States == nil || slices.Contains(f.States, c.State)) && c.Ref.String() > f.Cursor {
			list = append(list, c)
		}
	}
	if len(list) > f.Limit {
		return list[:f.Limit], list[f.Limit-1].Ref.String(), nil
	}
	return list, "", nil
}

func (m *memory) Receive(_ context.Context, id weir.ChannelID, in weir.Incoming) (bool, error) {
	end, err := m.begin(true)
	if err != nil {
		return false, err
	}
	defer end()
	for _, have := range m.incoming[id] {
		if have.GUID == in.GUID {
			return true, nil
		}
	}
	in.ID = int64(len(m.incoming[id]) + 1)
	m.incoming[id] = append(m.incoming[id], in)
	return false, nil
}

func (m *memory) ReceivedAt(_ context.Context, id weir.ChannelID, guid string) (time.Time, error) {
	end, err := m.begin(false)
	if err != nil {
		return time.Time{}, err
	}
	defer end()
	for _, have := range m.incoming[id] {
		if have.GUID == guid {
			return have.ReceivedAt, nil
		}
	}
	return time.Time{}, weir.Errorf(weir.CodeNotFound, "no message")
}

func (m *memory) Announce(_ weir.ChannelID, fresh []weir.Contact) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announced = append(m.announced, fresh...)
}

func (m *memory) IncomingSince(_ context.Context, id weir.ChannelID, after int64, limit int) ([]weir.Incoming, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	list := m.incoming[id]
	list = list[min(int(after), len(list)):]
	return list[:min(limit, len(list))], nil
}

func (m *memory) ContactsTo(_ context.Context, to []string, before weir.ContactID, limit int) (weir.AddressPage, error) {
	end, err := m.begin(false)
	if err != nil {
		return weir.AddressPage{}, err
	}
	defer end()
	var page weir.AddressPage
	for _, c := range slices.Backward(m.contacts) {
		if !slices.Contains(to, c.To) || before > 0 && c.ID >= before {
			continue
		}
		if page.More = len(page.Contacts) == limit; page.More {
			break
		}
		page.Contacts = append(page.Contacts, c)
	}
	return page, nil
}

func (m *memory) IncomingFrom(_ context.Context, from []string, before int64, limit int) ([]weir.Received, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	var list []weir.Received
	for channel, messages := range m.incoming {
		for _, in := range messages {
			if slices.Contains(from, in.From) && (before == 0 || in.ID < before) {
				list = append(list, weir.Received{Channel: channel, Incoming: in})
			}
		}
	}
	slices.SortFunc(list, func(a, b weir.Received) int { return cmp.Compare(b.ID, a.ID) })
	return list[:min(limit, len(list))], nil
}

func (m *memory) Ready(context.Context) error {
	end, err := m.begin(false)
	if err == nil {
		end()
	}
	return err
}

// Methods of the broker.

func (m *memory) Accept(_ context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
	end, err := m.begin(true)
	if err != nil {
		return nil, err
	}
	defer end()
	if have, err := m.find(func(c *weir.Channel) bool { return c.ID == ch.ID }); err != nil || have.Deleted {
		return nil, notFound()
	}
	var out []weir.Accepted
	for _, s := range specs {
		i := -1
		if s.Key != "" {
			i = slices.IndexFunc(m.contacts, func(c weir.Contact) bool { return c.Channel == ch.ID && c.Key == s.Key })
		}
		if i >= 0 {
			out = append(out, weir.Accepted{Contact: m.contacts[i], Duplicate: true})
			continue
		}
		c := weir.Contact{
			Ref: weir.Ref{Channel: ch.ID, ID: weir.ContactID(len(m.contacts) + 1)}, Spec: s,
			QueuedAt: m.now(), Progress: weir.NewProgress(m.now(), s.NotBefore),
		}
		m.contacts = append(m.contacts, c)
		out = append(out, weir.Accepted{Contact: c})
	}
	return out, nil
}

// CallOff finds nothing in flight.
func (*memory) CallOff(context.Context, *consent.Withdrawal) int { return 0 }

func (m *memory) Report(_ context.Context, id weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error) {
	end, err := m.begin(true)
	if err != nil {
		return nil, err
	}
	defer end()
	var out []weir.Verdict
	for _, r := range reports {
		v := weir.Applied
		switch {
		case slices.ContainsFunc(m.reports, func(have weir.Report) bool { return have.Attempt == r.Attempt }):
			v = weir.Duplicate
		case !slices.ContainsFunc(m.contacts, func(c weir.Contact) bool { return c.Ref == r.Attempt.Ref }):
			v = weir.UnknownAttempt
		}
		m.reports = append(m.reports, r)
		out = append(out, v)
	}
	return out, nil
}

func (m *memory) Cancel(_ context.Context, ref weir.Ref) (weir.State, error) {
	end, err := m.begin(true)
	if err != nil {
		return 0, err
	}
	defer end()
	for i := range m.contacts {
		c := &m.contacts[i]
		switch {
		case c.Ref != ref:
		case c.State == weir.Done:
			return 0, weir.Errorf(weir.CodeConflict, "done")
		case c.State.InFlight():
			c.CancelRequested = true
			return c.State, nil
		default:
			c.State, c.Outcome, c.FinishedAt = weir.Done, weir.Canceled, m.now()
			return weir.Done, nil
		}
	}
	return 0, notFound()
}

func (m *memory) WaitReasons(_ context.Context, _ weir.Channel, contacts []weir.Contact) ([]operators.Why, error) {
	return make([]operators.Why, len(contacts)), nil
}

func (m *memory) FiguresOf(ctx context.Context, list []weir.Channel) ([]operators.Figures, error) {
	out := make([]operators.Figures, len(list))
	for i, ch := range list {
		var err error
		if out[i], err = m.Figures(ctx, ch); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *memory) CurrentMinutes() []operators.Minute {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.current)
}

func (m *memory) Changed(_ context.Context, id weir.ChannelID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = append(m.changed, id)
}

func (m *memory) Delete(ctx context.Context, id weir.ChannelID) (bool, error) {
	if m.deleting {
		return false, nil
	}
	m.mu.Lock()
	for i := range m.contacts {
		if m.contacts[i].Channel == id {
			m.contacts[i].State, m.contacts[i].Outcome = weir.Done, weir.Canceled
		}
	}
	m.mu.Unlock()
	return true, m.DeleteChannel(ctx, id)
}

func (m *memory) Figures(_ context.Context, ch weir.Channel) (operators.Figures, error) {
	end, err := m.begin(false)
	if err != nil {
		return operators.Figures{}, err
	}
	defer end()
	f := operators.Figures{Health: weir.Up}
	if ch.Paused {
		f.Health = weir.Paused
	}
	for i := range m.contacts {
		c := &m.contacts[i]
		if c.Channel == ch.ID && c.State.Waiting() {
			f.Queued++
			f.OldestQueuedAt = c.QueuedAt
		}
		if c.Channel == ch.ID && c.State == weir.Active {
			f.Active++
			f.InFlight += c.Size()
		}
	}
	return f, nil
}

// hanging is a store that does not respond.
type hanging struct{ web.Store }

func (*hanging) Contacts(ctx context.Context, _ weir.ContactFilter) ([]weir.Contact, string, error) {
	<-ctx.Done()
	return nil, "", ctx.Err()
}

func (*hanging) Ready(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (m *memory) OptedOut(weir.ChannelID, string) {}
