package webtest

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

// Memory is a store and a minimal broker over it. It counts every write.
type Memory struct {
	mu             sync.Mutex
	StoredChannels []weir.Channel
	StoredContacts []weir.Contact
	Ended          map[weir.Ref][]weir.Attempt
	Incoming       map[weir.ChannelID][]weir.Incoming
	Reports        []weir.Report
	Announced      []weir.Contact
	ChangesSeen    []weir.ChannelID
	Writes         int
	Lookups        int // of callback channels
	Conflicts      int // remaining updates that fail with a version conflict
	Deleting       bool
	Down           error
	now            func() time.Time
	Current        []operators.Minute
}

var ErrDown = &weir.Error{Code: weir.CodeUnavailable, Message: "the store is not reachable", Cause: errors.New("dial tcp CANARY-cause")}

func (m *Memory) begin(write bool) (func(), error) {
	m.mu.Lock()
	if m.Down != nil {
		err := m.Down
		m.mu.Unlock()
		return nil, err
	}
	if write {
		m.Writes++
	}
	return m.mu.Unlock, nil
}

func notFound() error { return weir.Errorf(weir.CodeNotFound, "not found") }

func (m *Memory) find(f func(*weir.Channel) bool) (*weir.Channel, error) {
	for i := range m.StoredChannels {
		if f(&m.StoredChannels[i]) {
			return &m.StoredChannels[i], nil
		}
	}
	return nil, notFound()
}

func named(name string) func(*weir.Channel) bool {
	return func(c *weir.Channel) bool { return c.Name == name && !c.Deleted }
}

func (m *Memory) PutChannel(_ context.Context, c weir.Channel) (weir.Channel, bool, error) {
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
	c.ID = weir.ChannelID(len(m.StoredChannels) + 1)
	c.Secret, c.Version, c.Created, c.Updated = fmt.Sprintf("%s-%d", SecretCanary, c.ID), 1, m.now(), m.now()
	m.StoredChannels = append(m.StoredChannels, c)
	return c, true, nil
}

func (m *Memory) UpdateChannel(_ context.Context, c weir.Channel) (weir.Channel, error) {
	end, err := m.begin(false)
	if err != nil {
		return c, err
	}
	defer end()
	have, err := m.find(func(h *weir.Channel) bool { return h.ID == c.ID })
	if err != nil {
		return c, err
	}
	if m.Conflicts > 0 {
		m.Conflicts--
		have.Version++
		have.Title = fmt.Sprintf("changed concurrently %d", have.Version)
	}
	if have.Version != c.Version {
		return c, weir.Errorf(weir.CodeConflict, "another version")
	}
	m.Writes++
	c.Version++
	*have = c
	return c, nil
}

func (m *Memory) Channel(_ context.Context, name string) (weir.Channel, error) {
	return m.one(named(name))
}

func (m *Memory) ChannelByID(_ context.Context, id weir.ChannelID) (weir.Channel, error) {
	return m.one(func(c *weir.Channel) bool { return c.ID == id })
}

