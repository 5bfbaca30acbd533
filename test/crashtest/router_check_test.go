package crashtest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"weir/internal/polling"
)

func decode(t *testing.T, text []byte, into any) error {
	t.Helper()
	err := json.Unmarshal(text, into)
	if err != nil {
		t.Error(err)
	}
	return err
}

// killOnce lets the program live for a moment, mostly until a random instant,
// sometimes until a durable boundary; the next life is checked against the
// answers of this one.
func (w *routerWorld) killOnce(chance *rand.Rand) {
	w.t.Helper()
	rest(nil, time.Duration(chance.IntN(500))*time.Millisecond)
	w.broker.kill()
	w.kills++
	if chance.IntN(4) == 0 {
		point := []string{"route.before", "route.committed", "route.committed", "snapshot.before", "snapshot.committed"}[chance.IntN(5)]
		times := 1 + chance.IntN(30)
		if point[0] == 's' {
			times = 1
		}
		w.points++
		w.broker.start(fmt.Sprintf("%s:%d", point, times))
		if w.broker.died(3*time.Second) == nil {
			w.hits++
		}
		w.broker.kill()
		w.kills++
	}
	w.broker.start("")
	if chance.IntN(10) == 0 {
		return // it may die before it answers
	}
	w.broker.up()
	w.checkRecent()
}

// checkRecent checks the router against its recent answers.
func (w *routerWorld) checkRecent() {
	w.t.Helper()
	const most = 12
	var jobs []string
	w.note(func() {
		list := slices.Compact(slices.Sorted(slices.Values(w.fresh)))
		jobs = list[max(0, len(list)-most):]
		w.fresh = nil
	})
	for _, id := range jobs {
		w.holds(id)
	}
}

// holds compares earlier answers about a job with its current state.
func (w *routerWorld) holds(id string) {
	w.t.Helper()
	var was routedFact
	w.note(func() { was = *w.jobs[id] })
	var is routedJob
	w.api.must(http.MethodGet, "jobs/"+id, nil, &is)
	if len(is.Assignments) > 1 {
		w.t.Errorf("%s has %d assignments: %+v", id, len(is.Assignments), is)
	}
	a, ok := is.Assignments[was.assignment]
	switch {
	case was.accepted == 0:
	case !ok || a.WorkerID != was.worker:
		w.t.Errorf("%s was accepted by %s as %s and is %+v", id, was.worker, was.assignment, is)
	case was.completed && (a.CompletedAt == nil || is.Status != "completed" && is.Status != "closed"):
		w.t.Errorf("%s was completed and is %+v", id, is)
	case was.closed && (a.ClosedAt == nil || is.Status != "closed"):
		w.t.Errorf("%s was closed and is %+v", id, is)
	}
}

// settle lets the workers finish, and checks everything.
func (w *routerWorld) settle(store string) {
	w.t.Helper()
	close(w.stop)
	w.makers.Wait()
	began := time.Now()
	w.until("jobs are closed, and instants have passed", func() string {
		var ids []string
		w.note(func() { ids = slices.Collect(maps.Keys(w.jobs)) })
		for _, id := range ids {
			if !w.ended(id, "closed") {
				return id
			}
		}
		return ""
	})
	for id := range w.due {
		w.until("a scheduled job waits", func() string { return w.still(id, "waitingForActivation") })
	}
	for id := range w.waiting {
		w.until("a job that waited too long is canceled", func() string { return w.still(id, "cancelled") })
	}
	close(w.done)
	w.work.Wait()
	for id := range w.jobs {
		w.holds(id)
	}
	w.until("all events are delivered", w.undelivered)
	for id := range w.jobs {
		w.inOrder(id)
	}
	w.timers()
	took := time.Since(began)
	w.broker.terminate()
	w.events.mu.Lock()
	defer w.events.mu.Unlock()
	w.t.Logf("CELL router %s: kills %d (%d of %d at their points), jobs %d, scheduled %d, waited too long %d, offers left %d, accepts too late %d, events %d, again %d, refused %d, over %v after the last kill",
		store, w.kills, w.hits, w.points, len(w.jobs), len(w.due), len(w.waiting), len(w.ignored), w.refused, len(w.events.seen), w.events.again, w.events.turned, took.Round(time.Millisecond))
}

