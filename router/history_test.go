package router_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/router"
	"weir/router/journal"
)

func start() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }

// history runs commands through an engine, through its double, which is
// discarded and rebuilt now and then, and through the model.
type history struct {
	t       *rapid.T
	now     time.Time
	live    *router.State
	double  *router.State
	model   *model
	log     []journal.Event
	offers  []journal.OfferHead
	decoder *journal.Decoder
	cut     *router.Snapshot // made at the last rebuild
	before  []byte           // its expected content
	slow    *router.Snapshot // a cut made step by step while the state changes
	whole   bool
	wanted  []byte // the expected content of slow
}

func settings() router.Settings {
	set := router.DefaultSettings()
	set.KeepFinished = 3 * time.Hour
	return set
}

// TestHistory_HistoriesAgreeWithTheModel checks random histories. The engine
// makes the same offers in the same order as an exhaustive search, and misses
// none; states rebuilt from its events and from its snapshots behave the same.
// -rapid.checks sets the number of histories of each run.
func TestHistory_HistoriesAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	for run := range 3 {
		t.Run(strconv.Itoa(run), func(t *testing.T) {
			t.Parallel()
			compareWithModel(t)
		})
	}
}

func compareWithModel(t *testing.T) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{
			t: t, now: start(), live: router.New(settings()), double: router.New(settings()),
			model: newModel(), decoder: journal.NewDecoder(),
		}
		// The double keeps the default limits, which change no decision.
		if rapid.Bool().Draw(t, "tight") {
			router.MinimizeLimits(h.live)
		}
		h.setUp()
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			h.now = h.now.Add(h.pause())
			h.do(h.command())
			if rapid.IntRange(0, 9).Draw(t, "rebuild") == 0 {
				h.rebuild()
			}
		}
		h.rebuild()
		h.do(router.Tick{})
	})
}

func (h *history) pause() time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Second, 7 * time.Second, 40 * time.Second, 2 * time.Minute, time.Hour, 4 * 24 * time.Hour, 40 * 24 * time.Hour}).Draw(h.t, "pause")
}

func (h *history) do(c router.Command) {
	var before []byte
	if rapid.IntRange(0, 4).Draw(h.t, "watch") == 0 {
		before = snapshot(h.t, h.live)
	}
	h.model.scores, h.model.scored = nil, ""
	if answer, ok := c.(router.SupplyScores); ok {
		h.model.scores = answer.Scores
	}
	h.step()
	jobs, workers := h.views()
	events, err := h.live.Execute(c, h.now)
	if err != nil && len(events) == 0 && before != nil {
		h.sameButClock(before)
	}
	twins, err2 := h.double.Execute(c, h.now)
	if diff := cmp.Diff(texts(h.t, events), texts(h.t, twins)); diff != "" {
		h.t.Fatalf("%T: the double does otherwise (-live +double):\n%s", c, diff)
	}
	if fmt.Sprint(err) != fmt.Sprint(err2) {
		h.t.Fatalf("%T: refused with %v, by the double with %v", c, err, err2)
	}
	for _, e := range events {
		h.check(e)
		h.model.apply(e)
		if o, ok := e.(*journal.OfferIssuedEvent); ok {
			h.invariants(e)
			h.offers = append(h.offers, o.OfferHead)
		}
		if len(h.model.overloaded()) > 0 {
			h.t.Fatalf("after %s jobs %v have two assignments", e.Kind(), h.model.overloaded())
		}
	}
	h.invariants(nil)
	h.versions(jobs, workers)
	h.log = append(h.log, events...)
	if faults := router.CheckIndex(h.live); faults != nil {
		h.t.Fatalf("%T: the index is wrong: %v", c, faults)
	}
	if at, ok := h.live.NextWake(); ok && !at.After(h.now) {
		h.t.Fatalf("%T: something is due at %v still", c, at)
	}
	if job, worker, ok := h.model.next(); ok {
		h.t.Fatalf("%T: worker %s is idle while job %s, which it can take, waits", c, worker, job)
	}
}

// views returns what clients see of jobs and workers.
func (h *history) views() (jobs map[string]router.Job, workers map[string]router.Worker) {
	jobs, workers = map[string]router.Job{}, map[string]router.Worker{}
	for id := range h.model.jobs {
		jobs[id], _ = h.live.Job(id)
	}
	for id := range h.model.workers {
		workers[id], _ = h.live.Worker(id)
	}
	return jobs, workers
}

// versions checks that the version of a resource has changed whenever what
// clients see of it has: they send it back in If-Match.
func (h *history) versions(jobs map[string]router.Job, workers map[string]router.Worker) {
	for id, before := range jobs {
		after, ok := h.live.Job(id)
		version := after.Version
		after.Version, after.ChangedAt = before.Version, before.ChangedAt
		if ok && version == before.Version && !reflect.DeepEqual(before, after) {
			h.t.Fatalf("job %s has changed and keeps its version:\n%s", id, cmp.Diff(before, after))
		}
	}
	for id, before := range workers {
		after, ok := h.live.Worker(id)
		version := after.Version
		after.Version, after.ChangedAt = before.Version, before.ChangedAt
		if ok && version == before.Version && !reflect.DeepEqual(before, after) {
			h.t.Fatalf("worker %s has changed and keeps its version:\n%s", id, cmp.Diff(before, after))
		}
	}
}

