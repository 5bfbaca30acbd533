package world

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

// Lab is a provider that behaves as a test specifies, and keeps its own count of
// what it has in flight. By default it accepts everything and reports nothing.
type Lab struct {
	t testing.TB

	Mu       sync.Mutex
	Sends    []LabAttempt         // every call of Send, in order
	taken    []string             // keys of accepted contacts, in order
	InFlight map[string]int       // slots at the provider, by channel
	held     map[string]int       // calls of Send that have not returned, by channel
	most     map[string]int       // peak of inFlight, by channel
	Open     map[string]LabFlight // by attempt id
	early    map[string][]string  // parts that ended before the attempt was accepted, by attempt id
	Limit    map[string]int       // capacity of each channel, as the API last answered it
	latest   map[weir.Ref]string  // by contact: the attempt that the lab accepted last
	Breaches []string             // of Weir's invariants
	Repeats  bool                 // a contact may be sent while an attempt of it is in flight (at_least_once)
	asked    []string             // keys of the contacts that Weir asked about, in order
	canceled []string
	Prepared map[string]int    // number of Prepare calls, by channel
	Address  map[string]string // of each channel's callbacks
	Sick     map[string]channels.Status
	Unready  map[string]error // of channels that cannot be prepared

	// Behaviors; nil: the default.
	OnSend    func(ctx context.Context, a LabAttempt) channels.SendResult
	OnAsk     func(ctx context.Context, a LabAttempt) channels.Answer
	OnCancel  func(ctx context.Context, a LabAttempt) channels.Cancellation
	OnStatus  func() channels.Status
	OnPrepare func() error
	lost      chan struct{} // closed when the callers' process has crashed
}

// LabAttempt is one attempt as the driver received it.
type LabAttempt struct {
	ID       string
	Key      string // the first message, or the callback URL of a call
	Channel  string
	Callback string // path of the channel's callbacks
	To       string
	survey   string
	At       time.Time
	parts    int
	Ref      weir.AttemptRef
}

type LabFlight struct {
	channel string
	open    map[string]bool // parts
}

func NewLab(t testing.TB) *Lab {
	l := &Lab{
		t: t, InFlight: map[string]int{}, held: map[string]int{}, most: map[string]int{}, Open: map[string]LabFlight{}, early: map[string][]string{}, lost: make(chan struct{}),
		Limit: map[string]int{}, latest: map[weir.Ref]string{}, Address: map[string]string{},
		Prepared: map[string]int{}, Sick: map[string]channels.Status{}, Unready: map[string]error{},
	}
	t.Cleanup(l.judge)
	return l
}

// judge fails the test if Weir violated an invariant at any time: in no scenario
// may it have more in flight than the capacity, or contact a person a second time
// while the first attempt is in flight.
func (l *Lab) judge() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, b := range l.Breaches {
		l.t.Error(b)
	}
}

func (l *Lab) breach(format string, args ...any) {
	l.Breaches = append(l.Breaches, fmt.Sprintf(format, args...))
}

// promise records the capacity that a request gives a channel. During the request
// the limit is the larger of the old and the new capacity. Tests lower a capacity
// only while no dispatch is under way.
func (l *Lab) promise(method, path string, send func() Answer) Answer {
	name, ok := strings.CutPrefix(path, "/v1/channels/")
	if !ok || method != "PUT" && method != "PATCH" {
		return send()
	}
	l.Mu.Lock()
	old, had := l.Limit[name]
	delete(l.Limit, name)
	l.Mu.Unlock()
	a := send()
	l.Mu.Lock()
	defer l.Mu.Unlock()
	capacity, changed := a.Body["capacity"].(float64)
	switch {
	case changed:
		l.Limit[name] = int(capacity)
	case had:
		l.Limit[name] = old
	}
	if most := max(old, int(capacity)); l.InFlight[name] > most {
		l.breach("%d in flight on %s while its capacity went from %d to %d", l.InFlight[name], name, old, int(capacity))
	}
	return a
}

