package people_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/channels"
	"weir/internal/document"
	"weir/internal/polling"
	"weir/limits"
	consent "weir/people"
	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// history is a sequence of batches, with changes of rules and restarts between them.
type history struct {
	Priced, Limited bool  // the first channel has a price; both share a limit
	Rules           []int // of the purposes, as an index of rules; 0: none were set
	Batches         []batch
}

// batch is what one transaction of the writer decides about.
type batch struct {
	Pass   time.Duration // before it
	Events []event
	Then   string // restart, or rotate the keys
}

// String lists the events of a batch.
func (b batch) String() string {
	lines := []string{fmt.Sprintf("\nafter %v:", b.Pass)}
	for _, e := range b.Events {
		lines = append(lines, "  "+e.String())
	}
	return strings.Join(append(lines, "then: "+b.Then), "\n")
}

// String names the fields that count.
func (e event) String() string {
	at := fmt.Sprintf("%s over %s", e.What, channelNames()[e.Channel])
	switch e.What {
	case "accept", "dispatch", "conflict":
		return fmt.Sprintf("%s to %s for %s, text %d, zone %q, reply %v", at, persons()[e.Person], purposeNames()[e.Purpose], e.Text, e.Zone, e.Reply)
	case "say":
		return fmt.Sprintf("%s is %s for %s, by %s, %v ago, listed %v", persons()[e.Person], e.Status, e.Over, e.Source, e.Ago, e.Listed)
	case "rules":
		return fmt.Sprintf("%s has rules %d", purposeNames()[e.Purpose], e.Rules)
	}
	return fmt.Sprintf("%s, contact %d, sent %v", at, e.Pick, e.Sent)
}

// event is one request of a batch. Which fields count depends on what it is.
type event struct {
	What                           string
	Person, Channel, Purpose, Text int
	Zone                           string
	Reply                          bool
	Pick                           int // of the contacts that it may concern
	Sent                           bool
	Status                         consent.Status
	Source                         consent.Source
	Over                           string        // the purpose of a consent
	Ago                            time.Duration // 0: it is said now
	Listed                         bool          // with a key, which counts once for a person
	Rules                          int
}

func channelNames() []string { return []string{"a", "b"} }

func purposeNames() []string { return []string{"p", "q"} }

// persons are a number of three zones, one that its country has changed, and an address that is no
// number, each in two notations.
func persons() []string {
	return []string{"+6281234567890", "+5215512345678", "Chat-1@example.org", "6281234567890", "+525512345678", "chat-1@EXAMPLE.org"}
}

// aPerson draws one of them.
func aPerson(t *rapid.T) int { return rapid.SampledFrom([]int{0, 0, 3, 1, 4, 2, 5}).Draw(t, "person") }

// rules are what a purpose may ask for. No cap counts over more than the time that histories
// are kept for, whatever the rules are.
func rules() []consent.Purpose {
	return []consent.Purpose{
		{},
		{Caps: []consent.Cap{{Max: 1, Within: "1d", Kind: consent.Calendar}}},
		{Caps: []consent.Cap{{Max: 1, Within: "30d"}}},
		{Caps: []consent.Cap{{Max: 3, Within: "30d", Over: consent.OverAll}}},
		{Caps: []consent.Cap{{Max: 2, Within: "3d", Kind: consent.Calendar, Over: consent.OverAll}}, QuietHours: &consent.Hours{From: "21:00", To: "08:00"}},
		{QuietHours: &consent.Hours{From: "12:00", To: "15:00"}},
		{Consent: consent.IfRecorded},
		{RepeatGuard: "1d"},
		{ExemptFrom: []consent.Rule{consent.RuleConsent}, ExemptReason: "floods"},
	}
}

func histories() *rapid.Generator[history] {
	return rapid.Custom(func(t *rapid.T) history {
		return history{
			Priced: rapid.Bool().Draw(t, "priced"), Limited: rapid.IntRange(0, 3).Draw(t, "limited") == 0,
			Rules:   rapid.SliceOfN(rapid.IntRange(0, len(rules())-1), len(purposeNames()), len(purposeNames())).Draw(t, "rules"),
			Batches: rapid.SliceOfN(batches(), 1, 25).Draw(t, "batches"),
		}
	})
}

