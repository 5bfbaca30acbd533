package workers_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir"
	"weir/channels"
	"weir/channels/workers"
	"weir/router"
	"weir/router/journal"
	"weir/router/resource"
	"weir/router/routertest"
)

// Whatever happens to dispatches, jobs, workers and the process: an attempt is
// one job; once accepted it is never absent; once done it stays done, with the
// same outcome; and a canceled attempt never ends otherwise.
func TestDriver_KeepsOneJobInAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := newShop(t, weir.Settings{"work_minutes": 60.0})
		const attempts, workers = 4, 3
		accepted, gone := map[int]bool{}, map[int]bool{}
		over := map[int]weir.Report{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			n := rapid.IntRange(1, attempts).Draw(rt, "attempt")
			who := fmt.Sprint("w", rapid.IntRange(1, workers).Draw(rt, "worker"))
			switch rapid.SampledFrom([]string{"send", "send", "send", "cancel", "worker", "worker", "accept", "accept", "decline", "complete", "close", "unassign", "fault", "crash", "wait"}).Draw(rt, "step") {
			case "send":
				if s.d.Send(rt.Context(), attempt(n)).Status == channels.Accepted {
					accepted[n] = true
				}
			case "cancel":
				if done := s.d.Cancel(rt.Context(), attempt(n)); done.Canceled && accepted[n] {
					gone[n] = true
				}
			case "worker":
				s.try(workerPut(who))
			case "fault":
				s.e.Fail(rapid.SampledFrom([]routertest.Fault{routertest.LosesAnswer, routertest.LosesWrite}).Draw(rt, "fault"))
			case "crash":
				s.e.Reopen()
			case "wait":
				s.now = s.now.Add(rapid.SampledFrom([]time.Duration{time.Second, 11 * time.Minute, 61 * time.Minute}).Draw(rt, "pause"))
			default:
				s.act(rt, who, n)
			}
			s.hold(rt, accepted, gone, over, attempts)
		}
	})
}

// act performs an action of a worker or a supervisor that may be refused.
func (s *shop) act(rt *rapid.T, who string, n int) {
	var offer string
	_ = s.e.View(rt.Context(), func(st *router.State, _ time.Time) {
		if w, _ := st.Worker(who); len(w.Offers) > 0 {
			offer = w.Offers[0].OfferID
		}
	})
	job := attempt(n).ID.String()
	j, _ := s.e.Job(job)
	assignment := ""
	for id := range j.Assignments {
		assignment = id
	}
	code := rapid.SampledFrom([]string{"", "busy", "odd"}).Draw(rt, "code")
	c := rapid.SampledFrom([]router.Command{
		router.AcceptOffer{WorkerID: who, OfferID: offer}, router.AcceptOffer{WorkerID: who, OfferID: offer}, router.DeclineOffer{WorkerID: who, OfferID: offer},
		router.CompleteJob{JobID: job, AssignmentID: assignment}, router.CloseJob{JobID: job, AssignmentID: assignment, DispositionCode: code},
		router.UnassignJob{JobID: job, AssignmentID: assignment}, router.CancelJob{ID: job, DispositionCode: code},
	}).Draw(rt, "act")
	s.try(c)
}

func (s *shop) hold(rt *rapid.T, accepted, gone map[int]bool, over map[int]weir.Report, attempts int) {
	for n := 1; n <= attempts; n++ {
		got := s.d.Query(rt.Context(), attempt(n))
		for got.Status == channels.QueryFailed { // the injected fault hit this request
			got = s.d.Query(rt.Context(), attempt(n))
		}
		was, ended := over[n]
		switch {
		case got.Status == channels.Absent && accepted[n]:
			rt.Fatalf("attempt %d was accepted and is absent", n)
		case ended && got.Status != channels.Finished:
			rt.Fatalf("attempt %d was over and is not", n)
		case gone[n] && (got.Status != channels.Finished || got.Reports[0].Outcome != weir.Canceled):
			rt.Fatalf("attempt %d was canceled: %+v", n, got)
		case got.Status == channels.Finished:
			r := got.Reports[0]
			if r.At = was.At; ended && r != was {
				rt.Fatalf("attempt %d ended as %+v and then as %+v", n, was, r)
			}
			over[n] = r
		}
	}
}

// brokers accepts reports, as the actors do.
type brokers struct {
	mu   sync.Mutex
	got  []weir.Report
	fail error
}

func (b *brokers) Report(_ context.Context, channel weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range reports {
		if r.Attempt.Channel != channel {
			return nil, fmt.Errorf("a report about channel %d came to %d", r.Attempt.Channel, channel)
		}
	}
	b.got = append(b.got, reports...)
	return make([]weir.Verdict, len(reports)), b.fail
}

