package scenarios_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/channels"
)

// lab is a provider that behaves as a test specifies, and keeps its own count of
// what it has in flight. By default it accepts everything and reports nothing.
type lab struct {
	t testing.TB

	mu       sync.Mutex
	sends    []labAttempt         // every call of Send, in order
	taken    []string             // keys of accepted contacts, in order
	inFlight map[string]int       // slots at the provider, by channel
	held     map[string]int       // calls of Send that have not returned, by channel
	most     map[string]int       // peak of inFlight, by channel
	open     map[string]labFlight // by attempt id
	early    map[string][]string  // parts that ended before the attempt was accepted, by attempt id
	limit    map[string]int       // capacity of each channel, as the API last answered it
	latest   map[weir.Ref]string  // by contact: the attempt that the lab accepted last
	breaches []string             // of Weir's invariants
	repeats  bool                 // a contact may be sent while an attempt of it is in flight (at_least_once)
	asked    []string             // keys of the contacts that Weir asked about, in order
	canceled []string
	prepared map[string]int    // number of Prepare calls, by channel
	address  map[string]string // of each channel's callbacks
	sick     map[string]channels.Status
	unready  map[string]error // of channels that cannot be prepared

	// Behaviors; nil: the default.
	onSend    func(ctx context.Context, a labAttempt) channels.SendResult
	onAsk     func(ctx context.Context, a labAttempt) channels.Answer
	onCancel  func(ctx context.Context, a labAttempt) channels.Cancellation
	onStatus  func() channels.Status
	onPrepare func() error
	lost      chan struct{} // closed when the callers' process has crashed
}

// labAttempt is one attempt as the driver received it.
type labAttempt struct {
	id       string
	key      string // the first message, or the callback URL of a call
	channel  string
	callback string // path of the channel's callbacks
	to       string
	survey   string
	at       time.Time
	parts    int
	ref      weir.AttemptRef
}

type labFlight struct {
	channel string
	open    map[string]bool // parts
}

func newLab(t testing.TB) *lab {
	l := &lab{
		t: t, inFlight: map[string]int{}, held: map[string]int{}, most: map[string]int{}, open: map[string]labFlight{}, early: map[string][]string{}, lost: make(chan struct{}),
		limit: map[string]int{}, latest: map[weir.Ref]string{}, address: map[string]string{},
		prepared: map[string]int{}, sick: map[string]channels.Status{}, unready: map[string]error{},
	}
	t.Cleanup(l.judge)
	return l
}

// judge fails the test if Weir violated an invariant at any time: in no scenario
// may it have more in flight than the capacity, or contact a person a second time
// while the first attempt is in flight.
func (l *lab) judge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.breaches {
		l.t.Error(b)
	}
}

func (l *lab) breach(format string, args ...any) {
	l.breaches = append(l.breaches, fmt.Sprintf(format, args...))
}

// promise records the capacity that a request gives a channel. During the request
// the limit is the larger of the old and the new capacity. Tests lower a capacity
// only while no dispatch is under way.
func (l *lab) promise(method, path string, send func() answer) answer {
	name, ok := strings.CutPrefix(path, "/v1/channels/")
	if !ok || method != "PUT" && method != "PATCH" {
		return send()
	}
	l.mu.Lock()
	old, had := l.limit[name]
	delete(l.limit, name)
	l.mu.Unlock()
	a := send()
	l.mu.Lock()
	defer l.mu.Unlock()
	capacity, changed := a.Body["capacity"].(float64)
	switch {
	case changed:
		l.limit[name] = int(capacity)
	case had:
		l.limit[name] = old
	}
	if most := max(old, int(capacity)); l.inFlight[name] > most {
		l.breach("%d in flight on %s while its capacity went from %d to %d", l.inFlight[name], name, old, int(capacity))
	}
	return a
}