func batches() *rapid.Generator[batch] {
	return rapid.Custom(func(t *rapid.T) batch {
		return batch{
			Pass:   rapid.SampledFrom([]time.Duration{0, 0, time.Minute, time.Hour, 5 * time.Hour, 11 * time.Hour, 25 * time.Hour, 3 * 24 * time.Hour, 8 * 24 * time.Hour, 15 * 24 * time.Hour}).Draw(t, "pass"),
			Events: rapid.SliceOfN(events(), 1, 7).Draw(t, "events"),
			Then:   rapid.SampledFrom([]string{"", "", "", "restart", "rotate", "rotate"}).Draw(t, "then"),
		}
	})
}

func events() *rapid.Generator[event] {
	return rapid.Custom(func(t *rapid.T) event {
		e := event{
			What: rapid.SampledFrom([]string{
				"accept", "dispatch", "dispatch", "dispatch", "conflict", "claim", "claim", "retract", "end", "opt out", "opt out", "opt out", "back", "say", "say", "say", "say", "rules", "rules", "read", "read", "read",
			}).Draw(t, "what"),
			Channel: rapid.IntRange(0, len(channelNames())-1).Draw(t, "channel"),
		}
		switch e.What {
		case "accept", "dispatch", "conflict":
			e.Person, e.Purpose = aPerson(t), rapid.IntRange(0, len(purposeNames())-1).Draw(t, "purpose")
			e.Text, e.Zone = rapid.IntRange(0, 1).Draw(t, "text"), rapid.SampledFrom([]string{"", "", "", "Pacific/Auckland", "America/Los_Angeles"}).Draw(t, "zone")
			e.Reply = rapid.IntRange(0, 5).Draw(t, "reply") == 0
		case "claim", "retract", "end", "opt out", "back", "read":
			e.Pick, e.Sent = rapid.IntRange(0, 7).Draw(t, "pick"), rapid.Bool().Draw(t, "sent")
		case "say":
			e.Person = aPerson(t)
			e.Status, e.Source = rapid.SampledFrom(consent.Statuses()).Draw(t, "status"), rapid.SampledFrom([]consent.Source{consent.FromWord, consent.FromAPI, consent.FromImport}).Draw(t, "source")
			e.Over = consent.AllPurposes
			if !e.Source.ByPerson() {
				e.Listed = rapid.IntRange(0, 2).Draw(t, "listed") == 0
				e.Over = rapid.SampledFrom([]string{consent.AllPurposes, purposeNames()[0], consent.OverChannel(channelNames()[0])}).Draw(t, "over")
				e.Ago = rapid.SampledFrom([]time.Duration{0, time.Hour, 30 * time.Hour}).Draw(t, "ago")
			}
		case "rules":
			e.Purpose, e.Rules = rapid.IntRange(0, len(purposeNames())-1).Draw(t, "purpose"), rapid.IntRange(0, len(rules())-1).Draw(t, "rules")
		}
		return e
	})
}

// inFlightMost is what the shared limit allows.
const inFlightMost = 3

// model is what a gate has to know. It knows people, not hashes: neither restarts nor keys nor
// purges change it.
type model struct {
	purposes map[string]*consent.Purpose
	states   map[string][]consent.State
	said     map[string]int
	listed   map[string]bool // people of whom a consent with the key is recorded
	entries  map[string][]claimed
	contacts []*contact
	paid     int // contacts over the channel with a price that have cost something
	zones    consent.Zones
}

// claimed is a contact that rules count.
type claimed struct {
	of     *contact
	number int // of the attempt
	at     time.Time
}

// contact is a contact as its broker knows it.
type contact struct {
	weir.Contact
	channel int
	touched bool         // by this batch
	rule    consent.Rule // that is against its claim, in the model
}

func (c *contact) person() string { return consent.Canonical(c.To) }

// say records a consent, and returns the state that is behind it.
func (m *model) say(c consent.Consent, now time.Time) consent.State {
	states := m.states[c.Address]
	i := slices.IndexFunc(states, func(s consent.State) bool { return s.Purpose == c.Purpose })
	if c.Key != "" && m.listed[c.Address] {
		if i < 0 {
			return consent.State{}
		}
		return states[i]
	}
	m.listed[c.Address] = m.listed[c.Address] || c.Key != ""
	c.Follow(states, now)
	m.said[c.Address]++
	if i < 0 {
		i = len(states)
		m.states[c.Address] = append(states, consent.Next(consent.State{}, &c))
	} else {
		states[i] = consent.Next(states[i], &c)
	}
	return m.states[c.Address][i]
}