func (m *Memory) one(f func(*weir.Channel) bool) (weir.Channel, error) {
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

func (m *Memory) Channels(_ context.Context, after string, limit int) ([]weir.Channel, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	var list []weir.Channel
	for _, c := range m.StoredChannels {
		if !c.Deleted && c.Name > after {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b weir.Channel) int { return cmp.Compare(a.Name, b.Name) })
	return list[:min(limit, len(list))], nil
}

func (m *Memory) CallbackChannels(_ context.Context, name string) ([]weir.Channel, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	m.Lookups++
	var list []weir.Channel
	for _, c := range m.StoredChannels {
		if c.Name == name {
			list = append(list, c)
		}
	}
	return list, nil
}

func (m *Memory) DeleteChannel(_ context.Context, id weir.ChannelID) error {
	end, err := m.begin(false)
	if err != nil {
		return err
	}
	defer end()
	for i := range m.StoredContacts {
		if m.StoredContacts[i].Channel == id && m.StoredContacts[i].State != weir.Done {
			return weir.Errorf(weir.CodeConflict, "open contacts")
		}
	}
	m.Writes++
	c, err := m.find(func(c *weir.Channel) bool { return c.ID == id })
	if err == nil {
		c.Deleted = true
	}
	return err
}

func (m *Memory) OpenChannels(context.Context) ([]weir.ChannelID, error) { return nil, nil }

func (m *Memory) Contact(_ context.Context, ref weir.Ref) (weir.Contact, []weir.Attempt, error) {
	end, err := m.begin(false)
	if err != nil {
		return weir.Contact{}, nil, err
	}
	defer end()
	for _, c := range m.StoredContacts {
		if c.Ref == ref {
			return c, m.Ended[ref], nil
		}
	}
	return weir.Contact{}, nil, notFound()
}

func (m *Memory) Contacts(_ context.Context, f weir.ContactFilter) ([]weir.Contact, string, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, "", err
	}
	defer end()
	var list []weir.Contact
	for _, c := range m.StoredContacts {
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

func (m *Memory) Receive(_ context.Context, id weir.ChannelID, in weir.Incoming) (bool, error) {
	end, err := m.begin(true)
	if err != nil {
		return false, err
	}
	defer end()
	for _, have := range m.Incoming[id] {
		if have.GUID == in.GUID && have.From == in.From && have.Body == in.Body {
			return true, nil
		}
	}
	in.ID = int64(len(m.Incoming[id]) + 1)
	m.Incoming[id] = append(m.Incoming[id], in)
	return false, nil
}

func (m *Memory) ReceivedAt(_ context.Context, id weir.ChannelID, in weir.Incoming) (time.Time, error) {
	end, err := m.begin(false)
	if err != nil {
		return time.Time{}, err
	}
	defer end()
	for _, have := range m.Incoming[id] {
		if have.GUID == in.GUID && have.From == in.From && have.Body == in.Body {
			return have.ReceivedAt, nil
		}
	}
	return time.Time{}, weir.Errorf(weir.CodeNotFound, "no message")
}

func (m *Memory) Announce(_ weir.ChannelID, fresh []weir.Contact) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Announced = append(m.Announced, fresh...)
}

func (m *Memory) IncomingSince(_ context.Context, id weir.ChannelID, after int64, limit int) ([]weir.Incoming, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	list := m.Incoming[id]
	list = list[min(int(after), len(list)):]
	return list[:min(limit, len(list))], nil
}

func (m *Memory) ContactsTo(_ context.Context, to []string, before weir.ContactID, limit int) (weir.AddressPage, error) {
	end, err := m.begin(false)
	if err != nil {
		return weir.AddressPage{}, err
	}
	defer end()
	var page weir.AddressPage
	for _, c := range slices.Backward(m.StoredContacts) {
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

func (m *Memory) IncomingFrom(_ context.Context, from []string, before int64, limit int) ([]weir.Received, error) {
	end, err := m.begin(false)
	if err != nil {
		return nil, err
	}
	defer end()
	var list []weir.Received
	for channel, messages := range m.Incoming {
		for _, in := range messages {
			if slices.Contains(from, in.From) && (before == 0 || in.ID < before) {
				list = append(list, weir.Received{Channel: channel, Incoming: in})
			}
		}
	}
	slices.SortFunc(list, func(a, b weir.Received) int { return cmp.Compare(b.ID, a.ID) })
	return list[:min(limit, len(list))], nil
}

func (m *Memory) Ready(context.Context) error {
	end, err := m.begin(false)
	if err == nil {
		end()
	}
	return err
}

// Methods of the broker.

func (m *Memory) Accept(_ context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
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
			i = slices.IndexFunc(m.StoredContacts, func(c weir.Contact) bool { return c.Channel == ch.ID && c.Key == s.Key })
		}
		if i >= 0 {
			out = append(out, weir.Accepted{Contact: m.StoredContacts[i], Duplicate: true})
			continue
		}
		c := weir.Contact{
			Ref: weir.Ref{Channel: ch.ID, ID: weir.ContactID(len(m.StoredContacts) + 1)}, Spec: s,
			QueuedAt: m.now(), Progress: weir.NewProgress(m.now(), s.NotBefore),
		}
		m.StoredContacts = append(m.StoredContacts, c)
		out = append(out, weir.Accepted{Contact: c})
	}
	return out, nil
}

// CallOff finds nothing in flight.
func (*Memory) CallOff(context.Context, *consent.Withdrawal) int { return 0 }

func (m *Memory) Report(_ context.Context, id weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error) {
	end, err := m.begin(true)
	if err != nil {
		return nil, err
	}
	defer end()
	var out []weir.Verdict
	for _, r := range reports {
		v := weir.Applied
		switch {
		case slices.ContainsFunc(m.Reports, func(have weir.Report) bool { return have.Attempt == r.Attempt }):
			v = weir.Duplicate
		case !slices.ContainsFunc(m.StoredContacts, func(c weir.Contact) bool { return c.Ref == r.Attempt.Ref }):
			v = weir.UnknownAttempt
		}
		m.Reports = append(m.Reports, r)
		out = append(out, v)
	}
	return out, nil
}

func (m *Memory) Cancel(_ context.Context, ref weir.Ref) (weir.State, error) {
	end, err := m.begin(true)
	if err != nil {
		return 0, err
	}
	defer end()
	for i := range m.StoredContacts {
		c := &m.StoredContacts[i]
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

func (m *Memory) WaitReasons(_ context.Context, _ weir.Channel, contacts []weir.Contact) ([]operators.Why, error) {
	return make([]operators.Why, len(contacts)), nil
}

func (m *Memory) FiguresOf(ctx context.Context, list []weir.Channel) ([]operators.Figures, error) {
	out := make([]operators.Figures, len(list))
	for i, ch := range list {
		var err error
		if out[i], err = m.Figures(ctx, ch); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *Memory) CurrentMinutes() []operators.Minute {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.Current)
}

func (m *Memory) Changed(_ context.Context, id weir.ChannelID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ChangesSeen = append(m.ChangesSeen, id)
}

func (m *Memory) Delete(ctx context.Context, id weir.ChannelID) (bool, error) {
	if m.Deleting {
		return false, nil
	}
	m.mu.Lock()
	for i := range m.StoredContacts {
		if m.StoredContacts[i].Channel == id {
			m.StoredContacts[i].State, m.StoredContacts[i].Outcome = weir.Done, weir.Canceled
		}
	}
	m.mu.Unlock()
	return true, m.DeleteChannel(ctx, id)
}

func (m *Memory) Figures(_ context.Context, ch weir.Channel) (operators.Figures, error) {
	end, err := m.begin(false)
	if err != nil {
		return operators.Figures{}, err
	}
	defer end()
	f := operators.Figures{Health: weir.Up}
	if ch.Paused {
		f.Health = weir.Paused
	}
	for i := range m.StoredContacts {
		c := &m.StoredContacts[i]
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

// Hanging is a store that does not respond.
type Hanging struct{ web.Store }

func (*Hanging) Contacts(ctx context.Context, _ weir.ContactFilter) ([]weir.Contact, string, error) {
	<-ctx.Done()
	return nil, "", ctx.Err()
}

func (*Hanging) Ready(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (m *Memory) OptedOut(weir.ChannelID, string) {}

func (m *Memory) Requeue(context.Context, weir.ChannelID, []weir.ContactID, string) (operators.Requeued, error) {
	return operators.Requeued{}, nil
}

// Direct is a broker that only stores.
type Direct struct {
	*Memory
	Store weir.Accepter
}

func (d Direct) Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
	return d.Store.Accept(ctx, ch.ID, specs)
}