// Type returns a channel type whose driver is the lab.
func (l *lab) Type(name string, content channels.Content) channels.Type {
	return channels.Type{
		Name: name, Content: content, Summary: "a provider for tests",
		Settings: []channels.Setting{{Key: "note", Kind: channels.String, Help: "anything"}},
		New: func(c channels.Config) (channels.Driver, error) {
			path := strings.TrimPrefix(c.CallbackURL, "http://weir.test")
			name := strings.Split(path, "/")[2]
			l.behave(func(l *lab) { l.address[name] = path })
			return &labDriver{l, name, path}, nil
		},
	}
}

type labDriver struct {
	*lab
	channel  string
	callback string
}

func (d *labDriver) told(a channels.Attempt) labAttempt {
	la := labAttempt{
		id: a.ID.String(), ref: a.ID, channel: d.channel, callback: d.callback, parts: max(1, len(a.Messages)),
		to: a.To, survey: a.Survey, at: time.Now(),
	}
	if a.Call != nil {
		la.key = a.Call.CallbackURL
	} else {
		la.key = a.Messages[0]
	}
	return la
}

// Send implements channels.Driver. By default the attempt is in flight from the
// instant at which a test can see that it was sent, so that the test may end it
// at once.
func (d *labDriver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	la := d.told(a)
	d.mu.Lock()
	d.sends = append(d.sends, la)
	act := d.onSend
	if act == nil {
		defer d.mu.Unlock()
		return d.accept(la)
	}
	d.held[d.channel]++
	d.mu.Unlock()
	defer d.behave(func(l *lab) { l.held[d.channel]-- })
	return act(ctx, la)
}

// take makes the provider accept an attempt.
func (l *lab) take(a labAttempt) channels.SendResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.accept(a)
}

// accept is take for callers that hold mu.
func (l *lab) accept(a labAttempt) channels.SendResult {
	f := labFlight{a.channel, map[string]bool{}}
	for i := range a.parts {
		f.open[strconv.Itoa(i)] = true
	}
	if _, twice := l.open[a.id]; twice {
		l.breach("attempt %s was dispatched twice", a.id)
	}
	for _, open := range l.open[l.latest[a.ref.Ref]].open {
		if open && !l.repeats {
			l.breach("contact %s was dispatched as %s while %s was in flight", a.key, a.id, l.latest[a.ref.Ref])
			break
		}
	}
	l.open[a.id], l.latest[a.ref.Ref] = f, a.id
	l.taken = append(l.taken, a.key)
	l.inFlight[a.channel] += a.parts
	for _, part := range l.early[a.id] {
		l.close(a.id, part)
	}
	delete(l.early, a.id)
	if limit, known := l.limit[a.channel]; known && l.inFlight[a.channel] > limit {
		l.breach("%d in flight on %s, whose capacity is %d, when %s was taken: %v", l.inFlight[a.channel], a.channel, limit, a.id, l.out(a.channel))
	}
	l.most[a.channel] = max(l.most[a.channel], l.inFlight[a.channel])
	return channels.SendResult{Status: channels.Accepted, ProviderRef: "ref-" + a.id}
}

// end records that a part of an attempt, or all of it, has ended at the provider.
// An attempt that was sent and not yet accepted ends when it is accepted: with its
// own onSend, a test may report an end between the two. For an attempt that was
// never sent, end does nothing.
func (l *lab) end(a labAttempt, part, outcome string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if outcome == "" {
		return
	}
	if _, taken := l.open[a.id]; taken {
		l.close(a.id, part)
	} else if slices.ContainsFunc(l.sends, func(s labAttempt) bool { return s.id == a.id }) {
		l.early[a.id] = append(l.early[a.id], part)
	}
}

// close ends a part of an accepted attempt, or all of it.
func (l *lab) close(id, part string) {
	f := l.open[id]
	for p := range f.open {
		if f.open[p] && (part == "all" || part == p) {
			f.open[p] = false
			l.inFlight[f.channel]--
		}
	}
}

