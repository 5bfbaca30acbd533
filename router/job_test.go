package router_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// The example of the Azure page: register, submit, offer, deregister.
func TestJob_AzurePage(t *testing.T) {
	t.Parallel()
	r := newRouter(t)
	r.do(router.PutQueue{ID: "queue1", Spec: resource.QueueSpec{}})
	patch := func(kind resource.Kind, id, body string) {
		t.Helper()
		c, err := r.s.Patch(kind, id, []byte(body), router.If{})
		if err != nil {
			t.Fatal(err)
		}
		r.do(c)
	}
	r.do(router.PutQueue{ID: "queue2"})
	patch(resource.Worker, "worker-1", `{"availableForOffers":true,"capacity":2,"queues":["queue1","queue2"],
		"channels":[{"channelId":"voice","capacityCostPerJob":2},{"channelId":"chat","capacityCostPerJob":1}],
		"labels":{"Skill":11,"English":true,"French":false,"Vendor":"Acme"}}`)
	r.saw("workerPut", "RouterWorkerRegistered").state("worker-1", resource.WorkerActive)
	patch(resource.Job, "job1", `{"channelId":"chat","queueId":"queue1","requestedWorkerSelectors":[
		{"key":"English","labelOperator":"equal","value":true},
		{"key":"Skill","labelOperator":"greaterThan","value":10,"expiresAfterSeconds":300}],"labels":{"name":"John"}}`)
	r.saw("RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued")
	o := last[*journal.OfferIssuedEvent](r)
	if o.ExpiresAt.Sub(o.At) != time.Minute || o.JobLabels["name"] != label.Text("John") || o.JobPriority != 1 || o.QueueID != "queue1" {
		t.Errorf("the offer: %+v", o)
	}
	patch(resource.Worker, "worker-1", `{"availableForOffers":false}`)
	r.saw("workerPut", "RouterWorkerOfferRevoked", "RouterWorkerDeregistered").state("worker-1", resource.WorkerInactive)
	if w := r.worker("worker-1"); len(w.Labels) != 5 || w.Labels["Id"] != label.Text("worker-1") {
		t.Errorf("labels %v", w.Labels)
	}
}

// "queued -> assigned -> completed -> closed": completing keeps the worker,
// closing frees it.
func TestJob_JobLifeCycle(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil).chat("j")
	r.status("j", resource.JobQueued)
	if p, ok := r.s.Position("j", r.now); !ok || p.QueueLength != 1 {
		t.Errorf("an offered job counts in the queue: %+v", p)
	}
	a := r.accept("j", "w")
	r.saw("RouterWorkerOfferAccepted").status("j", resource.JobAssigned)
	if _, ok := r.s.Position("j", r.now); ok {
		t.Error("an assigned job has a position")
	}
	r.refused(weir.CodeConflict, router.CloseJob{JobID: "j", AssignmentID: a})
	r.do(router.CompleteJob{JobID: "j", AssignmentID: a, Note: "one"}).saw("RouterJobCompleted").status("j", resource.JobCompleted)
	r.do(router.CompleteJob{JobID: "j", AssignmentID: a, Note: "one"}).saw().status("j", resource.JobCompleted) // repeated: the response was lost
	r.refused(weir.CodeConflict, router.UnassignJob{JobID: "j", AssignmentID: a})
	r.refused(weir.CodeNotFound, router.CloseJob{JobID: "j", AssignmentID: "a-0"})
	r.refused(weir.CodeConflict, router.DeleteJob{ID: "j"})
	r.refused(weir.CodeConflict, router.DeleteWorker{ID: "w"})
	r.chat("k").offeredTo("k")
	r.do(router.CloseJob{JobID: "j", AssignmentID: a, DispositionCode: "Resolved", Note: "two"})
	r.saw("RouterJobClosed", "RouterWorkerOfferIssued").status("j", resource.JobClosed)
	j := r.job("j")
	if as := j.Assignments[a]; len(j.Notes) != 2 || j.DispositionCode != "Resolved" || as.CompletedAt.IsZero() || as.ClosedAt.IsZero() {
		t.Errorf("the closed job: %+v", j)
	}
	r.refused(weir.CodeConflict, router.CancelJob{ID: "j"})
	r.do(router.DeleteJob{ID: "j"}).saw("RouterJobDeleted")
	r.refused(weir.CodeNotFound, router.DeleteJob{ID: "j"})
}

