package web_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	consent "weir/people"
	peopleapi "weir/web/people"
)

// consents keeps consents in memory, as the rules say.
type consents struct {
	mu   sync.Mutex
	list []consent.Consent
	err  error

	undecided []consent.Undecided
	decided   map[int64]consent.Decision
	before    []consent.Entry // contacts of everybody
	purposes  map[string]*consent.Purpose
	limits    map[string]*consent.Limit
	prices    map[string]*consent.Tariff
}

func (c *consents) Prices() map[string]*consent.Tariff {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.prices)
}

func (c *consents) PutPrice(_ context.Context, channel string, p *consent.Price) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prices == nil {
		c.prices = map[string]*consent.Tariff{}
	}
	c.prices[channel] = consent.NewTariff(p)
	return c.err
}

func (c *consents) BudgetUse(string) (consent.BudgetUse, bool) { return consent.BudgetUse{}, false }

func (c *consents) SpentFor(context.Context, string, string) (consent.Money, error) { return 0, nil }

func (c *consents) DeletePrice(_ context.Context, channel string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.prices, channel)
	return c.err
}

func (c *consents) Skipped(_ context.Context, f consent.SkippedFilter, _ int) ([]consent.Skipped, error) {
	return []consent.Skipped{{Channel: 1, Rule: consent.RuleConsent, Day: f.To, Suppressed: 3}}, c.err
}

// Spending has two entries, whatever the days.
func (c *consents) Spending(_ context.Context, _, to int, after *consent.Spending, limit int) ([]consent.Spending, error) {
	all := []consent.Spending{
		{Channel: 1, Day: to, Currency: "USD", Amount: 1_500_000}, {Channel: 99, Survey: "flu", Day: to, Currency: "USD", Amount: 7500},
	}
	if after != nil {
		all = all[1:]
	}
	return all[:min(limit, len(all))], c.err
}

func (c *consents) AllConsents(_ context.Context, after int64, limit int) ([]consent.Consent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []consent.Consent
	for _, one := range c.list {
		if one.ID > after && len(out) < limit {
			out = append(out, one)
		}
	}
	return out, c.err
}

func (c *consents) Erase(_ context.Context, address string) (n int, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.list {
		if c.list[i].Address == address {
			c.list[i].Address, c.list[i].Words, c.list[i].Key = "", "", ""
			n++
		}
	}
	return n, c.err
}

func (c *consents) Limits() map[string]*consent.Limit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.limits)
}

func (c *consents) LimitUse() map[string]consent.LimitUse { return nil }

func (c *consents) PutLimit(_ context.Context, name string, l *consent.Limit) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limits == nil {
		c.limits = map[string]*consent.Limit{}
	}
	c.limits[name] = l
	return c.err
}

func (c *consents) DeleteLimit(_ context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.limits, name)
	return c.err
}

func (c *consents) Purposes() map[string]*consent.Purpose {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.purposes)
}

func (c *consents) PutPurpose(_ context.Context, name string, p *consent.Purpose) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.purposes == nil {
		c.purposes = map[string]*consent.Purpose{}
	}
	c.purposes[name] = p
	return c.err
}

func (c *consents) DeletePurpose(_ context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.purposes, name)
	return c.err
}

func (c *consents) RecordConsents(_ context.Context, list []consent.Consent) ([]consent.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	var out []consent.State
	for _, one := range list {
		one.ID = int64(len(c.list) + 1)
		c.list = append(c.list, one)
		out = append(out, c.states(one.Address)...)
	}
	return out, nil
}

func (c *consents) Contacted(context.Context, string, time.Time) ([]consent.Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.before, c.err
}