// Type returns a channel type whose driver is the lab.
func (l *Lab) Type(name string, content channels.Content) channels.Type {
	return channels.Type{
		Name: name, Content: content, Summary: "a provider for tests",
		Settings:  []channels.Setting{{Key: "note", Kind: channels.String, Help: "anything"}},
		Callbacks: []channels.CallbackPath{{Path: "incoming"}, {Path: "consent"}, {Path: "report/{attempt}"}},
		New: func(c channels.Config) (channels.Driver, error) {
			path := strings.TrimPrefix(c.CallbackURL, "http://weir.test")
			name := strings.Split(path, "/")[2]
			l.Behave(func(l *Lab) { l.Address[name] = path })
			return &LabDriver{l, name, path}, nil
		},
	}
}

type LabDriver struct {
	*Lab
	Channel  string
	callback string
}

func (d *LabDriver) Told(a channels.Attempt) LabAttempt {
	la := LabAttempt{
		ID: a.ID.String(), Ref: a.ID, Channel: d.Channel, Callback: d.callback, parts: max(1, len(a.Messages)),
		To: a.To, survey: a.Survey, At: time.Now(),
	}
	if a.Call != nil {
		la.Key = a.Call.CallbackURL
	} else {
		la.Key = a.Messages[0]
	}
	return la
}

// Send implements channels.Driver. By default the attempt is in flight from the
// instant at which a test can see that it was sent, so that the test may end it
// at once.
func (d *LabDriver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	la := d.Told(a)
	d.Mu.Lock()
	d.Sends = append(d.Sends, la)
	act := d.OnSend
	if act == nil {
		defer d.Mu.Unlock()
		return d.accept(la)
	}
	d.held[d.Channel]++
	d.Mu.Unlock()
	defer d.Behave(func(l *Lab) { l.held[d.Channel]-- })
	return act(ctx, la)
}

// Take makes the provider accept an attempt.
func (l *Lab) Take(a LabAttempt) channels.SendResult {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.accept(a)
}

// accept is take for callers that hold mu.
func (l *Lab) accept(a LabAttempt) channels.SendResult {
	f := LabFlight{a.Channel, map[string]bool{}}
	for i := range a.parts {
		f.open[strconv.Itoa(i)] = true
	}
	if _, twice := l.Open[a.ID]; twice {
		l.breach("attempt %s was dispatched twice", a.ID)
	}
	for _, open := range l.Open[l.latest[a.Ref.Ref]].open {
		if open && !l.Repeats {
			l.breach("contact %s was dispatched as %s while %s was in flight", a.Key, a.ID, l.latest[a.Ref.Ref])
			break
		}
	}
	l.Open[a.ID], l.latest[a.Ref.Ref] = f, a.ID
	l.taken = append(l.taken, a.Key)
	l.InFlight[a.Channel] += a.parts
	for _, part := range l.early[a.ID] {
		l.close(a.ID, part)
	}
	delete(l.early, a.ID)
	if limit, known := l.Limit[a.Channel]; known && l.InFlight[a.Channel] > limit {
		l.breach("%d in flight on %s, whose capacity is %d, when %s was taken: %v", l.InFlight[a.Channel], a.Channel, limit, a.ID, l.out(a.Channel))
	}
	l.most[a.Channel] = max(l.most[a.Channel], l.InFlight[a.Channel])
	return channels.SendResult{Status: channels.Accepted, ProviderRef: "ref-" + a.ID}
}

// End records that a part of an attempt, or all of it, has ended at the provider.
// An attempt that was sent and not yet accepted ends when it is accepted: with its
// own onSend, a test may report an end between the two. For an attempt that was
// never sent, end does nothing.
func (l *Lab) End(a LabAttempt, part, outcome string) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if outcome == "" {
		return
	}
	if _, taken := l.Open[a.ID]; taken {
		l.close(a.ID, part)
	} else if slices.ContainsFunc(l.Sends, func(s LabAttempt) bool { return s.ID == a.ID }) {
		l.early[a.ID] = append(l.early[a.ID], part)
	}
}

// close ends a part of an accepted attempt, or all of it.
func (l *Lab) close(id, part string) {
	f := l.Open[id]
	for p := range f.open {
		if f.open[p] && (part == "all" || part == p) {
			f.open[p] = false
			l.InFlight[f.channel]--
		}
	}
}