// verdict returns the rule that is against a claim; empty: none. Of entries it looks at those of the
// person.
func (m *model) verdict(c *contact, entries []claimed, now time.Time) consent.Rule {
	p := m.purposes[c.Purpose]
	refused, by := consent.Decide(m.states[c.person()], c.Purpose, consent.OverChannel(channelNames()[c.channel]))
	switch {
	case refused && len(p.ExemptFrom) == 0:
		return consent.RuleConsent
	case p.Consent == consent.IfRecorded && by.Status != consent.Given:
		return consent.RuleUnrecorded
	case c.Spec.Priority == weir.Reply:
		return ""
	}
	for _, e := range entries {
		if p.RepeatGuard != "" && slices.Equal(e.of.Messages, c.Messages) && e.of != c && now.Sub(e.at) < daysOf(p.RepeatGuard) {
			return consent.RuleRepeat
		}
	}
	return m.waits(c, p, entries, now)
}

// waits returns the rule for which a contact waits at an instant; empty: none.
func (m *model) waits(c *contact, p *consent.Purpose, entries []claimed, at time.Time) consent.Rule {
	zones := m.zones.Of(c.TimeZone, c.person(), time.UTC)
	for i := range p.Caps {
		counted := 0
		for _, e := range entries {
			if (p.Caps[i].Over == consent.OverAll || e.of.Purpose == c.Purpose) && counts(&p.Caps[i], e.at, zones, at) {
				counted++
			}
		}
		if counted >= p.Caps[i].Max {
			return consent.RuleCap
		}
	}
	if h := p.QuietHours; h != nil {
		for _, zone := range zones {
			if minute := at.In(zone).Format("15:04"); h.From < h.To && minute >= h.From && minute < h.To || h.From > h.To && (minute >= h.From || minute < h.To) {
				return consent.RuleHours
			}
		}
	}
	return ""
}

// counts reports whether a cap counts a contact at a later instant. A calendar day counts as long as it is not over
// everywhere that the person may be.
func counts(k *consent.Cap, contacted time.Time, zones []*time.Location, at time.Time) bool {
	if k.Kind != consent.Calendar {
		return contacted.Add(daysOf(k.Within)).After(at)
	}
	return slices.ContainsFunc(zones, func(zone *time.Location) bool {
		return dayIn(zone, at).Sub(dayIn(zone, contacted)) < daysOf(k.Within)
	})
}