// Hear records what a message says. It is answered as the rules say, without a memory.
func (c *consents) Hear(ctx context.Context, m *consent.Message) ([]weir.Contact, error) {
	if one, ok := m.Consent(); ok {
		if _, err := c.RecordConsents(ctx, []consent.Consent{one}); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Said == consent.SaidMaybe {
		c.undecided = append(c.undecided, consent.Undecided{ID: int64(len(c.undecided) + 1), Address: m.From, Channel: m.Name, Text: m.Text, Found: m.Found, At: m.At})
	}
	if _, purpose, text := consent.AnswerTo(m, c.purposes); text != "" && c.err == nil {
		return []weir.Contact{{Spec: weir.Spec{To: m.ReplyTo, Purpose: purpose, Messages: []string{text}}}}, nil
	}
	return nil, c.err
}

func (c *consents) Undecided(_ context.Context, after int64, limit int) (list []consent.Undecided, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.undecided {
		if m.ID > after && len(list) < limit && c.decided[m.ID] == "" {
			list = append(list, m)
		}
	}
	return list, c.err
}

func (c *consents) CountUndecided(ctx context.Context, limit int) (int, error) {
	list, err := c.Undecided(ctx, 0, limit)
	return len(list), err
}

func (c *consents) Decide(ctx context.Context, id int64, d consent.Decision, by string) (m consent.Undecided, is consent.State, _ error) {
	c.mu.Lock()
	if id > int64(len(c.undecided)) {
		c.mu.Unlock()
		return m, is, weir.Errorf(weir.CodeNotFound, "there is no such message")
	}
	m = c.undecided[id-1]
	if was := c.decided[id]; was != "" && was != d {
		c.mu.Unlock()
		return m, is, weir.Errorf(weir.CodeConflict, "it is decided already: %s", was)
	}
	if c.decided == nil {
		c.decided = map[int64]consent.Decision{}
	}
	c.decided[id] = d
	c.mu.Unlock()
	if d == consent.DecidedDismissed {
		return m, is, nil
	}
	states, err := c.RecordConsents(ctx, []consent.Consent{{Address: m.Address, Purpose: consent.AllPurposes, Status: consent.Refused, Source: consent.FromOperator, At: m.At, Words: m.Text, By: by}})
	if err != nil {
		return m, is, err
	}
	return m, states[0], nil
}

func (*consents) PurgeUndecided(context.Context, time.Time, int) (int, error) { return 0, nil }

func (c *consents) states(address string) []consent.State {
	var now consent.State
	known := false
	for i := range c.list {
		if c.list[i].Address == address {
			now, known = consent.Next(now, known, &c.list[i]), true
		}
	}
	if !known {
		return nil
	}
	return []consent.State{now}
}

func (c *consents) Consents(_ context.Context, address string, limit int) ([]consent.State, []consent.Consent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []consent.Consent
	for i := len(c.list) - 1; i >= 0 && len(list) < limit; i-- {
		if c.list[i].Address == address {
			list = append(list, c.list[i])
		}
	}
	return c.states(address), list, c.err
}

func TestConsents_AreRecordedAndFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := start.Add(-time.Hour)
	body := `{"consents":[{"key":"k","to":"+1 555 010 0234","status":"refused","at":"` + at.Format(time.RFC3339) + `","words":"no more","source":"import"},{"to":"chat-1","status":"given"}]}`
	got := into[peopleapi.StateList](t, r.do("POST", "/v1/consents", body), 200)
	if len(got.States) != 2 || got.States[0].Status != "refused" || got.States[0].Purpose != "all" || !got.States[0].At.Equal(at) || got.States[1].Status != "given" {
		t.Errorf("%+v", got)
	}
	found := into[peopleapi.PersonConsents](t, r.do("POST", "/v1/consents:search", `{"to":"15550100234"}`), 200)
	want := peopleapi.PersonConsents{
		Refused: true, States: got.States[:1],
		Consents: []peopleapi.ConsentView{{ID: "1", Key: "k", Purpose: "all", Status: "refused", Source: "import", At: at, Words: "no more", By: "configured-2"}},
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if found := into[peopleapi.PersonConsents](t, r.do("POST", "/v1/consents:search", `{"to":"+15550109999"}`), 200); found.Refused || len(found.States)+len(found.Consents) > 0 {
		t.Errorf("of somebody unknown: %+v", found)
	}
	if strings.Contains(r.logs.String(), "0100234") {
		t.Error("a number is in the log")
	}
}

func TestConsents_EveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := r.do("POST", "/v1/consents", `{"consents":[{"to":"","status":"maybe"},{"to":"1","status":"given","at":"`+start.Add(time.Hour).Format(time.RFC3339)+`"},{"status":"given","source":"word"}]}`)
	if g.status != 422 {
		t.Fatalf("%d %s", g.status, g.body)
	}
	for _, pointer := range []string{"/consents/0/to", "/consents/0/status", "/consents/2/to", "/consents/2/source"} {
		if !strings.Contains(g.body, `"`+pointer+`"`) {
			t.Errorf("%s is not named: %s", pointer, g.body)
		}
	}
	future := r.do("POST", "/v1/consents", `{"consents":[{"to":"1","status":"given","at":"`+start.Add(time.Hour).Format(time.RFC3339)+`"}]}`)
	if future.status != 422 || !strings.Contains(future.body, `"/consents/0/at"`) || len(r.consents.list) > 0 {
		t.Errorf("%d %s", future.status, future.body)
	}
}

