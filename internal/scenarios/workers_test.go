package scenarios_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir"
	"weir/actors/router"
	"weir/channels"
	"weir/channels/workers"
	routing "weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// staff is a world with a router and people as workers.
type staff struct {
	*world
	deaf   bool // router events reach no broker
	router *router.Router
	hints  *workers.Hints
	stop   context.CancelFunc
	lose   atomic.Int32 // number of router answers still to lose
	hold   chan struct{}
}

// hire gives a world a router, a queue and a channel that uses the queue.
func hire(w *world, capacity int, deaf bool, settings fields) *staff {
	w.Helper()
	s := &staff{world: w, deaf: deaf}
	w.more = func() []channels.Type {
		var err error
		s.hints = workers.NewHints(w.logger())
		o := router.Options{System: w.actors, Store: w.store, Logger: w.logger(), Valid: w.store.Valid}
		if !deaf {
			o.Watch = s.hints.Hear
		}
		if s.router, err = router.Start(o); err != nil {
			w.Fatal(err)
		}
		w.Cleanup(s.router.Close)
		return []channels.Type{workers.Type(s)}
	}
	w.begun = func(d *channels.Directory) {
		ctx, stop := context.WithCancel(context.Background())
		w.Cleanup(stop)
		s.stop = stop
		go s.hints.Run(ctx, w.store, d, w.system)
	}
	w.restart()
	s.do(routing.PutDistribution{ID: "d", Spec: resource.DistributionSpec{OfferExpiresAfterSeconds: 86400}})
	s.do(routing.PutQueue{ID: "interviews", Spec: resource.QueueSpec{DistributionPolicyID: "d"}})
	all := fields{"queue": "interviews", "selectors": "language=*"}
	for k, v := range settings {
		all[k] = v
	}
	w.channel("people", capacity, fields{"type": workers.Name, "settings": all})
	return s
}

// Do implements routing.Engine by the router, but its answers may be lost.
func (s *staff) Do(ctx context.Context, build func(*routing.State, time.Time) (routing.Command, error), see func(*routing.State, []journal.Event)) error {
	err := s.router.Do(ctx, build, see)
	if err == nil && s.lose.Add(-1) >= 0 {
		if s.hold != nil {
			<-s.hold // until the process has ended
		}
		return weir.Errorf(weir.CodeUnavailable, "the answer is lost")
	}
	return err
}

// View implements routing.Engine.
func (s *staff) View(ctx context.Context, see func(*routing.State, time.Time)) error {
	return s.router.View(ctx, see)
}

// restart crashes the whole process and starts it again.
func (s *staff) restart() {
	s.Helper()
	s.stop()
	s.router.Close()
	s.world.restart()
}

func (s *staff) do(c routing.Command) {
	s.Helper()
	var err error
	s.until(fmt.Sprintf("the router does %T", c), func() bool {
		err = s.router.Do(s.Context(), func(*routing.State, time.Time) (routing.Command, error) { return c, nil }, nil)
		return weir.CodeOf(err) != weir.CodeUnavailable
	})
	if err != nil {
		s.Fatalf("%T: %v", c, err)
	}
}

// worker creates a worker who speaks a language.
func (s *staff) worker(id, language string) {
	s.Helper()
	s.do(routing.PutWorker{ID: id, Spec: resource.WorkerSpec{
		Queues: []string{"interviews"}, Capacity: 1, Labels: label.Set{language: label.Bool(true)}, AvailableForOffers: true,
		Channels: []resource.Channel{{ChannelID: "contact", CapacityCostPerJob: 1}},
	}})
}

func (s *staff) jobs() (ids []string) {
	s.Helper()
	s.until("the router answers", func() bool {
		return s.router.View(s.Context(), func(st *routing.State, _ time.Time) { ids = st.IDs(resource.Job, "", 1000) }) == nil
	})
	return ids
}

// accept waits until a worker is offered a contact, accepts the offer and returns
// the assignment.
func (s *staff) accept(worker, contact string) (assignment string) {
	s.Helper()
	offer := ""
	s.until(worker+" is offered "+contact, func() bool {
		_ = s.router.View(s.Context(), func(st *routing.State, _ time.Time) {
			if w, _ := st.Worker(worker); len(w.Offers) > 0 && strings.HasPrefix(w.Offers[0].JobID, contact+"-") {
				offer = w.Offers[0].OfferID
			}
		})
		return offer != ""
	})
	s.do(routing.AcceptOffer{WorkerID: worker, OfferID: offer})
	_ = s.router.View(s.Context(), func(st *routing.State, _ time.Time) { assignment = st.AssignmentOf(worker, offer) })
	return assignment
}