func dayIn(zone *time.Location, at time.Time) time.Time {
	y, m, d := at.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func daysOf(text string) time.Duration {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	if err != nil {
		panic(err)
	}
	return time.Duration(n) * 24 * time.Hour
}

// recorded reports whether the history has contacts of a purpose: as long as a rule looks at them.
func (m *model) recorded(name string) bool {
	for of, p := range m.purposes {
		over := slices.ContainsFunc(p.Caps, func(k consent.Cap) bool { return k.Over == consent.OverAll })
		if over || of == name && p.NeedsHistory() {
			return true
		}
	}
	return false
}

// play plays a history, on a store and on the model. Its clock is that of a bubble, or
// the real one, which does not pass.
type play struct {
	*model
	history
	t     *testing.T
	pass  func(time.Duration) // lets the time of a bubble pass; nil: there is none
	db    dialect.Database
	store *persistence.Store
	keys  [][]byte
	ids   []weir.ChannelID
	by    []weir.Incarnation
	used  int // keys of contacts
	found []string
}

// run returns what is wrong.
func run(t *testing.T, url string, pass func(time.Duration), h history) []string {
	t.Helper()
	p := &play{t: t, pass: pass, history: h, model: &model{
		purposes: map[string]*consent.Purpose{}, states: map[string][]consent.State{}, said: map[string]int{}, listed: map[string]bool{}, entries: map[string][]claimed{},
	}}
	p.db = storetest.Kept(t, url)
	p.start()
	defer p.stop()
	if h.Priced {
		p.ok(p.store.PutPrice(t.Context(), channelNames()[0], &limits.Price{Currency: "USD", PerSegment: "1"}))
	}
	if h.Limited {
		p.ok(p.store.PutLimit(t.Context(), "account", &limits.Limit{Channels: channelNames(), InFlight: inFlightMost}, document.Condition{}))
	}
	for i, name := range purposeNames() {
		p.purposes[name] = consent.NoRules()
		if h.Rules[i] > 0 {
			p.purposes[name] = compiledRules(h.Rules[i])
			p.ok(p.store.PutPurpose(t.Context(), name, p.purposes[name], document.Condition{}))
		}
	}
	for _, b := range h.Batches {
		p.batch(b)
		p.look()
		if len(p.found) > 0 {
			return p.found
		}
	}
	return nil
}

func compiledRules(i int) *consent.Purpose {
	out, wrong := rules()[i].Compile()
	if len(wrong) > 0 {
		panic(wrong)
	}
	return out
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (p *play) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) wrong(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// start starts a process on the database, which purges it.
func (p *play) start() {
	p.store = persistence.On(p.db, persistence.Options{})
	ctx := p.t.Context()
	p.ok(p.store.Join(ctx))
	p.ok(p.store.OpenPeople(ctx, p.keys))
	p.ids, p.by = nil, nil
	for _, name := range channelNames() {
		c, _, err := p.store.PutChannel(ctx, weir.Channel{Name: name, Type: "test", Capacity: 100})
		p.ok(err)
		p.ids, p.by = append(p.ids, c.ID), append(p.by, must(p.store.Incarnate(ctx, c.ID))(p.t))
	}
	_, err := p.store.PurgeHistory(ctx, time.Now(), 1000)
	p.ok(err)
}

func (p *play) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p.ok(p.store.Close(ctx))
}

// submitted is a request of a batch: what the model has yet to make of it, and the check of its answer.
type submitted struct {
	accepted *contact // that is claimed as it is accepted
	claims   []*contact
	retracts bool // the claims
	ends     func()
	check    func()
}

func (p *play) batch(b batch) {
	switch {
	case p.pass == nil:
	case b.Pass > time.Hour: // without a process, which would look at its clock every minute
		p.stop()
		p.pass(b.Pass)
		p.start()
	default:
		p.pass(b.Pass)
	}
	held, free := make(chan struct{}), make(chan struct{})
	p.store.Commit(weir.Change{By: p.by[0]}, func(weir.CommitResult) { close(held); <-free })
	<-held
	now := time.Now().UTC().Truncate(time.Microsecond)
	var list []submitted
	for _, c := range p.contacts {
		c.touched = false
	}
	for _, e := range b.Events {
		list = append(list, p.submit(e, now))
	}
	close(free)
	expect := p.claim(list, now)
	for i := range list {
		if list[i].ends != nil {
			list[i].ends()
		}
	}
	for i := range list {
		if list[i].check != nil {
			list[i].check()
		}
	}
	for _, check := range expect {
		check()
	}
	for _, c := range p.contacts {
		c.Contact, _ = must2(p.store.Contact(p.t.Context(), c.Ref))(p.t)
	}
	if b.Then == "" {
		return
	}
	p.stop()
	if b.Then == "rotate" {
		p.keys = append([][]byte{fmt.Appendf(nil, "key %d", len(p.keys))}, p.keys...)
	}
	p.start()
}

func must2[A, B any](a A, b B, err error) func(testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a, b
	}
}

// claim has the model judge the claims of a batch: first what is claimed as it is accepted. It
// returns checks of what is stored.
func (p *play) claim(list []submitted, now time.Time) (checks []func()) {
	flying, taken := 0, 0
	for _, c := range p.contacts {
		if c.State.InFlight() {
			flying++
		}
	}
	added := map[string][]claimed{}
	var gone []*contact // whose claims only the others of the batch see
	judge := func(c *contact, retracts bool) {
		person := c.person()
		entries := slices.Concat(p.entries[person], added[person])
		rule := p.verdict(c, entries, now)
		if rule == "" && p.Limited {
			if flying+taken >= inFlightMost {
				rule = limits.RuleInFlight
			} else {
				taken++
			}
		}
		c.rule = rule
		attempts := c.Attempt
		checks = append(checks, func() { p.checkClaim(c, attempts, retracts, entries, now) })
		if rule != "" {
			return
		}
		reply := c.Spec.Priority == weir.Reply
		if !reply {
			added[person] = append(added[person], claimed{c, c.Attempt + 1, now})
		}
		if retracts || !p.recorded(c.Purpose) {
			gone = append(gone, c)
		}
		if p.Priced && c.channel == 0 && !retracts {
			p.paid++
		}
	}
	for i := range list {
		if list[i].accepted != nil {
			judge(list[i].accepted, false)
		}
	}
	for i := range list {
		for _, c := range list[i].claims {
			judge(c, list[i].retracts)
		}
	}
	for person, some := range added {
		for _, e := range some {
			if !slices.Contains(gone, e.of) {
				p.entries[person] = append(p.entries[person], e)
			}
		}
	}
	return checks
}

