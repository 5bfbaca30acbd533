package events_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/events"
	"weir/internal/outbound"
	"weir/persistence"
)

// Scenario 250.
func TestWebhooks_GetWhatTheyAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.start()
		defer g.stop()
		g.emit(9, 10, "a") // before there is a webhook
		g.add("all")
		g.add("scoped", func(w *events.Webhook) { w.Survey = "b" })
		g.add("other", func(w *events.Webhook) { w.Types = []string{"weir.survey.message"} })
		g.add("paused", func(w *events.Webhook) { w.Enabled = false })
		g.add("pii", func(w *events.Webhook) { w.PII = true })
		after(time.Second)
		g.emit(0, 20, "a", "b")
		after(time.Second)
		for _, s := range []string{"a", "b"} {
			g.wantAll("all", s, 20)
			g.wantAll("pii", s, 20)
		}
		g.wantAll("scoped", "b", 20)
		g.wantAll("scoped", "a", 0)
		g.wantAll("paused", "a", 0)
		if n := len(g.tried("other")); n != 0 {
			t.Errorf("one that wants other events got %d", n)
		}
		e := g.tried("all")[0]
		var body map[string]any
		if err := json.Unmarshal([]byte(e.body), &body); err != nil || body["type"] != "weir.survey.state" || body["timestamp"] == "" || body["data"].(map[string]any)["to"] != "***0001" {
			t.Errorf("the body is %s (%v)", e.body, err)
		}
		if strings.Contains(e.id, ".") || e.header.Get("Content-Type") != "application/json" {
			t.Errorf("the header is %v", e.header)
		}
		if pii := g.tried("pii")[0]; !strings.Contains(pii.body, "+15550001") {
			t.Errorf("with personal data the body is %s", pii.body)
		} else if pii.id == e.id {
			t.Errorf("two webhooks use the id %s", e.id)
		}
		g.change("paused", func(w *events.Webhook) { w.Enabled = true })
		after(time.Second)
		g.wantAll("paused", "a", 20) // what came while it was paused
		if err := g.store.DeleteWebhook(t.Context(), "all", 0); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		g.emit(20, 30, "b")
		after(time.Second)
		g.wantAll("all", "b", 20)
		g.wantAll("scoped", "b", 30)
	})
}

// Scenario 251.
func TestWebhooks_CatchUpInOrderAfterThreeHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.o.PollEvery = time.Minute
		g.add("wh1")
		g.start()
		defer g.stop()
		g.judged(down(503))
		for n := range 180 {
			g.emit(n, n+1, "a", "b", "c", "d", "e", "f", "g")
			after(time.Minute)
		}
		if n := len(g.tried("wh1")); n < 30 || n > 120 {
			t.Errorf("%d tries in three hours", n)
		}
		if w := g.webhook("wh1"); w.FailingSince.IsZero() || !w.Enabled {
			t.Errorf("after three hours: %+v", w)
		}
		g.judged(nil)
		after(6 * time.Minute)
		for _, s := range []string{"a", "b", "c", "d", "e", "f", "g"} {
			g.wantAll("wh1", s, 180)
		}
		if w := g.webhook("wh1"); !w.FailingSince.IsZero() {
			t.Error("it is still said to fail")
		}
		// Each try has its own time, and the id of its event.
		first := g.tried("wh1")[0]
		times := map[string]bool{}
		for _, e := range g.tried("wh1") {
			if e.n == first.n && e.subject == first.subject {
				times[e.header.Get("Webhook-Timestamp")] = true
				if stamp := strconv.FormatInt(e.at.Unix(), 10); e.id != first.id || e.header.Get("Webhook-Timestamp") != stamp {
					t.Errorf("a try at %s has the header %v", stamp, e.header)
				}
			}
		}
		if len(times) < 2 {
			t.Errorf("tries of the first event at %d times", len(times))
		}
	})
}

// Hundreds of receivers that do not answer, more than all deliveries beyond the first of
// each, take nothing from one that does.
// Scenario 252.
func TestWebhooks_SlowOnesHoldUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		for n := range 200 {
			id := fmt.Sprintf("slow%03d", n)
			g.latency[id] = 15 * time.Second
			g.add(id)
		}
		g.latency["swift"] = 100 * time.Millisecond // one after the other, its events would be late
		g.add("swift")                              // on the second page of the list
		g.judged(func(url string, _ hookEvent) (int, string, error) {
			if url == "swift" {
				return 200, "", nil
			}
			return 0, "", &outbound.Error{Kind: outbound.Timeout, Message: "the host did not answer in time"}
		})
		g.start()
		defer g.stop()
		after(time.Minute)
		for n := range 4 { // longer than a slow receiver takes
			begun, before := time.Now(), len(g.tried("swift"))
			g.emit(n*4, n*4+4, "a", "b", "c")
			after(5 * time.Second)
			list := g.tried("swift")[before:]
			if len(list) != 12 {
				t.Fatalf("round %d: %d of 12 events within five seconds", n, len(list))
			}
			if late := list[11].at.Sub(begun); late > time.Second {
				t.Errorf("round %d: the last event came after %v", n, late)
			}
		}
		for _, s := range []string{"a", "b", "c"} {
			g.wantAll("swift", s, 16)
		}
	})
}

