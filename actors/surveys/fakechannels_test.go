package surveys_test

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"weir"
	"weir/channels"
	"weir/operators"
	"weir/surveys"
)

// contactResult describes how a contact ends at the provider.
type contactResult struct {
	duration     time.Duration
	outcome      weir.Outcome
	acceptedLost bool // the outbox entry of its acceptance is lost
	endLost      bool // the outbox entry of its end is lost
	twice        bool // outbox entries are written twice
	message      string
	messageAt    time.Duration // after the provider accepted it
	reports      surveys.Disposition
	reportAt     time.Duration
}

// fakeChannels is a fake of the channels' brokers and their providers, on a store.
// Timers drive it; only Cancel on a hung channel blocks.
type fakeChannels struct {
	*fakeStore
	resultOf        func(weir.Contact) contactResult
	onDispatch      func(weir.Contact) // with the lock held
	onConversation  func(weir.Contact, contactResult)
	inFlight        map[weir.ChannelID]int
	cancelFails     map[weir.ChannelID]bool // contacts cannot be canceled
	cancelHangs     map[weir.ChannelID]bool // Cancel blocks until its context ends
	status          map[weir.ChannelID]channels.Status
	prepareError    map[weir.ChannelID]error
	announced       int
	replies         []weir.Spec
	maxInFlight     map[weir.ChannelID]int // max ever in flight
	scheduled       map[weir.Ref]time.Time
	onEnd           func(weir.Contact)
	crashed         atomic.Bool // the process is dead: its requests have no effect
	dispatchNothing bool        // nothing more is dispatched
}

func newFakeChannels(m *fakeStore, f func(weir.Contact) contactResult) *fakeChannels {
	return &fakeChannels{
		fakeStore: m, resultOf: f, inFlight: map[weir.ChannelID]int{}, cancelFails: map[weir.ChannelID]bool{}, status: map[weir.ChannelID]channels.Status{},
		onDispatch: func(weir.Contact) {}, onEnd: func(weir.Contact) {}, onConversation: func(weir.Contact, contactResult) {}, maxInFlight: map[weir.ChannelID]int{}, scheduled: map[weir.Ref]time.Time{},
	}
}

func (l *fakeChannels) Type(name string) (*channels.Type, bool) {
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

func (l *fakeChannels) WaitReasons(_ context.Context, _ weir.Channel, contacts []weir.Contact) ([]operators.Why, error) {
	return make([]operators.Why, len(contacts)), nil
}

func (l *fakeChannels) Figures(_ context.Context, ch weir.Channel) (operators.Figures, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return operators.Figures{InFlight: l.inFlight[ch.ID], Queued: int64(len(l.waiting[ch.ID])), Health: weir.Up}, nil
}

func (l *fakeChannels) Status(_ context.Context, ch weir.Channel) channels.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.status[ch.ID]; ok {
		return s
	}
	return channels.Status{Health: weir.Up}
}

func (l *fakeChannels) Prepare(_ context.Context, ch weir.Channel) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.prepareError[ch.ID]
}

func (l *fakeChannels) Accept(_ context.Context, ch weir.Channel, specs []weir.Spec) (out []weir.Accepted, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range specs {
		c, known := l.enqueue(ch.ID, s)
		if !known {
			l.replies = append(l.replies, s)
		}
		out = append(out, weir.Accepted{Contact: c, Duplicate: known})
	}
	l.dispatchReady(ch.ID)
	return out, nil
}

func (l *fakeChannels) AcceptWith(id weir.ChannelID, _ []weir.Spec, stored weir.Acceptance) error {
	stored.Submit(weir.Claims{})
	list, err := stored.Wait()
	if len(list) > 0 {
		l.Announce(id, nil)
	}
	return err
}

func (l *fakeChannels) Announce(id weir.ChannelID, _ []weir.Contact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.crashed.Load() {
		l.announced++
		l.dispatchReady(id)
	}
}

// dispatchAll dispatches contacts that were not announced.
func (l *fakeChannels) dispatchAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.channels {
		l.dispatchReady(id)
	}
}