// checkClaim checks what became of a claim.
func (p *play) checkClaim(c *contact, attempts int, retracted bool, entries []claimed, now time.Time) {
	got, _ := must2(p.store.Contact(p.t.Context(), c.Ref))(p.t)
	is := fmt.Sprintf("the claim of contact %d to %s for %s at %v is %v %q, %q, and should meet %q", c.ID, c.To, c.Purpose, now, got.State, got.Outcome, got.Receipt.Rule, c.rule)
	switch c.rule {
	case "":
		if want := map[bool]weir.State{false: weir.Sending, true: weir.Queued}[retracted]; got.State != want || got.Receipt.Rule != "" {
			p.wrong("%s", is)
		}
	case limits.RuleInFlight:
		if got.State != weir.Queued || got.Attempt != attempts {
			p.wrong("%s", is)
		}
	case consent.RuleCap, consent.RuleHours:
		if got.State != weir.Delayed || got.Receipt.Rule != string(c.rule) {
			p.wrong("%s", is)
			return
		}
		slack := time.Duration(0)
		if p.pass == nil {
			slack = time.Minute
		}
		purpose := p.purposes[c.Purpose]
		if by := p.waits(c, purpose, entries, got.DueAt.Add(slack)); by != "" && got.DueAt.Before(now.Add(30*24*time.Hour)) {
			p.wrong("%s; it is due at %v, when %s is still against it", is, got.DueAt, by)
		}
		if p.waits(c, purpose, entries, got.DueAt.Add(-slack-time.Microsecond)) == "" {
			p.wrong("%s; it is due at %v, and nothing was against it before", is, got.DueAt)
		}
	default:
		if got.State != weir.Done || got.Outcome != weir.Suppressed || got.Receipt.Rule != string(c.rule) {
			p.wrong("%s", is)
		}
	}
}

// submit submits a request to the writer, which is held.
func (p *play) submit(e event, now time.Time) submitted {
	ctx := p.t.Context()
	switch e.What {
	case "say":
		c := consent.Consent{Address: consent.Canonical(persons()[e.Person]), Purpose: e.Over, Status: e.Status, Source: e.Source}
		if e.Ago > 0 {
			p.used++
			c.At = now.Add(-e.Ago + time.Duration(p.used)*time.Microsecond) // no two at one instant
		}
		if e.Listed {
			c.Key = "list"
		}
		// A list that replaces what the person has given hides it, but not under another key.
		if !c.Source.ByPerson() && slices.ContainsFunc(p.states[c.Address], func(s consent.State) bool {
			return s.Purpose == c.Purpose && s.Source == consent.FromWord && s.Status == consent.Given
		}) {
			return submitted{}
		}
		var got []consent.State
		check := p.later(func() (err error) { got, err = p.store.RecordConsents(ctx, []consent.Consent{c}); return err })
		want := p.say(c, now)
		return submitted{check: func() {
			if check(); got[0].Status != want.Status || got[0].Source != want.Source {
				p.wrong("behind %+v it is %+v, want %+v", c, got[0], want)
			}
		}}
	case "read": // a few of whom the rules know, or all of them
		for more := true; more && e.Pick > 0; e.Pick-- {
			more = must(p.store.ReadPeople(ctx, map[bool]int{false: 1, true: 100}[e.Sent]))(p.t)
		}
		return submitted{}
	case "rules":
		name, to := purposeNames()[e.Purpose], compiledRules(e.Rules)
		check := p.later(func() error { return p.store.PutPurpose(ctx, name, to, document.Condition{}) })
		p.purposes[name] = to
		return submitted{check: check}
	case "accept", "dispatch", "conflict":
		return p.accept(e)
	case "claim", "retract":
		return p.claims(e, now)
	default:
		return p.ends(e, now)
	}
}

