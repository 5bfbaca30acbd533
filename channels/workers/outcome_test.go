package workers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/channels"
	"weir/channels/workers"
	"weir/router"
	"weir/router/resource"
	"weir/router/routertest"
)

// The meaning of the worker's disposition code for the contact.
func TestOutcome_FollowsTheDispositionCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]struct {
		outcome weir.Outcome
		reason  string
	}{
		"": {weir.Completed, ""}, "Completed": {weir.Completed, ""}, "No-Answer": {weir.NoAnswer, ""}, "busy": {weir.Busy, ""}, "failed": {weir.Failed, ""},
		"Wrong Number": {weir.Failed, "closed as wrong_number"}, "done": {weir.Completed, ""}, "she is on " + phone: {weir.NoAnswer, "closed with another code"},
	} {
		s := newShop(t, weir.Settings{"outcomes": "wrong_number=failed, Done=completed", "other_outcome": "no_answer"})
		s.worker("ann")
		s.d.Send(t.Context(), attempt(1))
		if got := s.asked(1); got.Status != channels.Underway || got.ProviderRef != "7-1z-1" || len(got.Reports) != 0 {
			t.Errorf("%q, waiting: %+v", code, got)
		}
		s.finish("ann", code)
		got := s.asked(1)
		report := weir.Report{Attempt: attempt(1).ID, Part: weir.WholeContact, Outcome: want.outcome, Reason: want.reason, ProviderRef: got.ProviderRef, At: s.now}
		if code == "Completed" {
			report.Result.Code = "completed"
		}
		if diff := cmp.Diff(channels.Answer{Status: channels.Finished, ProviderRef: got.ProviderRef, Reports: []weir.Report{report}}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", code, diff)
		}
		if !strings.HasPrefix(got.ProviderRef, "7-1z-1/a-") {
			t.Errorf("reference %q", got.ProviderRef)
		}
	}
}