// The number of requests at once is bounded, for one webhook and for all.
func TestWebhooks_HaveABoundedConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		var mu sync.Mutex
		flying, most := map[string]int{}, map[string]int{}
		count := func(url string, d int) {
			mu.Lock()
			defer mu.Unlock()
			for _, name := range []string{url, ""} {
				flying[name] += d
				most[name] = max(most[name], flying[name])
			}
		}
		for n := range 50 {
			g.add(fmt.Sprintf("w%02d", n))
		}
		var subjects []string
		for n := range 12 {
			subjects = append(subjects, fmt.Sprint("s", n))
		}
		g.judged(func(url string, _ hookEvent) (int, string, error) {
			count(url, 1)
			defer count(url, -1)
			time.Sleep(100 * time.Millisecond)
			return 200, "", nil
		})
		g.start()
		defer g.stop()
		after(time.Second)
		for n := range 3 {
			g.emit(n, n+1, subjects...)
			after(2 * time.Second)
		}
		after(time.Minute)
		for _, s := range subjects {
			g.wantAll("w42", s, 3)
		}
		if most["w42"] > 8 || most["w42"] < 2 || most[""] > 50+128 || most[""] < 50+64 {
			t.Errorf("at most %d at once to one, and %d to all", most["w42"], most[""])
		}
	})
}

// Scenario 253.
func TestWebhooks_HonorRetryAfterAndGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.o.PollEvery = time.Minute
		g.h.DisableAfter = 3 * time.Hour
		for _, id := range []string{"later", "gone", "dead"} {
			g.add(id)
		}
		g.add("watch", func(w *events.Webhook) { w.Types = []string{events.WebhookDisabled} })
		g.start()
		defer g.stop()
		after(time.Second)
		g.judged(func(url string, _ hookEvent) (int, string, error) {
			switch url {
			case "later":
				return 429, "3600", nil
			case "gone":
				return 410, "", nil
			case "dead":
				return 0, "", &outbound.Error{Kind: outbound.Unreachable, Message: "the host cannot be reached"}
			}
			return 200, "", nil
		})
		g.emit(0, 3, "a", "b")
		after(50 * time.Minute)
		if n := len(g.tried("later")); n != 1 && n != 2 { // two may be on their way
			t.Errorf("%d tries of one that demanded an hour", n)
		}
		after(20 * time.Minute)
		if n := len(g.tried("later")); n < 2 || n > 4 {
			t.Errorf("%d tries after the hour", n)
		}
		w := g.webhook("gone")
		if n := len(g.tried("gone")); n > 2 || w.Enabled || w.Disabled != events.DisabledGone {
			t.Errorf("%d tries of one that is gone: %+v", n, w)
		}
		if w := g.webhook("dead"); !w.Enabled || w.FailingSince.IsZero() {
			t.Errorf("one that failed for an hour: %+v", w)
		}
		after(2 * time.Hour)
		if w := g.webhook("dead"); w.Enabled || w.Disabled != events.DisabledFailing {
			t.Errorf("one that failed for too long: %+v", w)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if !slices.Equal(g.disabled, []string{"gone gone", "dead failing"}) {
			t.Errorf("disabled: %v", g.disabled)
		}
		if n := len(g.got["watch"]); n != len(g.disabled) {
			t.Errorf("%d events about %d disabled webhooks", n, len(g.disabled))
		}
	})
}