// later has the writer do what a caller waits for.
func (p *play) later(do func() error) (check func()) {
	done, waiting := make(chan error, 1), p.store.Waiting()
	go func() { done <- do() }()
	if p.pass != nil {
		synctest.Wait()
	} else {
		polling.Until(time.Minute, time.Millisecond, func() bool { return p.store.Waiting() > waiting })
	}
	return func() { p.ok(<-done) }
}

func (p *play) spec(e event) weir.Spec {
	p.used++
	s := weir.Spec{
		Key: fmt.Sprint("contact ", p.used), To: persons()[e.Person], Priority: weir.Normal, Messages: []string{fmt.Sprint("text ", e.Text)},
		Purpose: purposeNames()[e.Purpose], TimeZone: e.Zone,
	}
	if e.Reply {
		s.Priority = weir.Reply
	}
	return s
}

// accept accepts a contact, which waits or is claimed at once; or one with another that has its
// key, so that the batch begins again without both.
func (p *play) accept(e event) submitted {
	list, claims := []weir.Spec{p.spec(e)}, weir.Claims{}
	if e.What != "accept" {
		claims = weir.Claims{By: p.by[e.Channel], First: 1}
	}
	if e.What == "conflict" {
		other := list[0]
		other.To = persons()[(e.Person+1)%len(persons())]
		list, claims.First = append(list, other), 2
	}
	a := must(p.store.NewAcceptance(p.t.Context(), p.ids[e.Channel], list))(p.t)
	a.Submit(claims)
	if e.What == "conflict" {
		return submitted{check: func() {
			if _, err := a.Wait(); weir.CodeOf(err) != weir.CodeKeyReused {
				p.wrong("one key for two people: %v", err)
			}
		}}
	}
	c := &contact{channel: e.Channel, touched: true}
	c.Spec = list[0]
	made := submitted{check: func() {
		got, err := a.Wait()
		p.ok(err)
		c.Contact = got[0].Contact
		p.contacts = append(p.contacts, c)
	}}
	if e.What == "dispatch" {
		made.accepted = c
	}
	return made
}