// "With closeAt in the future, both the release and the event happen then."
func TestJob_CloseLater(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil).chat("j")
	a := r.accept("j", "w")
	r.do(router.CompleteJob{JobID: "j", AssignmentID: a})
	r.do(router.CloseJob{JobID: "j", AssignmentID: a, DispositionCode: "d", CloseAt: r.now.Add(time.Hour)}).saw("jobCloseArranged")
	r.chat("k").wait(59*time.Minute).status("j", resource.JobCompleted).offeredTo("k")
	r.wait(time.Minute).saw("RouterJobClosed", "RouterWorkerOfferIssued").status("j", resource.JobClosed)
	if r.job("j").DispositionCode != "d" {
		t.Error("the disposition got lost")
	}
}

// Every event about a job or an offer describes them as receivers need it: with the
// reference by which they know the job, its labels and its tags.
func TestEvents_DescribeTheirSubject(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	spec := chatSpec()
	spec.ChannelReference, spec.Labels, spec.Tags = "ticket 7", skills("A"), label.Set{"site": label.Text("north")}
	tags := label.Set{"name": label.Text("Ann")}
	worker := agentSpec(1, skills("B"))
	worker.Tags = tags
	r.do(router.PutWorker{ID: "w", Spec: worker})
	events := 0
	check := func() {
		t.Helper()
		for _, e := range r.events {
			v := reflect.ValueOf(e).Elem()
			if e.Subject() == "" {
				continue
			}
			events++
			for name, want := range map[string]any{
				"JobID": "j", "ChannelID": "chat", "QueueID": "q", "ChannelReference": "ticket 7", "Labels": spec.Labels, "Tags": spec.Tags,
				"WorkerID": "w", "JobLabels": spec.Labels, "JobTags": spec.Tags, "WorkerLabels": worker.Labels.With("Id", label.Text("w")), "WorkerTags": tags,
			} {
				if f := v.FieldByName(name); f.IsValid() && !reflect.DeepEqual(f.Interface(), want) {
					t.Errorf("%s has %s %v; want %v", e.Kind(), name, f.Interface(), want)
				}
			}
		}
	}
	r.do(router.PutJob{ID: "j", Spec: spec})
	check()
	r.do(router.DeclineOffer{WorkerID: "w", OfferID: r.offer("j", "w"), RetryOfferAt: r.now.Add(time.Second)})
	check()
	r.wait(time.Second)
	check()
	id := r.accept("j", "w")
	check()
	r.do(router.UnassignJob{JobID: "j", AssignmentID: id})
	check()
	id = r.accept("j", "w")
	r.do(router.CompleteJob{JobID: "j", AssignmentID: id})
	check()
	r.do(router.CloseJob{JobID: "j", AssignmentID: id})
	check()
	if events != 12 {
		t.Errorf("%d events were compared", events)
	}
}

// "unassign: back to the queue unless suspendMatching; count at most 3."
func TestJob_Unassign(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil).chat("j")
	first := r.job("j").EnqueuedAt
	for i := range 3 {
		r.wait(time.Second)
		r.do(router.UnassignJob{JobID: "j", AssignmentID: r.accept("j", "w")})
		r.saw("RouterJobUnassigned", "RouterJobQueued", "RouterWorkerOfferIssued")
		if j := r.job("j"); j.Unassigned != i+1 || len(j.Assignments) != 0 || !j.EnqueuedAt.Equal(first) {
			t.Errorf("after %d: %+v", i+1, j)
		}
	}
	r.refused(weir.CodeConflict, router.UnassignJob{JobID: "j", AssignmentID: r.accept("j", "w")})
	r.do(router.CancelJob{ID: "j"}).chat("k")
	r.do(router.UnassignJob{JobID: "k", AssignmentID: r.accept("k", "w"), SuspendMatching: true})
	r.saw("RouterJobUnassigned", "RouterJobQueued").status("k", resource.JobQueued)
	if got := r.job("k").MatchingMode.Kind; got != resource.Suspend {
		t.Errorf("matching mode %s", got)
	}
}