// rows has channel 7, of workers, and 8, of another type.
type rows struct{}

func (rows) ChannelByID(_ context.Context, id weir.ChannelID) (weir.Channel, error) {
	if id != 7 && id != 8 {
		return weir.Channel{}, weir.Errorf(weir.CodeNotFound, "no such channel")
	}
	return weir.Channel{ID: id, Type: map[weir.ChannelID]string{7: workers.Name, 8: "verboice"}[id]}, nil
}

type drivers struct{ d channels.Driver }

func (d drivers) Driver(weir.Channel) (channels.Driver, error) { return d.d, nil }

// Which events are hints, and for which attempts.
func TestHints_ComeOfEventsAboutAttempts(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var heard []weir.AttemptRef
	s.e.Watch(func(events []journal.Event) { heard = append(heard, workers.Attempts(events)...) })
	want := func(attempts ...weir.AttemptRef) {
		t.Helper()
		if diff := cmp.Diff(attempts, heard); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		heard = nil
	}
	one := attempt(1).ID
	s.d.Send(t.Context(), attempt(1))
	s.worker("ann")
	want() // waiting or offered: no hint
	_, a := s.accept("ann")
	want(one)
	s.e.Must(router.UnassignJob{JobID: one.String(), AssignmentID: a})
	want(one)
	s.finish("ann", "")
	want(one, one, one)
	s.d.Send(t.Context(), attempt(2))
	s.e.Must(router.CancelJob{ID: attempt(2).ID.String()})
	want(attempt(2).ID)
	for _, reference := range []string{"", "weir:", "weir:7-1z", "other:7-1z-1", "7-1z-1"} {
		s.e.Must(router.PutJob{ID: "x", Spec: resource.JobSpec{ChannelID: "c", QueueID: "interviews", ChannelReference: reference}})
		s.e.Must(router.CancelJob{ID: "x"})
		s.e.Must(router.DeleteJob{ID: "x"})
	}
	want()
}

// Router events are reported to the broker of the right channel; those of other
// jobs are not, and one that cannot be passed on does not stop the others.
func TestHints_ReachTheBrokerOfTheChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		b := &brokers{}
		h := workers.NewHints(slog.New(slog.DiscardHandler))
		ctx, end := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer end()
		s.e.Watch(h.Hear)
		told := func(want ...weir.Report) {
			t.Helper()
			synctest.Wait()
			b.mu.Lock()
			defer b.mu.Unlock()
			if diff := cmp.Diff(want, b.got); diff != "" {
				t.Errorf("reports (-want +got):\n%s", diff)
			}
			b.got = nil
		}
		report := func(reference string, o weir.Outcome, at time.Time) weir.Report {
			return weir.Report{Attempt: attempt(1).ID, Part: weir.WholeContact, ProviderRef: reference, Outcome: o, At: at}
		}
		s.worker("ann")
		s.d.Send(t.Context(), attempt(1))
		told()
		_, a := s.accept("ann")
		told()
		go h.Run(ctx, rows{}, drivers{s.d}, b) // earlier hints were not lost
		told(report("7-1z-1/"+a, "", time.Time{}))
		var strangers []journal.Event
		for _, id := range []weir.Ref{{Channel: 8, ID: 1}, {Channel: 9, ID: 1}, {Channel: 7, ID: 99}} {
			reference := "weir:" + weir.AttemptRef{Ref: id, Number: 1}.String()
			strangers = append(strangers, &journal.JobClosedEvent{JobHead: journal.JobHead{ChannelReference: reference}})
		}
		h.Hear(strangers)
		told()
		b.fail = weir.Errorf(weir.CodeUnavailable, "no")
		s.e.Must(router.CompleteJob{JobID: "7-1z-1", AssignmentID: a})
		told(report("7-1z-1/"+a, "", time.Time{}))
		b.fail = nil
		s.e.Must(router.CloseJob{JobID: "7-1z-1", AssignmentID: a, DispositionCode: "busy"})
		told(report("7-1z-1/"+a, weir.Busy, s.now))
	})
}

// Excess hints are dropped, not waited for.
func TestHints_NeverWait(t *testing.T) {
	t.Parallel()
	h := workers.NewHints(slog.New(slog.DiscardHandler))
	for i := range 20_000 {
		reference := "weir:" + weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: weir.ContactID(i + 1)}, Number: 1}.String()
		h.Hear([]journal.Event{&journal.JobClosedEvent{JobHead: journal.JobHead{ChannelReference: reference}}})
	}
}