// pick picks a contact of a channel that this batch does not concern yet; nil: there is none.
func (p *play) pick(e event, may func(*contact) bool) *contact {
	var list []*contact
	for _, c := range p.contacts {
		if c.channel == e.Channel && !c.touched && may(c) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	c := list[e.Pick%len(list)]
	c.touched = true
	return c
}

// commit commits transitions of one contact, each as a change of its own, and returns a check that
// so many are stale.
func (p *play) commit(c *contact, list ...weir.Transition) func(stale int) {
	done := make(chan weir.CommitResult, len(list))
	for _, tr := range list {
		p.store.Commit(weir.Change{By: p.by[c.channel], Transitions: []weir.Transition{tr}}, func(r weir.CommitResult) { done <- r })
	}
	return func(stale int) {
		for range list {
			r := <-done
			p.ok(r.Err)
			stale -= len(r.Stale)
		}
		if stale != 0 {
			p.wrong("contact %d: of %d transitions %d more should be stale", c.ID, len(list), stale)
		}
	}
}

// next is a transition of a contact to a progress.
func next(c weir.Contact) func(weir.Progress, error) weir.Transition {
	return func(to weir.Progress, err error) weir.Transition {
		if err != nil {
			panic(err)
		}
		tr := weir.Transition{From: c.Rev, Was: c.State, Contact: c}
		tr.Contact.Progress = to
		return tr
	}
}

// claims claims a contact that waits, and retracts it in the same batch if it should.
func (p *play) claims(e event, now time.Time) submitted {
	c := p.pick(e, func(c *contact) bool {
		return c.State == weir.Queued || c.State == weir.Delayed && !c.DueAt.After(now)
	})
	if c == nil {
		return submitted{}
	}
	is := c.Contact
	var list []weir.Transition
	step := func(tr weir.Transition) { list, is = append(list, tr), tr.Contact }
	if is.State == weir.Delayed {
		step(next(is)(is.Ready()))
	}
	step(next(is)(is.Claim(now)))
	if e.What == "retract" {
		step(next(is)(is.Unclaim()))
	}
	check := p.commit(c, list...)
	return submitted{claims: []*contact{c}, retracts: e.What == "retract", check: func() {
		stale := 0
		if e.What == "retract" && c.rule != "" {
			stale = 1
		}
		check(stale)
	}}
}

// ends ends a contact in flight, or gives it back because nothing went out.
func (p *play) ends(e event, now time.Time) submitted {
	c := p.pick(e, func(c *contact) bool {
		return c.State == weir.Sending || e.What != "back" && c.State == weir.Active
	})
	if c == nil {
		return submitted{}
	}
	is := c.Contact
	var list []weir.Transition
	step := func(tr weir.Transition) { list, is = append(list, tr), tr.Contact }
	out := e.Sent || is.State == weir.Active
	switch {
	case e.What == "back" && e.Sent:
		step(next(is)(is.Unclaim()))
		out = false
	case e.What == "back":
		progress, ended, err := is.Requeue(now, time.Time{}, "busy")
		step(next(is)(progress, err))
		list[0].Ended = &ended
	default:
		if e.Sent && is.State == weir.Sending {
			step(next(is)(is.Accept(now, "ref")))
		}
		reason := "busy"
		if e.What == "opt out" {
			reason = channels.OptedOut
		}
		step(next(is)(is.Finish(now, weir.Failed, reason)))
	}
	check, person, number := p.commit(c, list...), c.person(), c.Attempt
	return submitted{check: func() { check(0) }, ends: func() {
		if !out {
			p.entries[person] = slices.DeleteFunc(p.entries[person], func(e claimed) bool { return e.of == c && e.number == number })
			if _, currency := consent.Reserved(c.Receipt); currency != "" {
				p.paid--
			}
		}
		if e.What == "opt out" {
			p.say(consent.Consent{Address: person, Purpose: consent.OverChannel(channelNames()[c.channel]), Status: consent.Refused, Source: consent.FromProvider, At: now}, now)
		}
	}}
}

// look compares what is known of all people.
func (p *play) look() {
	ctx := p.t.Context()
	for _, to := range persons() {
		person := consent.Canonical(to)
		states, list := must2(p.store.Consents(ctx, person, 1000))(p.t)
		if len(list) != p.said[person] {
			p.wrong("%s has %d consents, want %d: %+v", person, len(list), p.said[person], list)
		}
		for _, of := range append([]string{consent.AllPurposes, consent.OverChannel("a"), consent.OverChannel("b")}, purposeNames()...) {
			refused, by := consent.Decide(states, of)
			want, wantBy := consent.Decide(p.states[person], of)
			// What several contacts of one batch say is a microsecond apart, in the order of the contacts.
			if refused != want || by.Status != wantBy.Status || by.Source != wantBy.Source || p.pass != nil && by.At.Sub(wantBy.At).Abs() > time.Millisecond {
				p.wrong("%s for %s: %+v of %+v, want %+v of %+v", person, of, by, states, wantBy, p.states[person])
			}
		}
	}
	var spent limits.Money
	for _, x := range must(p.store.Spending(ctx, 0, weir.DayOf(time.Now()), nil, 1000))(p.t) {
		spent += x.Amount
	}
	if want := fmt.Sprintf("%d.00", p.paid); p.Priced && spent.String() != want {
		p.wrong("spent: %s, want %s", spent, want)
	}
}

// A gate decides by what it knows of people, whatever is decided in one batch with it, is undone, and
// whichever keys, restarts and purges are in between.
func TestGate_DecidesAsItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := histories().Draw(rt, "history")
		var found []string
		synctest.Test(t, func(t *testing.T) { found = run(t, "sqlite://:memory:", time.Sleep, h) })
		for _, text := range found {
			rt.Error(text)
		}
	})
}

// The same on a server, whose clock is the real one.
func TestGate_DecidesAsItsModelOnMySQL(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		h := histories().Example(seed)
		for _, text := range run(t, testmysql.URL(t), nil, h) {
			t.Errorf("seed %d: %s (%+v)", seed, text, h)
		}
	}
}