// out lists a few of the attempts that a channel has at the provider.
func (l *lab) out(channel string) []string {
	var ids []string
	for id, f := range l.open {
		for _, open := range f.open {
			if open && f.channel == channel && len(ids) < 10 {
				ids = append(ids, id)
				break
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// Query implements channels.Driver. By default the contact is still in progress at
// the provider.
func (d *labDriver) Query(ctx context.Context, a channels.Attempt) channels.Answer {
	la := d.told(a)
	d.mu.Lock()
	d.asked = append(d.asked, la.key)
	act := d.onAsk
	_, has := d.open[la.id]
	d.mu.Unlock()
	switch {
	case act != nil:
		return act(ctx, la)
	case has:
		return channels.Answer{Status: channels.Underway, ProviderRef: "ref-" + la.id}
	default:
		return channels.Answer{Status: channels.Absent}
	}
}

// Cancel implements channels.Driver. By default it succeeds.
func (d *labDriver) Cancel(ctx context.Context, a channels.Attempt) channels.Cancellation {
	la := d.told(a)
	d.mu.Lock()
	d.canceled = append(d.canceled, la.key)
	act := d.onCancel
	d.mu.Unlock()
	if act != nil {
		return act(ctx, la)
	}
	d.end(la, "all", "canceled")
	return channels.Cancellation{Canceled: true}
}

// Read implements channels.Driver: report/{attempt}?part=&outcome=. With
// whichever=1 the report is about the current attempt, as Nuntium's acks are.
func (d *labDriver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	kind, id, _ := strings.Cut(c.Path, "/")
	if kind == "incoming" {
		return channels.CallbackResult{Incoming: []weir.Incoming{{From: c.Query.Get("from"), Body: c.Query.Get("body"), GUID: c.Query.Get("guid"), ReceivedAt: c.At}}}, nil
	}
	if kind != "report" {
		return channels.CallbackResult{}, fmt.Errorf("no such callback")
	}
	ref, err := weir.ParseAttemptRef(id)
	if err != nil {
		return channels.CallbackResult{}, nil //nolint:nilerr // not one of Weir's: a driver says nothing of it
	}
	if c.Query.Has("whichever") {
		ref.Number = 0
	}
	r := weir.Report{Attempt: ref, Part: weir.WholeContact, Outcome: weir.Outcome(c.Query.Get("outcome")), Reason: c.Query.Get("reason"), Answered: c.Query.Has("answered"), At: c.At}
	if p, err := strconv.Atoi(c.Query.Get("part")); err == nil {
		r.Part = p
	}
	return channels.CallbackResult{Reports: []weir.Report{r}}, nil
}

// Prepare implements channels.Driver.
func (d *labDriver) Prepare(context.Context) error {
	d.mu.Lock()
	d.prepared[d.channel]++
	act, err := d.onPrepare, d.unready[d.channel]
	d.mu.Unlock()
	if err != nil {
		return err
	}
	if act != nil {
		return act()
	}
	return nil
}

// Status implements channels.Driver.
func (d *labDriver) Status(context.Context) channels.Status {
	d.mu.Lock()
	act := d.onStatus
	status, sick := d.sick[d.channel]
	d.mu.Unlock()
	if sick {
		return status
	}
	if act != nil {
		return act()
	}
	return channels.Status{Health: weir.Up}
}

// behave changes the lab under its lock.
func (l *lab) behave(change func(*lab)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// sentKeys lists the keys of the contacts for which Send was called, in order.
func (l *lab) sentKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []string
	for _, s := range l.sends {
		keys = append(keys, s.key)
	}
	return keys
}

// attempt returns the latest attempt of a contact that the lab received.
func (l *lab) attempt(key string) labAttempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range slices.Backward(l.sends) {
		if s.key == key {
			return s
		}
	}
	l.t.Fatalf("contact %s was never sent", key)
	return labAttempt{}
}

// use returns the slots that a channel uses at the provider now, and the most that
// it ever used.
func (l *lab) use(channel string) (now, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight[channel], l.most[channel]
}

// crashed returns a channel that is closed when the callers' process has crashed:
// a held Send returns then, and its result is discarded.
func (l *lab) crashed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *lab) forgetCallers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.lost)
	l.lost = make(chan struct{})
}