// "cancel: status cancelled, disposition code as given or Cancelled, the note
// is appended." An abandoned job leaves the queue at once and takes no worker
// with it.
func TestJob_Cancel(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).chat("abandoned")
	r.do(router.CancelJob{ID: "abandoned", Note: "hung up"}).saw("RouterJobCancelled").agent("w", nil)
	if st, _ := r.s.Statistics("q", r.now); st.Length != 0 || r.worker("w").LoadRatio != 0 {
		t.Error("an abandoned job counts or has a worker")
	}
	if j := r.job("abandoned"); j.DispositionCode != "Cancelled" || j.Notes[0].Message != "hung up" {
		t.Errorf("%+v", j)
	}
	r.chat("offered").chat("next").offeredTo("offered", "w")
	r.do(router.CancelJob{ID: "offered", DispositionCode: "x"}).saw("RouterWorkerOfferRevoked", "RouterJobCancelled", "RouterWorkerOfferIssued")
	r.accept("next", "w")
	r.chat("third").do(router.CancelJob{ID: "next"}).saw("RouterJobCancelled", "RouterWorkerOfferIssued").offeredTo("third", "w")
	r.refused(weir.CodeNotFound, router.CancelJob{ID: "nothing"})
}

// "scheduleAndSuspend: at scheduleAt the job becomes waitingForActivation with
// an event and is still not matched; PATCH to queueAndMatch queues it;
// scheduledAt stays."
func TestJob_Schedule(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil)
	spec := chatSpec()
	spec.MatchingMode = resource.MatchingMode{Kind: resource.ScheduleAndSuspend, ScheduleAt: r.now.Add(time.Hour)}
	r.do(router.PutJob{ID: "j", Spec: spec}).saw("RouterJobReceived", "jobScheduled").status("j", resource.JobScheduled)
	if at, ok := r.s.NextWake(); !ok || !at.Equal(r.now.Add(time.Hour)) {
		t.Errorf("wakes at %v", at)
	}
	r.wait(time.Hour).saw("RouterJobWaitingForActivation").status("j", resource.JobWaitingForActivation).offeredTo("j")
	spec.MatchingMode = resource.MatchingMode{}
	spec.Priority = new(100)
	r.do(router.PutJob{ID: "j", Spec: spec}).saw("jobUpdated", "RouterJobQueued", "RouterWorkerOfferIssued").status("j", resource.JobQueued)
	if r.job("j").ScheduledAt.IsZero() {
		t.Error("scheduledAt is gone")
	}
	// Early activation, and a schedule beyond the maximum life of a job.
	spec.MatchingMode = resource.MatchingMode{Kind: resource.ScheduleAndSuspend, ScheduleAt: r.now.Add(100 * 24 * time.Hour)}
	r.do(router.PutJob{ID: "early", Spec: spec}).do(router.PutJob{ID: "late", Spec: spec})
	spec.MatchingMode = resource.MatchingMode{}
	r.do(router.PutJob{ID: "early", Spec: spec}).status("early", resource.JobQueued)
	r.now = r.now.Add(90 * 24 * time.Hour)
	r.do(router.Tick{}).status("late", resource.JobScheduleFailed).status("early", resource.JobCancelled)
	if e := last[*journal.JobSchedulingFailedEvent](r); e.JobID != "late" || e.FailureReason != "Expired Job" {
		t.Errorf("%+v", e)
	}
}

