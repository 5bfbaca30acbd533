package surveybroker_test

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"weir"
	"weir/channels"
	"weir/ops"
	"weir/surveys"
)

// fate describes how a contact ends at the provider.
type fate struct {
	lasts    time.Duration
	outcome  weir.Outcome
	deaf     bool // the outbox entry of its acceptance is lost
	silent   bool // the outbox entry of its end is lost
	twice    bool // outbox entries are written twice
	says     string
	saysAt   time.Duration // after the provider accepted it
	reports  surveys.Disposition
	reportAt time.Duration
}

// lines is a fake of the channels' brokers and their providers, on a store.
// Timers drive it; only Cancel on a hung channel blocks.
type lines struct {
	*memory
	fate     func(weir.Contact) fate
	handed   func(weir.Contact) // with the lock held
	heard    func(weir.Contact, fate)
	flying   map[weir.ChannelID]int
	stuck    map[weir.ChannelID]bool // contacts cannot be canceled
	hung     map[weir.ChannelID]bool // Cancel blocks until its context ends
	status   map[weir.ChannelID]channels.Status
	unready  map[weir.ChannelID]error
	announce int
	replies  []weir.Spec
	most     map[weir.ChannelID]int // max ever in flight
	armed    map[weir.Ref]time.Time
	over     func(weir.Contact)
	cut      atomic.Bool // the process is dead: its requests have no effect
	idle     bool        // nothing more is dispatched
}

func newLines(m *memory, f func(weir.Contact) fate) *lines {
	return &lines{
		memory: m, fate: f, flying: map[weir.ChannelID]int{}, stuck: map[weir.ChannelID]bool{}, status: map[weir.ChannelID]channels.Status{},
		handed: func(weir.Contact) {}, over: func(weir.Contact) {}, heard: func(weir.Contact, fate) {}, most: map[weir.ChannelID]int{}, armed: map[weir.Ref]time.Time{},
	}
}

func (l *lines) Type(name string) (*channels.Type, bool) {
	switch name {
	case "voice":
		return &channels.Type{Name: name, Content: channels.Voice}, true
	case "text":
		return &channels.Type{Name: name, Content: channels.Text}, true
	case "panic":
		panic("a fault in the rules")
	}
	return nil, false
}

func (l *lines) Whys(_ context.Context, _ weir.Channel, contacts []weir.Contact) ([]ops.Why, error) {
	return make([]ops.Why, len(contacts)), nil
}

func (l *lines) Figures(_ context.Context, ch weir.Channel) (ops.Figures, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ops.Figures{InFlight: l.flying[ch.ID], Queued: int64(len(l.waiting[ch.ID])), Health: weir.Up}, nil
}

func (l *lines) Status(_ context.Context, ch weir.Channel) channels.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.status[ch.ID]; ok {
		return s
	}
	return channels.Status{Health: weir.Up}
}

func (l *lines) Prepare(_ context.Context, ch weir.Channel) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unready[ch.ID]
}

func (l *lines) Accept(_ context.Context, ch weir.Channel, specs []weir.Spec) (out []weir.Accepted, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range specs {
		c, known := l.enqueue(ch.ID, s)
		if !known {
			l.replies = append(l.replies, s)
		}
		out = append(out, weir.Accepted{Contact: c, Duplicate: known})
	}
	l.pump(ch.ID)
	return out, nil
}

func (l *lines) Announce(id weir.ChannelID, _ []weir.Contact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut.Load() {
		l.announce++
		l.pump(id)
	}
}

// sweep dispatches contacts that were not announced.
func (l *lines) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.channels {
		l.pump(id)
	}
}

func (l *lines) Cancel(ctx context.Context, ref weir.Ref) (weir.State, error) {
	l.mu.Lock()
	hung := l.hung[ref.Channel]
	l.mu.Unlock()
	if hung {
		<-ctx.Done()
		return 0, &weir.Error{Code: weir.CodeUnavailable, Message: "hung", Cause: ctx.Err()}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.contacts[ref]
	switch {
	case l.stuck[ref.Channel] || l.cut.Load():
		return 0, &weir.Error{Code: weir.CodeUnavailable, Message: "stuck"}
	case c == nil:
		return 0, gone("contact")
	case c.State.Waiting():
		l.finish(c, weir.Canceled, fate{})
	}
	return c.State, nil
}

// pump dispatches what a channel has room for. The caller holds the lock.
func (l *lines) pump(id weir.ChannelID) {
	ch, now := l.channels[id], time.Now()
	for _, c := range slices.Clone(l.waiting[id]) {
		switch {
		case !c.NotAfter.IsZero() && !now.Before(c.NotAfter):
			l.finish(c, weir.Expired, fate{})
		case c.NotBefore.After(now):
			l.arm(c, c.NotBefore)
		case l.flying[id]+c.Size() <= ch.Capacity && !ch.Paused && !l.idle:
			l.send(c)
		case !c.NotAfter.IsZero():
			l.arm(c, c.NotAfter)
		}
	}
}

// arm calls pump again at a contact's instant.
func (l *lines) arm(c *weir.Contact, at time.Time) {
	if l.armed[c.Ref] != at {
		l.armed[c.Ref] = at
		time.AfterFunc(time.Until(at), func() { l.wake(c.Channel) })
	}
}

func (l *lines) wake(id weir.ChannelID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pump(id)
}

func (l *lines) send(c *weir.Contact) {
	l.handed(*c)
	id := c.Channel
	l.waiting[id] = slices.DeleteFunc(l.waiting[id], func(o *weir.Contact) bool { return o == c })
	l.flying[id] += c.Size()
	l.most[id] = max(l.most[id], l.flying[id])
	c.State, c.SentAt, c.Attempt = weir.Active, time.Now(), c.Attempt+1
	f := l.fate(*c)
	l.hear(c, surveys.ContactAccepted, f.deaf, f)
	time.AfterFunc(f.lasts, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.flying[id] -= c.Size()
		l.finish(c, f.outcome, f)
		l.pump(id)
	})
	if f.says != "" || f.reports != "" {
		l.heard(*c, f)
	}
}

// hear stores an outbox entry of a contact.
func (l *lines) hear(c *weir.Contact, kind surveys.OutboxKind, lost bool, f fate) {
	if c.For == (weir.Respondent{}) || lost {
		return
	}
	n := surveys.OutboxEntry{Kind: kind, At: time.Now(), Channel: c.Channel, Respondent: c.For, Contact: c.Ref, Outcome: c.Outcome}
	l.notice(n)
	if f.twice {
		l.notice(n)
	}
}

func (l *lines) finish(c *weir.Contact, o weir.Outcome, f fate) {
	l.waiting[c.Channel] = slices.DeleteFunc(l.waiting[c.Channel], func(o *weir.Contact) bool { return o == c })
	c.State, c.Outcome, c.FinishedAt = weir.Done, o, time.Now()
	l.over(*c)
	l.hear(c, surveys.ContactEnded, f.silent, f)
}

// say makes a respondent send a message to a channel.
func (l *lines) say(id weir.ChannelID, phone, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notice(surveys.OutboxEntry{Kind: surveys.MessageReceived, At: time.Now(), Channel: id, Message: weir.Incoming{
		From: phone, Body: text, GUID: "m", ReceivedAt: time.Now(),
	}})
}
