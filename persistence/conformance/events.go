package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/events"
)

func eventOf(subject string, n int) events.Event {
	return events.Event{
		Type: "test.happened", Source: "tests", Subject: subject, At: now(),
		Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)),
	}
}

// everything reads all events, at most limit in one read.
func (b *bench) everything(limit int) []events.Event {
	b.t.Helper()
	after := int64(0)
	var all []events.Event
	for {
		list := must[[]events.Event](b.t)(b.EventsSince(b.ctx(), after, limit))
		if len(list) > limit {
			b.t.Fatalf("%d events of at most %d", len(list), limit)
		}
		if len(list) == 0 {
			return all
		}
		all = append(all, list...)
		after = list[len(list)-1].ID
	}
}

func testEvents(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	if list := b.everything(10); len(list) != 0 || must[int64](t)(b.LatestEvent(b.ctx())) != 0 {
		t.Errorf("events of a new store: %+v", list)
	}
	called := make(chan struct{}, 10)
	stop := b.OnEvents(func() { called <- struct{}{} })
	var want []events.Event
	for n := range 1300 {
		want = append(want, eventOf(fmt.Sprintf("job/jé-%d", n), n))
	}
	want[7].Data = json.RawMessage(`{"long":"` + strings.Repeat("x", 300<<10) + `"}`)
	want[8].Data = json.RawMessage(`null`)
	b.ok(b.Emit(b.ctx(), want...))
	select {
	case <-called:
	case <-b.whole.Done():
		t.Fatal("the hook was not called")
	}
	stop()
	undated := eventOf("job/later", 1)
	undated.At = time.Time{}
	b.ok(b.Emit(b.ctx(), undated))
	if len(called) > 0 {
		t.Error("the hook was called twice, or after it was taken away")
	}
	for i := range want {
		want[i].ID = int64(i + 1)
	}
	for _, limit := range []int{1000, 90, 2000} {
		got := b.everything(limit)
		if len(got) != len(want)+1 || got[1300].ID != 1301 || time.Since(got[1300].At) > time.Minute {
			t.Fatalf("%d events in reads of %d", len(got), limit)
		}
		same(t, "events", got[:1300], want)
	}
	same(t, "from the middle", must[[]events.Event](t)(b.EventsSince(b.ctx(), 700, 3)), want[700:703])
	if n := must[int64](t)(b.LatestEvent(b.ctx())); n != 1301 {
		t.Errorf("the latest is %d", n)
	}
}

// testEventsRefused emits events that cannot be written: other events are unaffected,
// and no ids are used up.
func testEventsRefused(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			e := eventOf("a", n)
			if n%5 == 0 {
				e.Data = json.RawMessage(`{"broken`)
			}
			if err := b.Emit(b.ctx(), e); (err != nil) != (n%5 == 0) {
				t.Errorf("event %d: %v", n, err)
			}
		})
	}
	all.Wait()
	list := b.everything(100)
	if len(list) != 16 || list[0].ID != 1 || list[15].ID != 16 {
		t.Errorf("%d events: %+v", len(list), list)
	}
}