// "suspend: not matched until patched to queueAndMatch."
func TestJob_Suspend(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil)
	suspended, going := chatSpec(), chatSpec()
	suspended.MatchingMode.Kind = resource.Suspend
	r.do(router.PutJob{ID: "j", Spec: suspended}).status("j", resource.JobQueued).offeredTo("j")
	r.do(router.PutJob{ID: "j", Spec: going}).offeredTo("j", "w")
	r.do(router.PutJob{ID: "j", Spec: suspended}).saw("RouterWorkerOfferRevoked", "jobUpdated").offeredTo("j")
}

// "The job's labels, queueId, channelId or worker selectors are updated: its
// offers are revoked and it is queued again." The priority is not among them,
// and an update that changes nothing emits no event.
func TestJob_UpdateOfAnOfferedJob(t *testing.T) {
	t.Parallel()
	requeued := []string{"RouterWorkerOfferRevoked", "jobUpdated", "RouterJobQueued", "RouterWorkerOfferIssued"}
	for name, c := range map[string]struct {
		change func(*resource.JobSpec)
		events []string
	}{
		"labels":    {func(j *resource.JobSpec) { j.Labels = skills("x") }, requeued},
		"queue":     {func(j *resource.JobSpec) { j.QueueID = "q2" }, requeued},
		"channel":   {func(j *resource.JobSpec) { j.ChannelID = "voice" }, requeued},
		"selectors": {func(j *resource.JobSpec) { j.RequestedWorkerSelectors = nil }, requeued},
		"priority":  {func(j *resource.JobSpec) { j.Priority = new(3) }, []string{"jobUpdated"}},
		"tags":      {func(j *resource.JobSpec) { j.Tags = skills("x") }, []string{"jobUpdated"}},
		"nothing":   {func(*resource.JobSpec) {}, nil},
		"default":   {func(j *resource.JobSpec) { j.Priority = new(1) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouter(t).queue("q", resource.Mode{}).queue("q2", resource.Mode{})
			w := agentSpec(2, skills("A"))
			w.Queues = []string{"q", "q2"}
			r.do(router.PutWorker{ID: "w", Spec: w}).chat("j", is("A")).wait(time.Second)
			before := r.job("j")
			spec := chatSpec(is("A"))
			c.change(&spec)
			r.do(router.PutJob{ID: "j", Spec: spec}).saw(c.events...)
			after := r.job("j")
			if !after.EnqueuedAt.Equal(before.EnqueuedAt) {
				t.Error("enqueuedAt has changed")
			}
			if same := after.Version == before.Version; same != (c.events == nil) {
				t.Errorf("version %d after %d", after.Version, before.Version)
			}
		})
	}
}

// "retryOfferAt: the job is matched again at that time and the decliner is
// eligible again"; without it, "until that worker was deregistered and
// registered again". "Declining does not deregister."
func TestJob_Decline(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("a", nil).agent("b", nil).chat("j").offeredTo("j", "a")
	r.do(router.DeclineOffer{WorkerID: "a", OfferID: r.offer("j", "a")}).saw("RouterWorkerOfferDeclined", "RouterWorkerOfferIssued")
	r.offeredTo("j", "b").state("a", resource.WorkerActive)
	r.do(router.DeclineOffer{WorkerID: "b", OfferID: r.offer("j", "b"), RetryOfferAt: r.now.Add(time.Minute)}).offeredTo("j")
	r.wait(time.Minute).saw("declineLapsed", "RouterWorkerOfferIssued").offeredTo("j", "b")
	r.do(router.DeclineOffer{WorkerID: "b", OfferID: r.offer("j", "b")}).offeredTo("j")
	off := agentSpec(1, nil)
	off.AvailableForOffers = false
	r.do(router.PutWorker{ID: "a", Spec: off}).agent("a", nil).offeredTo("j", "a")
}