func TestOutcome_TellsWhyAJobWasCancelled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      func(*shop)
		outcome weir.Outcome
		reason  string
	}{
		"by us":         {func(s *shop) { s.d.Cancel(s.t.Context(), attempt(1)) }, weir.Canceled, "canceled at the router"},
		"by a user":     {func(s *shop) { s.e.Must(router.CancelJob{ID: "7-1z-1"}) }, weir.Canceled, "cancelled at the router"},
		"with a code":   {func(s *shop) { s.e.Must(router.CancelJob{ID: "7-1z-1", DispositionCode: "Overload"}) }, weir.Failed, "cancelled at the router with another code"},
		"a known one":   {func(s *shop) { s.e.Must(router.CancelJob{ID: "7-1z-1", DispositionCode: "Not Home"}) }, weir.NoAnswer, "cancelled as not_home"},
		"window closed": {func(s *shop) { s.now = s.now.Add(time.Hour); s.e.Must(router.Tick{}) }, weir.Expired, "no worker accepted it in time"},
	} {
		s := newShop(t, weir.Settings{"outcomes": "not_home=no_answer"})
		a := attempt(1)
		a.NotAfter = s.now.Add(time.Hour)
		s.d.Send(t.Context(), a)
		c.do(s)
		got := s.asked(1)
		if got.Status != channels.Finished || len(got.Reports) != 1 || got.Reports[0].Outcome != c.outcome || got.Reports[0].Reason != c.reason {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A waiting job is canceled; a job that a worker has is not.
func TestCancel_CancelsAWaitingJobOnly(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	check := func(want channels.Cancellation) {
		t.Helper()
		if diff := cmp.Diff(want, s.d.Cancel(t.Context(), attempt(1))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check(channels.Cancellation{Canceled: true, Reason: "the router has no such job"})
	s.d.Send(t.Context(), attempt(1))
	s.worker("ann")
	s.e.Fail(routertest.LosesWrite)
	check(channels.Cancellation{Failed: true, Reason: "the router is not available"})
	_, a := s.accept("ann")
	check(channels.Cancellation{Reason: "a worker has it"})
	s.e.Must(router.UnassignJob{JobID: "7-1z-1", AssignmentID: a})
	check(channels.Cancellation{Canceled: true})
	check(channels.Cancellation{Reason: "it has ended"})
}

// A worker who has a job for too long loses it; a job that was completed but not
// closed in time counts as completed.
func TestOutcome_WorkerLosesAJobAfterTheWorkLimit(t *testing.T) {
	t.Parallel()
	for completed, want := range map[bool]weir.Outcome{false: weir.Failed, true: weir.Completed} {
		s := newShop(t, weir.Settings{"work_minutes": 20.0})
		s.worker("ann")
		s.d.Send(t.Context(), attempt(1))
		s.now = s.now.Add(5 * time.Minute)
		job, a := s.accept("ann")
		if completed {
			s.e.Must(router.CompleteJob{JobID: job, AssignmentID: a})
		}
		s.now = s.now.Add(19 * time.Minute)
		if got := s.asked(1); got.Status != channels.Underway {
			t.Errorf("too early: %+v", got)
		}
		s.now = s.now.Add(time.Minute)
		if got := s.asked(1); got.Status != channels.Finished || got.Reports[0].Outcome != want {
			t.Errorf("completed %v: %+v", completed, got)
		}
		s.worker("ann")
		s.d.Send(t.Context(), attempt(2))
		s.accept("ann") // the worker is free again
	}
}

func TestQuery_TellsAbsentFromUnavailable(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.e.Must(router.PutJob{ID: "7-1z-9", Spec: resource.JobSpec{ChannelID: "x", QueueID: "interviews"}})
	for _, n := range []int{1, 9} { // no job, and one of another origin
		if got := s.asked(n); got.Status != channels.Absent {
			t.Errorf("%d: %+v", n, got)
		}
	}
	down := driver(t, broken{weir.Errorf(weir.CodeUnavailable, "x")}, weir.Settings{"queue": "q"})
	if got := down.Query(t.Context(), attempt(1)); got.Status != channels.QueryFailed {
		t.Errorf("%+v", got)
	}
	if got := down.Cancel(t.Context(), attempt(1)); !got.Failed {
		t.Errorf("%+v", got)
	}
	if got := down.Status(t.Context()); got.Health != weir.Erring {
		t.Errorf("%+v", got)
	}
}

func TestStatus_FollowsTheQueue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	health := func(want weir.Health) {
		t.Helper()
		if got := s.d.Status(t.Context()); got.Health != want {
			t.Errorf("%+v, not %s", got, want)
		}
	}
	health(weir.Up)
	s.e.Must(router.PutQueue{ID: "interviews", Spec: resource.QueueSpec{Closed: resource.ClosedRefuse}})
	health(weir.Down)
	s.e.Must(router.Delete{Resource: resource.Queue, ID: "interviews"})
	health(weir.Erring)
	if _, err := s.d.ParseCallback(channels.Callback{}); err == nil {
		t.Error("a callback was read")
	}
	if err := s.d.Prepare(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSettings_AreChecked(t *testing.T) {
	t.Parallel()
	typ := workers.Type(routertest.New(time.Now))
	for key, bad := range map[string][]any{
		"queue": {strings.Repeat("q", 129), 7.0}, "selectors": {"a=b=c", "=x", "a,,b", "a>b", "a>=*", "!", "a=*b*"}, "require": {"a=", "a<high"},
		"priority": {101.0, 1.5, "high"}, "wait_minutes": {0.0, -1.0, 1e9}, "work_minutes": {0.0}, "outcomes": {"x", "x=lost", "=failed", "x=failed,"}, "other_outcome": {"lost"},
	} {
		for _, v := range bad {
			s := weir.Settings{"queue": "q"}
			s[key] = v
			wrong := typ.CheckSettings(s, 10)
			if len(wrong) != 1 || wrong[0].Pointer != "/"+key {
				t.Errorf("%s: %v: %v", key, v, wrong)
			}
		}
	}
	if wrong := typ.CheckSettings(weir.Settings{}, 10); len(wrong) != 1 || wrong[0].Pointer != "/queue" {
		t.Error(wrong)
	}
	if _, err := workers.Type(nil).New(channels.Config{Settings: weir.Settings{"queue": "q"}}); err == nil {
		t.Error("a driver without a router")
	}
}

// The survey result of a disposition code for the respondent.
func TestOutcome_ResultFollowsTheDispositionCode(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 15, 0, 0, 0, time.UTC)
	for code, want := range map[string]weir.Report{
		"Refused":                            {Outcome: weir.Completed, Reason: "closed as refused", Result: weir.Result{Code: "refused"}},
		"too young":                          {Outcome: weir.Completed, Reason: "closed as too_young", Result: weir.Result{Code: "ineligible"}},
		"partial":                            {Outcome: weir.Completed, Reason: "closed as partial"},
		"busy":                               {Outcome: weir.Busy},
		"callback":                           {Outcome: weir.Completed, Reason: "closed as callback"},
		"later@2026-03-02T16:00:00+01:00":    {Outcome: weir.NoAnswer, Reason: "closed as later", Result: weir.Result{CallBack: at}},
		"callback@tomorrow":                  {Outcome: weir.Completed, Reason: "closed as callback"},
		"refused@2026-03-02T16:00:00+01:00":  {Outcome: weir.Completed, Reason: "closed as refused", Result: weir.Result{Code: "refused"}},
		"anything else @2026-03-02T16:00:00": {Outcome: weir.Failed, Reason: "closed with another code"},
	} {
		s := newShop(t, weir.Settings{"dispositions": "Too Young=ineligible, later=call_back, partial=none", "outcomes": "later=no_answer", "other_outcome": "failed"})
		s.worker("ann")
		s.d.Send(t.Context(), attempt(1))
		s.finish("ann", code)
		got := s.asked(1)
		want.Attempt, want.Part, want.ProviderRef, want.At = attempt(1).ID, weir.WholeContact, got.ProviderRef, s.now
		if diff := cmp.Diff([]weir.Report{want}, got.Reports); diff != "" {
			t.Errorf("%q (-want +got):\n%s", code, diff)
		}
	}
}