// step makes a cut job by job while the state changes. The result must equal a
// complete cut at the time when it was begun.
func (h *history) step() {
	if h.slow == nil {
		h.slow, h.whole, h.wanted = h.live.BeginSnapshot(), false, snapshot(h.t, h.double)
	}
	for range rapid.IntRange(0, 3).Draw(h.t, "step") {
		h.whole = h.slow.Step(1)
	}
	if !h.whole {
		return
	}
	if got, err := h.slow.Encode(); err != nil || string(got) != string(h.wanted) {
		h.t.Fatalf("a cut made in steps differs: %v\n%s", err, cmp.Diff(string(h.wanted), string(got)))
	}
	h.slow = nil
}

// sameButClock compares states without the first line, which holds the clock.
func (h *history) sameButClock(before []byte) {
	after := snapshot(h.t, h.live)
	if string(before[slices.Index(before, '\n'):]) != string(after[slices.Index(after, '\n'):]) {
		h.t.Fatalf("a refused command changed something:\n%s\n%s", before, after)
	}
}

// check compares an offer with the decision of the model.
func (h *history) check(e journal.Event) {
	var gotJob, gotWorker string
	switch e := e.(type) {
	case *journal.OfferIssuedEvent:
		gotJob, gotWorker = e.JobID, e.WorkerID
	case *journal.JobScoresRequestedEvent:
		gotJob = e.JobID
	default:
		return
	}
	h.model.now = e.Head().At
	job, worker, ok := h.model.next()
	if !ok || job != gotJob || worker != gotWorker {
		h.t.Fatalf("job %s was offered to %q; next was %s for %q (%v)", gotJob, gotWorker, job, worker, ok)
	}
}

// invariants checks a state after every offer, and after everything that
// follows from a command. Only workers whose capacity a client lowered below
// its use may exceed their capacity.
func (h *history) invariants(after journal.Event) {
	for id, w := range h.model.workers {
		if used := w.cost(w.offers) + w.cost(w.assigned); used > w.spec.Capacity && !h.model.lowered[id] && w.active {
			h.t.Fatalf("after %T worker %s has %d of %d", after, id, used, w.spec.Capacity)
		}
	}
}

// rebuild creates the double again, from the events alone or from a snapshot,
// and compares it with the live state.
func (h *history) rebuild() {
	want := snapshot(h.t, h.live)
	if h.cut != nil {
		if late, err := h.cut.Encode(); err != nil || string(late) != string(h.before) {
			h.t.Fatalf("a cut has changed with the state: %v\n%s", err, cmp.Diff(string(h.before), string(late)))
		}
	}
	h.cut, h.before = h.live.CopySnapshot(), want
	_, records, _ := bytes.Cut(want, []byte{'\n'})
	for line := range bytes.Lines(records) {
		if plain, err := router.Reencode(line); err != nil || string(plain) != strings.TrimSuffix(string(line), "\n") {
			h.t.Fatalf("the snapshot has\n%swant\n%s (%v)", line, plain, err)
		}
		wrong := bytes.Clone(line)
		wrong[rapid.IntRange(0, len(line)-1).Draw(h.t, "wrong")] = rapid.SampledFrom([]byte(`"{}[],:\0-x.`)).Draw(h.t, "byte")
		if _, err := router.Reencode(wrong); err != nil {
			h.t.Fatalf("of the line\n%s\n%v", wrong, err)
		}
	}
	if rapid.Bool().Draw(h.t, "fold") {
		h.double = router.New(settings())
		data, err := journal.Append(nil, h.log...)
		if err != nil {
			h.t.Fatal(err)
		}
		decoded, err := h.decoder.Decode(data)
		if err != nil {
			h.t.Fatal(err)
		}
		if err := h.double.Replay(decoded...); err != nil {
			h.t.Fatal(err)
		}
		// No event carries time that passed without events, so set the clock.
		if _, err := h.double.Execute(nil, h.now); err != nil {
			h.t.Fatal(err)
		}
	} else {
		double, err := router.Restore(want)
		if err != nil {
			h.t.Fatal(err)
		}
		h.double = double
	}
	if diff := cmp.Diff(string(want), string(snapshot(h.t, h.double))); diff != "" {
		h.t.Fatalf("the rebuilt state differs (-live +rebuilt):\n%s", diff)
	}
	a, okA := h.live.NextWake()
	b, okB := h.double.NextWake()
	if !a.Equal(b) || okA != okB {
		h.t.Fatalf("the rebuilt state wakes at %v, not at %v", b, a)
	}
	if diff := cmp.Diff(h.live.Pools(), h.double.Pools()); diff != "" {
		h.t.Fatalf("pools of the rebuilt state:\n%s", diff)
	}
}

func snapshot(t interface{ Fatal(...any) }, s *router.State) []byte {
	b, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func texts(t interface{ Fatal(...any) }, events []journal.Event) (out []string) {
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(e.Kind(), err)
		}
		out = append(out, e.Kind()+" "+string(data))
	}
	return out
}