// "An offer that expires deregisters the worker with an event after
// OfferExpired"; the next worker then gets an offer.
func TestJob_OfferExpiry(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("a", nil).agent("b", nil).chat("j")
	offer := r.offer("j", "a")
	r.wait(59 * time.Second).saw().wait(time.Second)
	r.saw("RouterWorkerOfferExpired", "RouterWorkerDeregistered", "RouterWorkerOfferIssued").offeredTo("j", "b")
	r.state("a", resource.WorkerInactive).refused(weir.CodeNotFound, router.AcceptOffer{WorkerID: "a", OfferID: offer})
	if r.worker("a").AvailableForOffers {
		t.Error("the worker is available still")
	}
	// A late answer is late even if nothing has woken the engine in between.
	late := r.offer("j", "b")
	r.now = r.now.Add(time.Minute)
	events, err := r.s.Execute(router.AcceptOffer{WorkerID: "b", OfferID: late}, r.now)
	if weir.CodeOf(err) != weir.CodeNotFound || len(events) != 2 {
		t.Errorf("accepted too late: %v, %d events", err, len(events))
	}
}

// Draining, the idle week, and jobs that end by age.
func TestJob_WorkerStates(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{}).agent("w", nil).chat("j")
	a := r.accept("j", "w")
	off := agentSpec(1, nil)
	off.AvailableForOffers = false
	r.do(router.PutWorker{ID: "w", Spec: off}).saw("workerPut", "RouterWorkerDeregistered").state("w", resource.WorkerDraining)
	r.finish("j", a).saw("RouterJobClosed", "workerDrained").state("w", resource.WorkerInactive)
	r.agent("w", nil).chat("k")
	a = r.accept("k", "w")
	r.do(router.PutWorker{ID: "w", Spec: off}).agent("w", nil).saw("workerPut", "RouterWorkerRegistered").state("w", resource.WorkerActive)
	r.wait(8*24*time.Hour).state("w", resource.WorkerActive).finish("k", a)
	r.wait(7*24*time.Hour-time.Second).state("w", resource.WorkerActive)
	r.wait(time.Second).state("w", resource.WorkerInactive)
	last[*journal.WorkerDeregisteredEvent](r)
	// "A job lives at most 90 days", assigned ones included.
	r.agent("w", nil).chat("old")
	r.accept("old", "w")
	r.wait(90*24*time.Hour).status("old", resource.JobCancelled)
	if got := r.job("old").DispositionCode; got != "Expired" || r.worker("w").LoadRatio != 0 {
		t.Errorf("disposition %q", got)
	}
	r.wait(24 * time.Hour)
	if _, ok := r.s.Job("old"); ok {
		t.Error("the finished job was not forgotten")
	}
}

func TestJob_WorkerRoomByChannel(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	r.do(router.PutWorker{ID: "w", Spec: agentSpec(2, nil)}) // a chat costs 1, a call 2
	room := func(some, chat, voice, mail bool) {
		t.Helper()
		got := []bool{r.s.HasRoom("w", ""), r.s.HasRoom("w", "chat"), r.s.HasRoom("w", "voice"), r.s.HasRoom("w", "mail")}
		if diff := cmp.Diff([]bool{some, chat, voice, mail}, got); diff != "" {
			t.Errorf("room on any, chat, voice, mail (-want +got):\n%s", diff)
		}
	}
	room(true, true, true, false)
	r.chat("one")
	room(true, true, false, false)
	r.chat("two")
	room(false, false, false, false)
	if r.s.HasRoom("nobody", "chat") {
		t.Error("a worker that does not exist has room")
	}
}

// A worker that is not available is stored without an event for subscribers; each later
// change is one, until nothing differs.
func TestPutWorker_EventsOfOneThatIsNotAvailable(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	spec := agentSpec(1, nil)
	spec.AvailableForOffers = false
	r.do(router.PutWorker{ID: "w", Spec: spec}).saw("workerPut")
	spec.Capacity = 2
	r.do(router.PutWorker{ID: "w", Spec: spec}).saw("workerPut", "RouterWorkerUpdated")
	if got := last[*journal.WorkerUpdatedEvent](r).Updated; len(got) != 1 {
		t.Errorf("updated %v", got)
	}
	r.do(router.PutWorker{ID: "w", Spec: spec}).saw()
}