// until waits for a condition; on a timeout it reports what is missing.
func (w *routerWorld) until(what string, missing func() string) {
	w.t.Helper()
	var left string
	if !polling.Until(time.Minute, 50*time.Millisecond, func() bool { left = missing(); return left == "" }) {
		a := w.api.ask(http.MethodGet, "jobs/"+left, nil)
		w.t.Fatalf("not within a minute: %s: %s: %s; delivered %+v", what, left, a.body, w.events.of(left))
	}
}

func (w *routerWorld) ended(id, status string) bool {
	done := false
	w.note(func() { done = w.jobs[id].closed })
	if done {
		return true
	}
	var is routedJob
	w.api.must(http.MethodGet, "jobs/"+id, nil, &is)
	return is.Status == status
}

func (w *routerWorld) still(id, status string) string {
	var is routedJob
	w.api.must(http.MethodGet, "jobs/"+id, nil, &is)
	if is.Status == status {
		return ""
	}
	return id
}

// undelivered returns a job whose last event has not arrived yet.
func (w *routerWorld) undelivered() string {
	for kind, jobs := range map[string][]string{
		"JobClosed":               slices.Collect(maps.Keys(w.jobs)),
		"JobWaitingForActivation": slices.Collect(maps.Keys(w.due)),
		"JobCancelled":            slices.Collect(maps.Keys(w.waiting)),
	} {
		for _, id := range jobs {
			if !slices.ContainsFunc(w.events.of(id), func(e delivered) bool { return e.is(kind) }) {
				return id
			}
		}
	}
	return ""
}

// inOrder verifies that the events of a job arrived in the order in which they
// happened, each step once, with one accept.
func (w *routerWorld) inOrder(id string) {
	w.t.Helper()
	list := w.events.of(id)
	count := map[string]int{}
	for i, e := range list {
		if i > 0 && e.id < list[i-1].id {
			w.t.Errorf("%s: event %d came after %d: %+v", id, e.id, list[i-1].id, list)
		}
		count[e.kind[len("Microsoft.Communication.Router"):]]++
	}
	f := w.jobs[id]
	for _, kind := range []string{"JobReceived", "WorkerOfferAccepted", "JobCompleted", "JobClosed"} {
		if count[kind] != 1 {
			w.t.Errorf("%s: %d events of %s: %+v", id, count[kind], kind, list)
		}
	}
	for _, e := range list {
		if e.is("WorkerOfferAccepted") && f.accepted > 0 && (e.assignment != f.assignment || e.worker != f.worker) {
			w.t.Errorf("%s was accepted as %+v; delivered is %+v", id, f, e)
		}
	}
}

// timers verifies that everything due has happened, no earlier than it was due, and
// that offers without an answer have expired.
func (w *routerWorld) timers() {
	w.t.Helper()
	for id, at := range w.due {
		for _, e := range w.events.of(id) {
			if e.is("JobWaitingForActivation") && e.at.Before(at.Truncate(time.Microsecond)) {
				w.t.Errorf("%s was due at %v and woke at %v", id, at, e.at)
			}
		}
	}
	for id := range w.waiting {
		var is routedJob
		w.api.must(http.MethodGet, "jobs/"+id, nil, &is)
		if is.DispositionCode != "TooLong" {
			w.t.Errorf("%s was canceled as %q", id, is.DispositionCode)
		}
	}
	expired := 0
	for offer, job := range w.ignored {
		ended := slices.ContainsFunc(w.events.of(job), func(e delivered) bool {
			if e.offer == offer && e.is("WorkerOfferExpired") {
				expired++
			}
			return e.offer == offer && (e.is("WorkerOfferExpired") || e.is("WorkerOfferRevoked"))
		})
		if !ended {
			w.t.Errorf("offer %s of %s was left, and never came to its end", offer, job)
		}
	}
	for i := range routerWorkers {
		var is routedWorker
		w.api.must(http.MethodGet, worker(i), nil, &is)
		if len(is.Offers)+len(is.AssignedJobs) > 0 {
			w.t.Errorf("at the end %+v", is)
		}
	}
	if expired == 0 && size().routerKills > 20 {
		w.t.Error("no offer was left to expire")
	}
}