// close makes a worker finish a contact.
func (s *staff) close(contact, assignment, code string) {
	s.Helper()
	s.do(routing.CompleteJob{JobID: contact + "-1", AssignmentID: assignment})
	s.do(routing.CloseJob{JobID: contact + "-1", AssignmentID: assignment, DispositionCode: code})
}

func speaks(language string) fields { return fields{"labels": fields{"language": language}} }

// A contact becomes a job, goes to a worker who speaks the language, and ends with the
// worker's result; no more are in flight than the channel has slots; a waiting contact
// can be canceled.
func TestWorkers_HandleContacts(t *testing.T) {
	onStores(t, func(w *world) {
		s := hire(w, 2, false, nil)
		s.worker("ann", "English")
		ids := w.accept("people", sms("a", speaks("English")), sms("b", speaks("Spanish")), sms("c", speaks("English")))
		assignment := s.accept("ann", ids["a"])
		if jobs := s.jobs(); len(jobs) != 2 || w.figure("people", "in_flight") != 2 {
			t.Fatalf("jobs %v of two slots", jobs)
		}
		w.until("the contact names the assignment", func() bool {
			attempts := w.contact(ids["a"])["attempts"].([]any)
			return attempts[0].(map[string]any)["provider_ref"] == ids["a"]+"-1/"+assignment
		})
		s.close(ids["a"], assignment, "Busy")
		if got := w.done(ids["a"]); got != "busy" {
			t.Errorf("a ended as %s", got)
		}
		c := s.accept("ann", ids["c"])
		w.want(202, "DELETE", "/v1/contacts/"+ids["b"], nil)
		if got := w.done(ids["b"]); got != "canceled" {
			t.Errorf("b ended as %s", got)
		}
		w.want(202, "DELETE", "/v1/contacts/"+ids["c"], nil) // the worker has accepted it, so only the worker ends it
		w.waitIdle()
		s.close(ids["c"], c, "")
		if got := w.done(ids["c"]); got != "completed" {
			t.Errorf("c ended as %s", got)
		}
	})
}

// The answer to a dispatch is lost, or the process dies before it arrives: the
// contact is one job, and continues.
func TestWorkers_ContactCreatesOneJob(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies %v", dies), func(t *testing.T) {
			onVirtualTime(t, func(w *world) {
				s := hire(w, 2, false, nil)
				s.lose.Store(1)
				if dies {
					s.hold = make(chan struct{})
				}
				ids := w.accept("people", sms("a", speaks("English")))
				w.until("the job is there", func() bool { return len(s.jobs()) == 1 })
				if dies {
					hold := s.hold
					time.AfterFunc(time.Second, func() { close(hold) })
					s.hold = nil
					s.restart()
				}
				s.worker("ann", "English")
				w.until("it is active", func() bool { return w.contact(ids["a"])["state"] == "active" })
				s.close(ids["a"], s.accept("ann", ids["a"]), "no answer")
				if got := w.done(ids["a"]); got != "no_answer" || len(s.jobs()) != 1 {
					t.Errorf("it ended as %s, jobs %v", got, s.jobs())
				}
			})
		})
	}
}

// A lost event of the router is found by reconciling; so are events lost in a crash.
func TestWorkers_LostWorkerEventsAreReconciled(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		s := hire(w, 5, true, nil)
		s.worker("ann", "English")
		ids := w.accept("people", sms("a", speaks("English")), sms("c", speaks("Latin"), fields{"not_after": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}))
		s.close(ids["a"], s.accept("ann", ids["a"]), "")
		// Not earlier: contacts are dispatched concurrently, and either could be first.
		maps.Copy(ids, w.accept("people", sms("b", speaks("English"))))
		assignment := s.accept("ann", ids["b"])
		w.becomes(ids["a"], "active") // because the event was lost
		s.restart()
		s.close(ids["b"], assignment, "failed")
		for key, want := range map[string]string{"a": "completed", "b": "failed", "c": "expired"} {
			if got := w.done(ids[key]); got != want {
				t.Errorf("%s ended as %s", key, got)
			}
		}
	})
}