// testEventOrder lets a reader follow writers: it reads every event once, and each writer's events in order.
func testEventOrder(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	stores := []*bench{b, b, b}
	const each, writers = 40, 2
	var all sync.WaitGroup
	for i, s := range stores {
		for w := range writers {
			all.Go(func() {
				for n := range each {
					if err := s.Emit(s.ctx(), eventOf(fmt.Sprintf("%d-%d", i, w), n), eventOf(fmt.Sprintf("%d-%d", i, w), n)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	want := 2 * each * writers * len(stores)
	var after int64
	seen := map[string]int{}
	for got := 0; got < want && stores[0].whole.Err() == nil; {
		for _, e := range must[[]events.Event](t)(stores[0].EventsSince(stores[0].ctx(), after, 50)) {
			if e.ID != after+1 {
				t.Fatalf("event %d follows %d", e.ID, after)
			}
			after = e.ID
			got++
			if w := fmt.Sprintf(`{"n":%d}`, seen[e.Subject]/2); string(e.Data) != w {
				t.Fatalf("%s of %s, want %s", e.Data, e.Subject, w)
			}
			seen[e.Subject]++
		}
	}
	all.Wait()
	if after != int64(want) {
		t.Errorf("%d events, want %d", after, want)
	}
}

// testEventsOf reads events of one type from many cursors, and expects the events
// of that type among all.
func testEventsOf(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	if got, err := b.EventsOf(b.ctx(), 0, 10, "test.rare"); err != nil || got.Last != 0 {
		t.Errorf("in a new store: %+v (%v)", got, err)
	}
	var want []events.Event
	id := int64(0)
	for n := range 40 {
		var list []events.Event
		for i := range n % 7 * 3 {
			e := eventOf("a", i)
			if id++; id%17 == 0 {
				e.Type = `test.rare "é"`
			} else {
				e.Data = json.RawMessage(`[{"t":"test.other"},{"t":"test.rare \"é\""}]`)
			}
			if e.ID = id; id%17 == 0 {
				want = append(want, e)
			}
			list = append(list, e)
		}
		b.ok(b.Emit(b.ctx(), list...))
	}
	for _, limit := range []int{1, 5, 1000} {
		for from := int64(0); from <= id; from += 11 {
			var got []events.Event
			for after := from; ; {
				part, err := b.EventsOf(b.ctx(), after, limit, "test.none", `test.rare "é"`)
				if b.ok(err); part.Last == 0 {
					break
				}
				if part.First != after+1 || part.Last <= after {
					t.Fatalf("after %d it read from %d to %d", after, part.First, part.Last)
				}
				got, after = append(got, part.Events...), part.Last
			}
			same(t, fmt.Sprintf("after %d, %d at a time", from, limit), got, slices.Clone(want[min(from/17, int64(len(want))):]))
		}
	}
	if n := must[int](t)(b.PurgeEvents(b.ctx(), now().Add(time.Hour), 3)); n != 3 {
		t.Fatalf("%d rows were purged of 3", n)
	}
	first := b.everything(10)[0].ID
	if got, err := b.EventsOf(b.ctx(), 0, 10, "test.rare"); err != nil || got.First != first || first < 4 {
		t.Errorf("after a purge, before %d: %+v (%v)", first, got, err)
	}
}

func testPurgeEvents(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	for n := range 5 {
		b.ok(b.Emit(b.ctx(), eventOf("old", n), eventOf("old", n)))
	}
	if n := must[int](t)(b.PurgeEvents(b.ctx(), now().Add(-time.Hour), 100)); n != 0 {
		t.Errorf("%d young rows were purged", n)
	}
	later := now().Add(time.Hour)
	if n := must[int](t)(b.PurgeEvents(b.ctx(), later, 3)); n != 3 {
		t.Errorf("%d rows were purged of 3", n)
	}
	list := b.everything(100)
	if len(list) != 4 || list[0].ID != 7 {
		t.Errorf("left: %+v", list)
	}
	if n := must[int](t)(b.PurgeEvents(b.ctx(), later, 100)); n != 2 {
		t.Errorf("%d rows were purged of 2", n)
	}
	b.ok(b.Emit(b.ctx(), eventOf("new", 0)))
	if list := b.everything(100); len(list) != 1 || list[0].ID != 11 {
		t.Errorf("ids begin anew after a purge: %+v", list)
	}
}

func testReceivers(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	b.ok(b.Emit(b.ctx(), eventOf("a", 0), eventOf("a", 1)))
	b.ok(b.Register(b.ctx(), "late"))
	b.ok(b.Emit(b.ctx(), eventOf("a", 2)))
	b.ok(b.Register(b.ctx(), "late")) // no effect
	b.ok(b.Register(b.ctx(), "later"))
	for name, want := range map[string]int64{"late": 2, "later": 3, "none": 0} {
		if p := must[events.Progress](t)(b.Progress(b.ctx(), name)); p.Cursor != want || len(p.Deferred) != 0 {
			t.Errorf("%s is at %+v, want %d", name, p, want)
		}
	}
	deferred := []events.Deferred{{Event: 3, Order: "job/é", Tries: 2, NextAt: now()}, {Event: 4, Order: "job/é", NextAt: now()}}
	b.ok(b.Advance(b.ctx(), events.Step{Receiver: "late", Cursor: 4, Put: deferred}))
	same(t, "progress", must[events.Progress](t)(b.Progress(b.ctx(), "late")), events.Progress{Cursor: 4, Deferred: deferred})
	deferred[1].Tries = 1
	b.ok(b.Advance(b.ctx(), events.Step{Receiver: "late", Cursor: 9, Put: deferred[1:], Done: []int64{3, 77}}))
	same(t, "progress", must[events.Progress](t)(b.Progress(b.ctx(), "late")), events.Progress{Cursor: 9, Deferred: deferred[1:]})
	many := events.Step{Receiver: "later", Cursor: 5000}
	for n := range 2100 {
		many.Put = append(many.Put, events.Deferred{Event: int64(n), Order: "x", NextAt: now()})
	}
	b.ok(b.Advance(b.ctx(), many))
	if p := must[events.Progress](t)(b.Progress(b.ctx(), "later")); len(p.Deferred) != 2100 || !slices.Equal(p.Deferred, many.Put) {
		t.Errorf("%d are deferred", len(p.Deferred))
	}
}