// out lists a few of the attempts that a channel has at the provider.
func (l *Lab) out(channel string) []string {
	var ids []string
	for id, f := range l.Open {
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
func (d *LabDriver) Query(ctx context.Context, a channels.Attempt) channels.Answer {
	la := d.Told(a)
	d.Mu.Lock()
	d.asked = append(d.asked, la.Key)
	act := d.OnAsk
	_, has := d.Open[la.ID]
	d.Mu.Unlock()
	switch {
	case act != nil:
		return act(ctx, la)
	case has:
		return channels.Answer{Status: channels.Underway, ProviderRef: "ref-" + la.ID}
	default:
		return channels.Answer{Status: channels.Absent}
	}
}

// Cancel implements channels.Driver. By default it succeeds.
func (d *LabDriver) Cancel(ctx context.Context, a channels.Attempt) channels.Cancellation {
	la := d.Told(a)
	d.Mu.Lock()
	d.canceled = append(d.canceled, la.Key)
	act := d.OnCancel
	d.Mu.Unlock()
	if act != nil {
		return act(ctx, la)
	}
	d.End(la, "all", "canceled")
	return channels.Cancellation{Canceled: true}
}

// ParseCallback implements channels.Driver: report/{attempt}?part=&outcome=. With
// whichever=1 the report is about the current attempt, as Nuntium's acks are.
func (d *LabDriver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	kind, id, _ := strings.Cut(c.Path, "/")
	if kind == "incoming" {
		return channels.CallbackResult{Incoming: []weir.Incoming{{From: c.Query.Get("from"), Body: c.Query.Get("body"), GUID: c.Query.Get("guid"), ReceivedAt: c.At}}}, nil
	}
	if kind == "consent" {
		return channels.CallbackResult{Consents: []channels.Consent{{Address: c.Query.Get("from"), Refused: c.Query.Get("says") == "refused", ID: c.Query.Get("guid"), At: c.At}}}, nil
	}
	if kind != "report" {
		return channels.CallbackResult{}, channels.ErrPath
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
func (d *LabDriver) Prepare(context.Context) error {
	d.Mu.Lock()
	d.Prepared[d.Channel]++
	act, err := d.OnPrepare, d.Unready[d.Channel]
	d.Mu.Unlock()
	if err != nil {
		return err
	}
	if act != nil {
		return act()
	}
	return nil
}

// Status implements channels.Driver.
func (d *LabDriver) Status(context.Context) channels.Status {
	d.Mu.Lock()
	act := d.OnStatus
	status, sick := d.Sick[d.Channel]
	d.Mu.Unlock()
	if sick {
		return status
	}
	if act != nil {
		return act()
	}
	return channels.Status{Health: weir.Up}
}

// Behave changes the lab under its lock.
func (l *Lab) Behave(change func(*Lab)) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	change(l)
}

// SentKeys lists the keys of the contacts for which Send was called, in order.
func (l *Lab) SentKeys() []string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	var keys []string
	for _, s := range l.Sends {
		keys = append(keys, s.Key)
	}
	return keys
}

// Attempt returns the latest attempt of a contact that the lab received.
func (l *Lab) Attempt(key string) LabAttempt {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for _, s := range slices.Backward(l.Sends) {
		if s.Key == key {
			return s
		}
	}
	l.t.Fatalf("contact %s was never sent", key)
	return LabAttempt{}
}

// Use returns the slots that a channel uses at the provider now, and the most that
// it ever used.
func (l *Lab) Use(channel string) (now, most int) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.InFlight[channel], l.most[channel]
}

// Crashed returns a channel that is closed when the callers' process has crashed:
// a held Send returns then, and its result is discarded.
func (l *Lab) Crashed() <-chan struct{} {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.lost
}

func (l *Lab) forgetCallers() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	close(l.lost)
	l.lost = make(chan struct{})
}

// CanceledKeys lists the contacts that the lab was asked to cancel.
func (l *Lab) CanceledKeys() []string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return append([]string{}, l.canceled...)
}

// CalledBack lists the contacts that the provider was asked to cancel.
func (l *Lab) CalledBack() []string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return slices.Clone(l.canceled)
}

// TakenKeys lists the contacts that the provider accepted, in order.
func (l *Lab) TakenKeys() []string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return slices.Clone(l.taken)
}

// OutKeys lists the contacts that are in flight at the provider now.
func (l *Lab) OutKeys() []string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	var keys []string
	for _, s := range l.Sends {
		for _, open := range l.Open[s.ID].open {
			if open {
				keys = append(keys, s.Key)
				break
			}
		}
	}
	return keys
}

// AskedKeys lists the keys of the contacts that the lab was asked about.
func (l *Lab) AskedKeys() []string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return append([]string{}, l.asked...)
}