// A stop word is recorded before the message is acknowledged: if it cannot be, the provider
// has to send it again.
func TestConsents_StopWordsAreRecordedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	r.consents.err = weir.Errorf(weir.CodeUnavailable, "not now")
	path := callbackPath(ch, "incoming?guid=g&from=%2B15550100234&body=Unsubscribe.")
	if g := r.call("", path, "", ""); g.status != 503 {
		t.Fatalf("%d %s", g.status, g.body)
	}
	r.consents.err = nil
	if g := r.call("", path, "", ""); g.status != 200 {
		t.Fatalf("%d %s", g.status, g.body)
	}
	if g := r.call("", callbackPath(ch, "incoming?guid=h&from=%2B15550100235&body=I+want+to+stop+by"), "", ""); g.status != 200 {
		t.Fatalf("%d %s", g.status, g.body)
	}
	if len(r.consents.list) != 1 {
		t.Fatalf("%+v", r.consents.list)
	}
	want := consent.Consent{ID: 1, Key: r.consents.list[0].Key, Address: "tel:+15550100234", Purpose: "all", Status: consent.Refused, Source: consent.FromWord, At: r.consents.list[0].At, Words: "Unsubscribe.", By: "a"}
	if d := cmp.Diff(want, r.consents.list[0]); d != "" || !strings.HasSuffix(want.Key, ":g") {
		t.Errorf("key %q (-want +got):\n%s", want.Key, d)
	}
}

// Scenario 359: a sender whom a gateway reports without the country code is the person with it, by the region of the
// channel.
func TestConsents_SendersAreKnownByTheRegionOfTheChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	here := r.channel("here", "texts", func(c *weir.Channel) { c.Settings["region"] = "KE" })
	nowhere := r.channel("nowhere", "texts")
	for i, from := range []string{"0722000101", "sms%3A%2F%2F0722000102", "%2B254722000103", "40404"} {
		if g := r.call("", callbackPath(here, fmt.Sprintf("incoming?guid=%d&from=%s&body=STOP", i, from)), "", ""); g.status != 200 {
			t.Fatalf("%d %s", g.status, g.body)
		}
	}
	if g := r.call("", callbackPath(nowhere, "incoming?guid=n&from=0722000104&body=STOP"), "", ""); g.status != 200 {
		t.Fatalf("%d %s", g.status, g.body)
	}
	var got []string
	for _, c := range r.consents.list {
		got = append(got, c.Address)
	}
	want := []string{"tel:+254722000101", "tel:+254722000102", "tel:+254722000103", "other:40404", "other:0722000104"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if from := r.incoming[here.ID][0].From; from != "+254722000101" {
		t.Errorf("the message is from %s", from)
	}
	if g := r.do("POST", "/v1/consents", `{"consents":[{"to":"0722 000 101","status":"refused"}]}`); g.status != 422 || !strings.Contains(g.body, `"/consents/0/to"`) {
		t.Errorf("a number without a country code: %d %s", g.status, g.body)
	}
}

// What is wrong with a limit is reported together, once for each field.
func TestLimits_EveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for body, pointers := range map[string][]string{
		`{"title":7,"channels":["none",8,"none"],"in_flight":0,"per_second":"many"}`: {"/name", "/title", "/channels/0", "/channels/1", "/channels/2", "/in_flight", "/per_second"},
		`{"title":"a"}`: {"/name", "/channels", ""},
	} {
		g := r.do("PUT", "/v1/limits/No!", body)
		if g.status != 422 {
			t.Fatalf("%d %s", g.status, g.body)
		}
		for _, pointer := range pointers {
			if n := strings.Count(g.body, `"pointer":"`+pointer+`"`); n != 1 {
				t.Errorf("%q is named %d times: %s", pointer, n, g.body)
			}
		}
		if n := strings.Count(g.body, `"pointer"`); n != len(pointers) || len(r.consents.limits) > 0 {
			t.Errorf("%d mistakes: %s", n, g.body)
		}
	}
}

// What the schema finds and what the rules contradict is reported together, once for each field.
func TestPurposes_EveryMistakeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := r.do("PUT", "/v1/purposes/No!", `{"title":7,"repeat_guard":"soon","time_zone":"Mars","quiet_hours":{"from":"25:00"},"holidays":[{"date":"2026-02-30"},{"date":"x"}],"caps":[{"max":"many","within":"7d"},{"max":1,"within":"week"},{"within":"1d"}],"exempt_from":["consent"]}`)
	if g.status != 422 {
		t.Fatalf("%d %s", g.status, g.body)
	}
	pointers := []string{"/name", "/title", "/repeat_guard", "/time_zone", "/quiet_hours/from", "/quiet_hours/to", "/holidays/0/date", "/holidays/1/date", "/caps/0/max", "/caps/1/within", "/caps/2/max", "/exempt_reason"}
	for _, pointer := range pointers {
		if n := strings.Count(g.body, `"`+pointer+`"`); n != 1 {
			t.Errorf("%s is named %d times: %s", pointer, n, g.body)
		}
	}
	if n := strings.Count(g.body, `"pointer"`); n != len(pointers) || len(r.consents.purposes) > 0 {
		t.Errorf("%d mistakes: %s", n, g.body)
	}
}
