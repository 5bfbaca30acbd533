package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	delivery "weir/actors/events"
	"weir/events"
	"weir/internal/outbound"
	"weir/internal/webhooksign"
	"weir/persistence"
	"weir/persistence/storetest"
)

// hookRig is a store with webhooks, and the receivers of them: each URL is one.
type hookRig struct {
	t     *testing.T
	store *persistence.Store
	o     delivery.Options
	h     delivery.Webhooks

	mu       sync.Mutex
	got      map[string][]hookEvent // delivered, by URL
	tries    map[string][]hookEvent // all
	judge    func(url string, e hookEvent) (status int, after string, err error)
	latency  map[string]time.Duration
	disabled []string
	system   *delivery.System
}

// hookEvent is a request that a receiver got.
type hookEvent struct {
	id, subject, kind string
	n                 int // of the data
	at                time.Time
	header            http.Header
	body              string
}

func newHookRig(t *testing.T) *hookRig {
	t.Helper()
	return hookRigOn(t, storetest.SQLite(t))
}

func hookRigOn(t *testing.T, store *persistence.Store) *hookRig {
	t.Helper()
	g := &hookRig{t: t, store: store, got: map[string][]hookEvent{}, tries: map[string][]hookEvent{}, latency: map[string]time.Duration{}}
	g.h = delivery.Webhooks{Store: g.store, Calls: g, Mask: masked, Disabled: func(id, reason string) { g.disabled = append(g.disabled, id+" "+reason) }}
	g.o = delivery.Options{Store: g.store, Metrics: delivery.NewMetrics(prometheus.NewRegistry()), PollEvery: 30 * time.Second} // as in the daemon
	return g
}

// masked hides the addresses, as the daemon's function does.
func masked(e events.Event) events.Event {
	e.Data = json.RawMessage(strings.ReplaceAll(string(e.Data), "+1555", "***"))
	return e
}

// Do implements delivery.Caller.
func (g *hookRig) Do(ctx context.Context, _, url string, header http.Header, body []byte) (outbound.Answer, error) {
	var p struct {
		ID, Subject, Type string
		Data              struct{ N int }
	}
	if err := json.Unmarshal(body, &p); err != nil {
		g.t.Errorf("the body is %s", body)
	}
	e := hookEvent{header.Get("Webhook-Id"), p.Subject, p.Type, p.Data.N, time.Now(), header, string(body)}
	g.mu.Lock()
	g.tries[url] = append(g.tries[url], e)
	judge, latency := g.judge, g.latency[url]
	g.mu.Unlock()
	if latency == 0 {
		latency = 3 * time.Millisecond
	}
	if err := takes(ctx, latency); err != nil {
		return outbound.Answer{}, &outbound.Error{Kind: outbound.Canceled, Message: "canceled"}
	}
	status, after := 204, ""
	if judge != nil {
		var err error
		if status, after, err = judge(url, e); err != nil {
			return outbound.Answer{Status: status}, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if status < 300 {
		g.got[url] = append(g.got[url], e)
	}
	return outbound.Answer{Status: status, Header: http.Header{"Retry-After": {after}}}, nil
}

func (g *hookRig) judged(f func(url string, e hookEvent) (int, string, error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.judge = f
}

// down makes receivers answer with a status.
func down(status int) func(string, hookEvent) (int, string, error) {
	return func(string, hookEvent) (int, string, error) { return status, "", nil }
}

func (g *hookRig) tried(url string) []hookEvent {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.tries[url])
}

// add creates a webhook whose URL is its id.
func (g *hookRig) add(id string, change ...func(*events.Webhook)) events.Webhook {
	g.t.Helper()
	w := events.Webhook{ID: id, URL: id, Types: []string{"weir.survey.*"}, Enabled: true, Secret: webhooksign.NewSecret(), Revision: 1, Generation: 1, Created: time.Now()}
	for _, c := range change {
		c(&w)
	}
	if err := g.store.AddWebhook(g.t.Context(), w); err != nil {
		g.t.Fatal(err)
	}
	return w
}

func (g *hookRig) change(id string, change func(*events.Webhook)) {
	g.t.Helper()
	w := g.webhook(id)
	change(&w)
	if _, err := g.store.UpdateWebhook(g.t.Context(), w, time.Now()); err != nil {
		g.t.Fatal(err)
	}
}

func (g *hookRig) webhook(id string) events.Webhook {
	g.t.Helper()
	w, err := g.store.Webhook(g.t.Context(), id)
	if err != nil {
		g.t.Fatal(err)
	}
	return w
}

func (g *hookRig) start() {
	g.t.Helper()
	o, h := g.o, g.h
	o.Webhooks = &h
	s, err := delivery.Start(g.t.Context(), o)
	if err != nil {
		g.t.Fatal(err)
	}
	g.system = s
}

func (g *hookRig) stop() {
	g.t.Helper()
	if err := g.system.Close(context.Background()); err != nil {
		g.t.Error(err)
	}
}

// emit writes events numbered from (inclusive) to to (exclusive), one for each subject.
func (g *hookRig) emit(from, to int, subjects ...string) {
	g.t.Helper()
	var list []events.Event
	for n := from; n < to; n++ {
		for _, s := range subjects {
			list = append(list, events.Event{Type: "weir.survey.state", Source: "surveys", Subject: s, Data: json.RawMessage(fmt.Sprintf(`{"n":%d,"survey":%q,"to":"+15550001"}`, n, s))})
		}
	}
	if err := g.store.Emit(g.t.Context(), list...); err != nil {
		g.t.Fatal(err)
	}
}

// wantAll checks that a receiver got the events 0 to n of a subject in order. An event may
// come again, with the same id.
func (g *hookRig) wantAll(url, subject string, n int) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	next, ids := 0, map[string]int{}
	for _, e := range g.got[url] {
		if e.subject != subject {
			continue
		}
		if known, ok := ids[e.id]; ok {
			if known != e.n {
				g.t.Errorf("%s: event %d of %s has the id of event %d", url, e.n, subject, known)
			}
			continue
		}
		if ids[e.id] = e.n; e.n != next {
			g.t.Errorf("%s: event %d of %s came as number %d", url, e.n, subject, next)
		}
		next++
	}
	if next != n {
		g.t.Errorf("%s got %d events of %s, want %d", url, next, subject, n)
	}
}