// A webhook that has fallen behind gets every event, from the log or from memory, in order.
func TestWebhooks_ThatFallBehindCatchUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		store := &catchUps{Store: g.store}
		g.o.Store, g.o.PollEvery = store, time.Minute
		g.add("wh1")
		g.start()
		defer g.stop()
		after(time.Second)
		begun := store.n.Load()
		const n = 1500 // of each subject
		for from := 0; from < n; from += 100 {
			g.emit(from, from+100, "a", "b", "c", "d")
			after(10 * time.Millisecond)
		}
		after(2 * time.Minute)
		for _, subject := range []string{"a", "b", "c", "d"} {
			g.wantAll("wh1", subject, n)
		}
		g.emit(n, n+1, "a")
		after(time.Second)
		g.wantAll("wh1", "a", n+1)
		if n := len(g.tried("wh1")); n != 6001 {
			t.Errorf("%d tries of 6001 events", n)
		}
		if n := store.n.Load() - begun; n > 2 { // the feed waits for it
			t.Errorf("it read the log %d times by itself", n)
		}
	})
}

// catchUps is a store that counts how often a webhook reads the log by itself.
type catchUps struct {
	*persistence.Store
	n atomic.Int32
}

func (s *catchUps) EventsOf(ctx context.Context, after int64, limit int, types ...string) (events.Chunk, error) {
	if limit == 64 { // as many as a webhook reads ahead
		s.n.Add(1)
	}
	return s.Store.EventsOf(ctx, after, limit, types...)
}

// After five failures in a row a webhook rests for a second at first: what it gets
// otherwise does not wait for the retry of the event that failed.
func TestWebhooks_RestShortlyAtFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.add("wh1")
		g.judged(func(_ string, e hookEvent) (int, string, error) {
			if e.subject == "a" {
				return 500, "", nil
			}
			return 200, "", nil
		})
		g.start()
		defer g.stop()
		after(time.Second)
		g.emit(0, 1, "a")
		for len(g.tried("wh1")) < 5 {
			after(10 * time.Millisecond)
		}
		after(10 * time.Millisecond)
		g.emit(0, 1, "b", "c")
		after(100 * time.Millisecond)
		g.wantAll("wh1", "b", 0)
		after(2 * time.Second)
		g.wantAll("wh1", "b", 1)
		g.wantAll("wh1", "c", 1)
	})
}

// A receiver accepts an event, and the body of its answer is lost: it has the event.
func TestWebhooks_StatusDecidesWithoutTheBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.judged(func(url string, _ hookEvent) (int, string, error) {
			if strings.Contains(url, "none") {
				return 0, "", &outbound.Error{Kind: outbound.Unreachable, Message: "the host cannot be reached"}
			}
			return 200, "", &outbound.Error{Kind: outbound.Unreachable, Message: "the answer was cut off"}
		})
		g.start()
		defer g.stop()
		g.add("cut")
		g.add("none")
		after(time.Second)
		g.emit(0, 1, "a")
		after(time.Hour)
		if n := len(g.tried("cut")); n != 1 {
			t.Errorf("an event that was answered 200 was sent %d times", n)
		}
		if n := len(g.tried("none")); n < 3 {
			t.Errorf("an event without an answer was sent %d times", n)
		}
		if tries, err := g.store.Tries(t.Context(), "none", 0, 1); err != nil || len(tries) != 1 || tries[0].Error != string(outbound.Unreachable) || tries[0].Status != 0 {
			t.Errorf("the latest try without an answer: %+v (%v)", tries, err)
		}
	})
}

// The filters that a webhook has now decide about events that wait for a retry or are
// replayed, too: whoever narrowed them wants the others no more.
func TestWebhooks_FiltersOfTodayDecideOnRetriesAndReplays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.o.GiveUp = 10 * time.Minute
		g.add("wh1")
		g.start()
		defer g.stop()
		after(time.Second)
		begun := time.Now()
		g.judged(func(_ string, e hookEvent) (int, string, error) {
			if e.subject == "x" {
				return 200, "", nil
			}
			return 400, "", nil
		})
		g.emit(0, 2, "a", "b")
		for range 16 { // others go on, and keep it enabled
			after(time.Minute)
			g.emit(1000, 1001, "x")
		}
		g.emit(2, 3, "a", "b") // these wait for a retry
		after(10 * time.Second)
		g.judged(nil)
		g.change("wh1", func(w *events.Webhook) { w.Survey = "a" })
		if _, _, err := g.store.ReplayFailed(t.Context(), "wh1", begun); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		g.wantAll("wh1", "b", 0)
		got := map[int]bool{}
		for _, e := range g.got["wh1"] {
			got[e.n] = got[e.n] || e.subject == "a"
		}
		if !got[0] || !got[1] || !got[2] {
			t.Errorf("events of the survey that it wants: %v", got)
		}
		if p, err := g.store.Progress(t.Context(), events.WebhookReceiver("wh1")); err != nil || len(p.Deferred) > 0 {
			t.Errorf("left: %+v (%v)", p, err)
		}
	})
}
