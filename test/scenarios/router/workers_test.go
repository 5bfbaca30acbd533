package router_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	routing "weir/router"
	"weir/router/resource"
	"weir/test/scenarios/world"
)

// restart crashes the whole process and starts it again.
func restart(s *world.Staff) {
	s.Helper()
	s.Stop()
	s.Router.Close()
	s.World.Restart()
}

func jobs(s *world.Staff) (ids []string) {
	s.Helper()
	s.Until("the router answers", func() bool {
		return s.Router.View(s.Context(), func(st *routing.State, _ time.Time) { ids = st.IDs(resource.Job, "", 1000) }) == nil
	})
	return ids
}

func speaks(language string) world.Fields {
	return world.Fields{"labels": world.Fields{"language": language}}
}

// A contact becomes a job, goes to a worker who speaks the language, and ends with the
// worker's result; no more are in flight than the channel has slots; a waiting contact
// can be canceled.
func TestWorkers_HandleContacts(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		s := world.Hire(w, 2, false, nil)
		s.Worker("ann", "English")
		ids := w.Accept("people", world.SMS("a", speaks("English")), world.SMS("b", speaks("Spanish")), world.SMS("c", speaks("English")))
		assignment := s.Accept("ann", ids["a"])
		if jobs := jobs(s); len(jobs) != 2 || w.Figure("people", "in_flight") != 2 {
			t.Fatalf("jobs %v of two slots", jobs)
		}
		w.Until("the contact names the assignment", func() bool {
			attempts := w.Contact(ids["a"])["attempts"].([]any)
			return attempts[0].(map[string]any)["provider_ref"] == ids["a"]+"-1/"+assignment
		})
		s.Close(ids["a"], assignment, "Busy")
		if got := w.Done(ids["a"]); got != "busy" {
			t.Errorf("a ended as %s", got)
		}
		c := s.Accept("ann", ids["c"])
		w.Want(202, "DELETE", "/v1/contacts/"+ids["b"], nil)
		if got := w.Done(ids["b"]); got != "canceled" {
			t.Errorf("b ended as %s", got)
		}
		w.Want(202, "DELETE", "/v1/contacts/"+ids["c"], nil) // the worker has accepted it, so only the worker ends it
		w.WaitIdle()
		s.Close(ids["c"], c, "")
		if got := w.Done(ids["c"]); got != "completed" {
			t.Errorf("c ended as %s", got)
		}
	})
}

// The answer to a dispatch is lost, or the process dies before it arrives: the
// contact is one job, and continues.
func TestWorkers_ContactCreatesOneJob(t *testing.T) {
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("dies %v", dies), func(t *testing.T) {
			world.OnVirtualTime(t, func(w *world.World) {
				s := world.Hire(w, 2, false, nil)
				s.Lose.Store(1)
				if dies {
					s.Hold = make(chan struct{})
				}
				ids := w.Accept("people", world.SMS("a", speaks("English")))
				w.Until("the job is there", func() bool { return len(jobs(s)) == 1 })
				if dies {
					hold := s.Hold
					time.AfterFunc(time.Second, func() { close(hold) })
					s.Hold = nil
					restart(s)
				}
				s.Worker("ann", "English")
				w.Until("it is active", func() bool { return w.Contact(ids["a"])["state"] == "active" })
				s.Close(ids["a"], s.Accept("ann", ids["a"]), "no answer")
				if got := w.Done(ids["a"]); got != "no_answer" || len(jobs(s)) != 1 {
					t.Errorf("it ended as %s, jobs %v", got, jobs(s))
				}
			})
		})
	}
}

// A lost event of the router is found by reconciling; so are events lost in a crash.
func TestWorkers_LostWorkerEventsAreReconciled(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		s := world.Hire(w, 5, true, nil)
		s.Worker("ann", "English")
		ids := w.Accept("people", world.SMS("a", speaks("English")), world.SMS("c", speaks("Latin"), world.Fields{"not_after": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}))
		s.Close(ids["a"], s.Accept("ann", ids["a"]), "")
		// Not earlier: contacts are dispatched concurrently, and either could be first.
		maps.Copy(ids, w.Accept("people", world.SMS("b", speaks("English"))))
		assignment := s.Accept("ann", ids["b"])
		w.Becomes(ids["a"], "active") // because the event was lost
		restart(s)
		s.Close(ids["b"], assignment, "failed")
		for key, want := range map[string]string{"a": "completed", "b": "failed", "c": "expired"} {
			if got := w.Done(ids[key]); got != want {
				t.Errorf("%s ended as %s", key, got)
			}
		}
	})
}
