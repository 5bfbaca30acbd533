package crashtest_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/polling"
)

// pilotPoints are the durable boundaries of the request that begins a pilot: it is stored, has its respondents, is launched,
// and its respondents are stopped in the pilot before.
func pilotPoints() []string {
	return []string{"pilot.created", "pilot.filled", "pilot.launched", "pilot.begun"}
}

// Scenario 489. The program is killed at each boundary of a request that begins a pilot, whose people are under way in the
// pilot before. The request is repeated, as a browser or the command line does: everybody is asked once by each pilot at
// most, and in the end by the latest alone.
func TestPilots_SurviveKillsAtEachBoundaryOfTheirBegin(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			w := newPilotWorld(t, database(t, store), from)
			chance := rand.New(rand.NewPCG(from, 46))
			for range max(1, size().cell/4) {
				points := pilotPoints()
				chance.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
				for _, point := range points {
					w.strike(point)
					w.begin()
					w.check()
				}
			}
			w.settle()
			w.broker.terminate()
		})
	}
}

// pilotWorld is a broker with a draft, and people who are asked by one pilot of it after the other.
type pilotWorld struct {
	*rig
	out    *outside
	seen   *records
	people []string
	pilot  int // the latest
}

func newPilotWorld(t *testing.T, database string, from uint64) *pilotWorld {
	t.Helper()
	w := &pilotWorld{rig: &rig{t: t, broker: newBroker(t, database), pulse: newPulse(t)}, people: []string{"+15552000001", "+15552000002", "+15552000003"}}
	w.api = newClient(t, w.broker.url)
	w.out, w.seen, _, _ = newSurveySMS(t, from)
	w.broker.start("")
	w.broker.up()
	w.api.insist(http.MethodPut, "/v1/channels/sms", map[string]any{"type": w.out.kind, "capacity": w.out.capacity, "settings": w.out.settings}, http.StatusCreated, nil)
	w.api.insist(http.MethodPut, "/v1/surveys/draft", map[string]any{
		"schedule": map[string]any{
			"time_zone": zone(time.Now()), "weekdays": []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"},
			"windows": []map[string]string{{"from": "00:00", "to": "24:00"}},
		},
		"modes": map[string]any{"sms": map[string]string{"channel": "sms", "retries": "1d"}}, // nobody is reminded
		"arms":  []map[string]any{{"modes": []string{"sms"}}},
		"questions": map[string]any{"languages": []map[string]string{{"code": "en"}}, "questions": []map[string]any{
			{"name": "well", "kind": "text", "text": map[string]string{"en": "{{survey}} asks {{respondent}}: how are you?"}},
		}},
	}, http.StatusCreated, nil)
	w.begin()
	return w
}

func (w *pilotWorld) body() map[string]any {
	var list []map[string]any
	for _, phone := range w.people {
		list = append(list, map[string]any{"phone": phone})
	}
	return map[string]any{"respondents": list}
}

// strike requests the next pilot from a program that dies at a boundary of the request.
func (w *pilotWorld) strike(point string) {
	w.t.Helper()
	w.broker.kill()
	w.broker.start(point + ":1")
	w.broker.up()
	ctx, cancel := context.WithTimeout(w.t.Context(), size().strikeLimit)
	defer cancel()
	for a := (answer{status: http.StatusServiceUnavailable}); a.status == http.StatusServiceUnavailable; { // it does not own the database yet
		if a = w.api.do(ctx, http.MethodPut, fmt.Sprint("/v1/surveys/draft/pilots/", w.pilot+1), w.body()); a.status != 0 && a.status != http.StatusServiceUnavailable {
			w.t.Fatalf("%s: the program lives and answers %d %s", point, a.status, a.body)
		}
		rest(ctx.Done(), 20*time.Millisecond)
	}
	if err := w.broker.died(size().strikeLimit); err != nil {
		w.t.Fatalf("%s: %v", point, err)
	}
	w.broker.start("")
	w.broker.up()
}

// begin requests the next pilot until it is there, and once more.
func (w *pilotWorld) begin() {
	w.t.Helper()
	w.pilot++
	path := fmt.Sprint("/v1/surveys/draft/pilots/", w.pilot)
	ctx, cancel := context.WithTimeout(w.t.Context(), upWithin)
	defer cancel()
	for a := (answer{}); a.status != http.StatusCreated && a.status != http.StatusOK; {
		if a = w.api.do(ctx, http.MethodPut, path, w.body()); a.status/100 == 4 || ctx.Err() != nil {
			w.t.Fatalf("pilot %d: %d %s", w.pilot, a.status, a.body)
		}
		rest(ctx.Done(), 10*time.Millisecond)
	}
	w.api.insist(http.MethodPut, path, w.body(), http.StatusOK, nil)
}

// respondents returns those of a pilot: their ids, and the statuses.
func (w *pilotWorld) respondents(pilot int) map[string]string {
	w.t.Helper()
	var page struct {
		Respondents []struct{ ID, Status string }
	}
	w.api.insist(http.MethodGet, fmt.Sprint("/v1/surveys/draft~pilot", pilot, "/respondents"), nil, http.StatusOK, &page)
	all := map[string]string{}
	for _, r := range page.Respondents {
		all[r.ID] = r.Status
	}
	return all
}

// check checks that everybody is under way in the latest pilot, and nowhere else.
func (w *pilotWorld) check() {
	w.t.Helper()
	for pilot := 1; pilot <= w.pilot; pilot++ {
		all := w.respondents(pilot)
		if len(all) != len(w.people) {
			w.t.Errorf("pilot %d of %d has respondents %v", pilot, w.pilot, all)
		}
		for id, status := range all {
			if over := status != "pending" && status != "active"; over == (pilot == w.pilot) {
				w.t.Errorf("respondent %s of pilot %d of %d is %s", id, pilot, w.pilot, status)
			}
		}
	}
}

// settle waits until the latest pilot has asked everybody, and counts what each was asked by the record of the provider.
func (w *pilotWorld) settle() {
	w.t.Helper()
	latest := w.respondents(w.pilot)
	count := func() (asked map[string]map[string]bool) {
		asked = map[string]map[string]bool{}
		for _, o := range w.seen.all() {
			if asked[o.what] == nil {
				asked[o.what] = map[string]bool{}
			}
			asked[o.what][contactOf(o.key)] = true // a network may repeat a text
		}
		return asked
	}
	text := func(id string) string { return fmt.Sprintf("draft~pilot%d asks %s: how are you?", w.pilot, id) }
	if !polling.Until(upWithin, 20*time.Millisecond, func() bool {
		asked := count()
		for id := range latest {
			if len(asked[text(id)]) == 0 {
				return false
			}
		}
		return true
	}) {
		w.t.Errorf("the latest pilot has not asked everybody: %v", count())
	}
	w.finished(w.out)
	failed := map[string]bool{} // the provider could not deliver them
	for _, c := range w.api.list("sms") {
		failed[c.ID] = c.Outcome == "failed"
	}
	for what, contacts := range count() {
		maps.DeleteFunc(contacts, func(id string, _ bool) bool { return failed[id] })
		if !strings.HasPrefix(what, "draft~pilot") || len(contacts) > 1 {
			w.t.Errorf("%q was sent by the contacts %v", what, slices.Sorted(maps.Keys(contacts)))
		}
	}
	var s struct{ State string }
	w.api.insist(http.MethodGet, "/v1/surveys/draft", nil, http.StatusOK, &s)
	if s.State != "draft" {
		w.t.Errorf("the survey is %s", s.State)
	}
}