func (l *fakeChannels) Cancel(ctx context.Context, ref weir.Ref) (weir.State, error) {
	l.mu.Lock()
	hung := l.cancelHangs[ref.Channel]
	l.mu.Unlock()
	if hung {
		<-ctx.Done()
		return 0, &weir.Error{Code: weir.CodeUnavailable, Message: "hung", Cause: ctx.Err()}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.contacts[ref]
	switch {
	case l.cancelFails[ref.Channel] || l.crashed.Load():
		return 0, &weir.Error{Code: weir.CodeUnavailable, Message: "stuck"}
	case c == nil:
		return 0, notFound("contact")
	case c.State.Waiting():
		l.finish(c, weir.Canceled, contactResult{})
	}
	return c.State, nil
}

// dispatchReady dispatches what a channel has room for. The caller holds the lock.
func (l *fakeChannels) dispatchReady(id weir.ChannelID) {
	ch, now := l.channels[id], time.Now()
	for _, c := range slices.Clone(l.waiting[id]) {
		switch {
		case !c.NotAfter.IsZero() && !now.Before(c.NotAfter):
			l.finish(c, weir.Expired, contactResult{})
		case c.NotBefore.After(now):
			l.scheduleDispatch(c, c.NotBefore)
		case l.inFlight[id]+c.Size() <= ch.Capacity && !ch.Paused && !l.dispatchNothing:
			l.dispatch(c)
		case !c.NotAfter.IsZero():
			l.scheduleDispatch(c, c.NotAfter)
		}
	}
}

// scheduleDispatch calls pump again at a contact's instant.
func (l *fakeChannels) scheduleDispatch(c *weir.Contact, at time.Time) {
	if l.scheduled[c.Ref] != at {
		l.scheduled[c.Ref] = at
		time.AfterFunc(time.Until(at), func() { l.dispatchChannel(c.Channel) })
	}
}

func (l *fakeChannels) dispatchChannel(id weir.ChannelID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispatchReady(id)
}

func (l *fakeChannels) dispatch(c *weir.Contact) {
	l.onDispatch(*c)
	id := c.Channel
	l.waiting[id] = slices.DeleteFunc(l.waiting[id], func(o *weir.Contact) bool { return o == c })
	l.inFlight[id] += c.Size()
	l.maxInFlight[id] = max(l.maxInFlight[id], l.inFlight[id])
	c.State, c.ClaimedAt, c.SentAt, c.Attempt = weir.Active, time.Now(), time.Now(), c.Attempt+1
	f := l.resultOf(*c)
	l.addContactEntry(c, surveys.ContactAccepted, f.acceptedLost, f)
	time.AfterFunc(f.duration, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.inFlight[id] -= c.Size()
		l.finish(c, f.outcome, f)
		l.dispatchReady(id)
	})
	if f.message != "" || f.reports != "" {
		l.onConversation(*c, f)
	}
}

// addContactEntry stores an outbox entry of a contact.
func (l *fakeChannels) addContactEntry(c *weir.Contact, kind surveys.OutboxKind, lost bool, f contactResult) {
	reply := c.Owner.Serial == 0
	if c.Owner == (weir.Owner{}) || lost || reply && kind == surveys.ContactEnded {
		return
	}
	n := surveys.OutboxEntry{Kind: kind, At: time.Now(), Channel: c.Channel, Owner: c.Owner, Contact: c.Ref, Outcome: c.Outcome, Messages: c.AcceptedMessages()}
	if n.Turn = surveys.TurnOf(c); n.Turn != 0 {
		n.Claimed = c.ClaimedAt
	}
	l.addEntry(n)
	if f.twice && !reply {
		l.addEntry(n)
	}
}

func (l *fakeChannels) finish(c *weir.Contact, o weir.Outcome, f contactResult) {
	l.waiting[c.Channel] = slices.DeleteFunc(l.waiting[c.Channel], func(o *weir.Contact) bool { return o == c })
	c.State, c.Outcome, c.FinishedAt = weir.Done, o, time.Now()
	l.onEnd(*c)
	l.addContactEntry(c, surveys.ContactEnded, f.endLost, f)
}

// receiveMessage makes a respondent send a message to a channel.
func (l *fakeChannels) receiveMessage(id weir.ChannelID, phone, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addEntry(surveys.OutboxEntry{Kind: surveys.MessageReceived, At: time.Now(), Channel: id, Message: weir.Incoming{
		From: phone, Body: text, GUID: "m", ReceivedAt: time.Now(),
	}})
}
