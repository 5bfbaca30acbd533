package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	delivery "weir/actors/events"
	"weir/events"
	"weir/persistence"
	"weir/persistence/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errNo = errors.New("no")

// rig is a store and a receiver that records what it got.
type rig struct {
	t     *testing.T
	store *persistence.Store
	o     delivery.Options
	reg   *prometheus.Registry

	mu     sync.Mutex
	got    []events.Event
	tries  map[int64]int
	judge  func(e events.Event, try int) error // nil: it succeeds
	system *delivery.System
}

func newRig(t *testing.T) *rig {
	t.Helper()
	g := &rig{t: t, store: storetest.SQLite(t), tries: map[int64]int{}, reg: prometheus.NewRegistry()}
	g.o = delivery.Options{Store: g.store, Metrics: delivery.NewMetrics(g.reg), Receivers: []delivery.Receiver{{
		Name:    "r",
		Wants:   func(e events.Event) bool { return e.Source == "router" },
		Deliver: g.deliver,
	}}}
	return g
}

// takes waits for d, the time that a receiver or the store needs.
func takes(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *rig) deliver(ctx context.Context, e events.Event) error {
	if err := takes(ctx, 3*time.Millisecond); err != nil {
		return err
	}
	g.mu.Lock()
	g.tries[e.ID]++
	try, judge := g.tries[e.ID], g.judge
	g.mu.Unlock()
	if judge != nil {
		if err := judge(e, try); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got = append(g.got, e)
	return nil
}

// tried returns how many deliveries of an event were attempted.
func (g *rig) tried(id int64) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tries[id]
}

// total returns how many deliveries succeeded.
func (g *rig) total() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.got)
}

func (g *rig) start() {
	g.t.Helper()
	s, err := delivery.Start(g.t.Context(), g.o)
	if err != nil {
		g.t.Fatal(err)
	}
	g.system = s
}

// stop closes the system gracefully.
func (g *rig) stop() {
	g.t.Helper()
	if err := g.system.Close(context.Background()); err != nil {
		g.t.Error(err)
	}
}

// crash closes the system without writing any further progress.
func (g *rig) crash() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = g.system.Close(ctx)
}

// emit writes events numbered from (inclusive) to to (exclusive), one for each
// subject.
func (g *rig) emit(from, to int, subjects ...string) {
	g.t.Helper()
	var list []events.Event
	for n := from; n < to; n++ {
		for _, s := range subjects {
			list = append(list, events.Event{Type: "t", Source: "router", Subject: s, Data: json.RawMessage(fmt.Sprint(n))})
		}
	}
	if err := g.store.Emit(g.t.Context(), list...); err != nil {
		g.t.Fatal(err)
	}
}

func after(d time.Duration) {
	time.Sleep(d) // in a bubble
	synctest.Wait()
}

// of returns the events received for a subject, each once, and checks the order:
// an event may come again, but not before the one ahead of it came.
func (g *rig) of(subject string) []string {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []string
	seen, last := map[int64]bool{}, int64(0)
	for _, e := range g.got {
		if e.Subject != subject || seen[e.ID] {
			continue
		}
		if e.ID < last {
			g.t.Errorf("event %d of %s came after %d", e.ID, subject, last)
		}
		seen[e.ID], last = true, e.ID
		list = append(list, string(e.Data))
	}
	return list
}

func (g *rig) wantAll(subject string, n int) {
	g.t.Helper()
	list := g.of(subject)
	if len(list) != n {
		g.t.Errorf("%d events of %s, want %d", len(list), subject, n)
		return
	}
	for i, s := range list {
		if s != fmt.Sprint(i) {
			g.t.Errorf("event %s of %s at place %d", s, subject, i)
		}
	}
}

func (g *rig) count(result string) int {
	g.t.Helper()
	families, err := g.reg.Gather()
	if err != nil {
		g.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "weir_event_deliveries_total" && l.GetName() == "result" && l.GetValue() == result {
					return int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return 0
}

func TestMetrics_KeepTheNamingRules(t *testing.T) {
	t.Parallel()
	r := prometheus.NewPedanticRegistry()
	delivery.NewMetrics(r)
	if problems, err := testutil.GatherAndLint(r); err != nil || len(problems) > 0 {
		t.Errorf("problems %v (%v)", problems, err)
	}
}

// Every series of a receiver stands at zero from the start.
func TestMetrics_StandAtZero(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		g.start()
		defer g.stop()
		want := `
# HELP weir_event_deliveries_aside Events deferred because they, or an event ahead of them, failed.
# TYPE weir_event_deliveries_aside gauge
weir_event_deliveries_aside{receiver="r"} 0
# HELP weir_event_deliveries_total Attempts to deliver an event, by receiver and result.
# TYPE weir_event_deliveries_total counter
weir_event_deliveries_total{receiver="r",result="dead"} 0
weir_event_deliveries_total{receiver="r",result="delivered"} 0
weir_event_deliveries_total{receiver="r",result="failed"} 0
weir_event_deliveries_total{receiver="r",result="lost"} 0
# HELP weir_event_oldest_undelivered_seconds Age of the oldest undelivered event of a receiver; 0 if there is none.
# TYPE weir_event_oldest_undelivered_seconds gauge
weir_event_oldest_undelivered_seconds{receiver="r"} 0
`
		if err := testutil.GatherAndCompare(g.reg, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	})
}
