package router_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/router"
	"weir/router/label"
	"weir/router/resource"
)

// Resources in use cannot be deleted, and the reasons are the ones that clients
// know.
func TestPolicy_Deletion(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	r.do(router.PutException{ID: "e", Spec: resource.ExceptionSpec{}})
	r.do(router.PutQueue{ID: "q", Spec: resource.QueueSpec{DistributionPolicyID: "of q", ExceptionPolicyID: "e"}})
	r.do(router.PutClassification{ID: "c", Spec: resource.ClassificationSpec{FallbackQueueID: "q"}})
	r.agent("w", nil)
	r.do(router.PutJob{ID: "j", Spec: resource.JobSpec{ChannelID: "chat", ClassificationPolicyID: "c"}})
	for _, c := range []struct {
		kind    resource.Kind
		id      string
		code    weir.Code
		details []string
	}{
		{resource.Distribution, "of q", weir.CodeInvalid, []string{router.QueueUsesDistribution}},
		{resource.Exception, "e", weir.CodeInvalid, []string{router.QueueUsesException}},
		{resource.Classification, "c", weir.CodeInvalid, []string{router.JobUsesClassification}},
		{resource.Queue, "q", weir.CodeConflict, []string{router.JobInQueue, router.ClassificationFallsBack, router.WorkerOnQueue}},
		{resource.Queue, "nothing", weir.CodeNotFound, nil},
		{resource.Pool, "nothing", weir.CodeNotFound, nil},
		{resource.Job, "j", weir.CodeInvalid, []string{"unknown"}},
	} {
		var got []string
		for _, f := range r.refusal(c.code, router.Delete{Resource: c.kind, ID: c.id}) {
			got = append(got, f.Code)
		}
		if strings.Join(got, " ") != strings.Join(c.details, " ") {
			t.Errorf("%s: details %v", c.kind, got)
		}
	}
	r.do(router.CancelJob{ID: "j"}).do(router.DeleteWorker{ID: "w"}).saw("RouterWorkerDeleted")
	for _, c := range []router.Delete{
		{Resource: resource.Classification, ID: "c"}, {Resource: resource.Queue, ID: "q"},
		{Resource: resource.Distribution, ID: "of q"}, {Resource: resource.Exception, ID: "e"},
	} {
		r.do(c)
	}
}

// If-Match and If-Unmodified-Since. "A patch that changes nothing leaves etag
// and Last-Modified alone. If-Match for a resource that does not exist must
// not create it."
func TestPolicy_Conditions(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	put := func(c router.If, name string) router.Command {
		return router.PutQueue{ID: "q", Spec: resource.QueueSpec{Name: name}, If: c}
	}
	r.wait(1500 * time.Millisecond).do(put(router.If{}, "a"))
	q, _ := r.s.Queue("q")
	r.wait(time.Hour).do(put(router.If{}, "a")).saw()
	if again, _ := r.s.Queue("q"); again.Version != q.Version || !again.ChangedAt.Equal(q.ChangedAt) {
		t.Error("what changed nothing changed the version")
	}
	for _, c := range []struct {
		cond router.If
		ok   bool
	}{
		{router.If{Version: q.Version}, true},
		{router.If{Version: q.Version - 1}, false},
		{router.If{Unmatchable: true}, false},
		{router.If{UnmodifiedSince: q.ChangedAt.Truncate(time.Second)}, true}, // it has whole seconds
		{router.If{UnmodifiedSince: q.ChangedAt.Add(-2 * time.Second)}, false},
	} {
		if c.ok {
			r.do(put(c.cond, "a"))
		} else {
			r.refused(weir.CodePrecondition, put(c.cond, "b"))
		}
	}
	r.refused(weir.CodePrecondition, router.PutJob{ID: "new", Spec: chatSpec(), If: router.If{Version: 1}})
}

// "Objects merge key by key (labels: {} removes nothing, labels: {a: null}
// removes a), arrays are replaced, null removes or resets to the default,
// read-only members are ignored."
func TestPolicy_MergePatch(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	patch := func(body string) {
		t.Helper()
		c, err := r.s.Patch(resource.Job, "j", []byte(body), router.If{})
		if err != nil {
			t.Fatal(err)
		}
		r.do(c)
	}
	patch(`{"channelId":"chat","queueId":"q","priority":7,"labels":{"a":1,"b":"x"},"tags":{"t":true},"dispositionCode":"d",
		"notes":[{"message":"n"}],"requestedWorkerSelectors":[{"key":"a","labelOperator":"equal","value":1}]}`)
	patch(`{"labels":{},"etag":"\"x\"","status":"closed","assignments":{"a":1},"unknown":[1]}`)
	if j := r.job("j"); len(j.Labels) != 2 || *j.Priority != 7 || j.Status != resource.JobQueued {
		t.Errorf("%+v", j)
	}
	patch(`{"labels":{"a":null},"tags":null,"priority":null,"dispositionCode":null,"requestedWorkerSelectors":[]}`)
	if j := r.job("j"); len(j.Labels) != 1 || len(j.Tags) != 0 || *j.Priority != 1 || j.DispositionCode != "" || len(j.RequestedWorkerSelectors) != 0 || len(j.Notes) != 1 {
		t.Errorf("%+v", j)
	}
	for _, kind := range []resource.Kind{
		resource.Worker, resource.Job, resource.Queue, resource.Distribution,
		resource.Classification, resource.Exception, resource.Pool,
	} {
		if _, err := r.s.Patch(kind, "x", []byte(`{}`), router.If{}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for _, body := range []string{`{"labels":{"a":[1]}}`, `{"priority":"high"}`, `{"priority":1.5}`, `{"channelId":7}`} {
		if _, err := r.s.Patch(resource.Job, "j", []byte(body), router.If{}); weir.CodeOf(err) != weir.CodeInvalid {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// Invalid requests are refused with the member that is wrong.
func TestPolicy_Validation(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	many := make([]string, 501)
	for i := range many {
		many[i] = "q"
	}
	job := func(change func(*resource.JobSpec)) router.Command {
		spec := chatSpec()
		change(&spec)
		return router.PutJob{ID: "j", Spec: spec}
	}
	dist := func(m resource.Mode) router.Command {
		return router.PutDistribution{ID: "d", Spec: resource.DistributionSpec{Mode: m}}
	}
	class := func(c resource.ClassificationSpec) router.Command {
		return router.PutClassification{ID: "c", Spec: c}
	}
	for pointer, c := range map[string]router.Command{
		"/id":                             router.PutQueue{},
		"/distributionPolicyId":           router.PutQueue{ID: "x", Spec: resource.QueueSpec{DistributionPolicyID: "none"}},
		"/exceptionPolicyId":              router.PutQueue{ID: "x", Spec: resource.QueueSpec{ExceptionPolicyID: "none"}},
		"/closed":                         router.PutQueue{ID: "x", Spec: resource.QueueSpec{Closed: "ajar"}},
		"/queues":                         router.PutWorker{ID: "w", Spec: resource.WorkerSpec{Queues: many}},
		"/capacity":                       router.PutWorker{ID: "w", Spec: resource.WorkerSpec{Capacity: -1}},
		"/channels/1/channelId":           router.PutWorker{ID: "w", Spec: resource.WorkerSpec{Channels: []resource.Channel{{ChannelID: "a", CapacityCostPerJob: 1}, {ChannelID: "a", CapacityCostPerJob: 1}}}},
		"/channels/0/capacityCostPerJob":  router.PutWorker{ID: "w", Spec: resource.WorkerSpec{Channels: []resource.Channel{{ChannelID: "a"}}}},
		"/channels/0/maxNumberOfJobs":     router.PutWorker{ID: "w", Spec: resource.WorkerSpec{Channels: []resource.Channel{{ChannelID: "a", CapacityCostPerJob: 1, MaxNumberOfJobs: -1}}}},
		"/labels/x":                       router.PutWorker{ID: "w", Spec: resource.WorkerSpec{Labels: label.Set{"x": {}}}},
		"/priority":                       job(func(j *resource.JobSpec) { j.Priority = new(101) }),
		"/channelId":                      job(func(j *resource.JobSpec) { j.ChannelID = "" }),
		"/queueId":                        job(func(j *resource.JobSpec) { j.QueueID = "" }),
		"/classificationPolicyId":         job(func(j *resource.JobSpec) { j.ClassificationPolicyID = "none" }),
		"/matchingMode/kind":              job(func(j *resource.JobSpec) { j.MatchingMode.Kind = "never" }),
		"/matchingMode/scheduleAt":        job(func(j *resource.JobSpec) { j.MatchingMode.Kind = resource.ScheduleAndSuspend }),
		"/requestedWorkerSelectors/0/key": job(func(j *resource.JobSpec) { j.RequestedWorkerSelectors = []resource.WorkerSelector{is("")} }),
		"/requestedWorkerSelectors/0/labelOperator": job(func(j *resource.JobSpec) {
			j.RequestedWorkerSelectors = []resource.WorkerSelector{where("a", "like", label.Number(1))}
		}),
		"/mode/kind":                               dist(resource.Mode{Kind: "fastest"}),
		"/mode/maxConcurrentOffers":                dist(resource.Mode{MinConcurrentOffers: 3, MaxConcurrentOffers: 2}),
		"/mode/scoringRule/expression":             dist(resource.Mode{Kind: resource.BestWorker, ScoringRule: rule(resource.RuleExpression, "1 +")}),
		"/mode/scoringRule/functionUri":            dist(resource.Mode{Kind: resource.BestWorker, ScoringRule: rule(resource.RuleFunction, "")}),
		"/fallbackQueueId":                         class(resource.ClassificationSpec{FallbackQueueID: "none"}),
		"/prioritizationRule/kind":                 class(resource.ClassificationSpec{PrioritizationRule: &resource.Rule{Kind: "guess"}}),
		"/queueSelectorAttachments/0/selector":     class(resource.ClassificationSpec{QueueSelectorAttachments: []resource.QueueAttachment{{Kind: resource.AttachStatic}}}),
		"/queueSelectorAttachments/0/rule":         class(resource.ClassificationSpec{QueueSelectorAttachments: []resource.QueueAttachment{{Kind: resource.AttachRuleEngine}}}),
		"/workerSelectorAttachments/0/condition":   class(resource.ClassificationSpec{WorkerSelectorAttachments: []resource.WorkerAttachment{{Kind: resource.AttachConditional}}}),
		"/workerSelectorAttachments/0/allocations": class(resource.ClassificationSpec{WorkerSelectorAttachments: []resource.WorkerAttachment{{Kind: resource.AttachWeighted, Allocations: []resource.WorkerAllocation{{Weight: 0}}}}}),
		"/exceptionRules/0/trigger/kind":           router.PutException{ID: "e", Spec: resource.ExceptionSpec{ExceptionRules: []resource.ExceptionRule{{ID: "r"}}}},
		"/exceptionRules/0/actions/0/queueId": router.PutException{ID: "e", Spec: resource.ExceptionSpec{ExceptionRules: []resource.ExceptionRule{{
			ID: "r", Trigger: full(), Actions: []resource.Action{{Kind: resource.ActionManualReclassify, QueueID: "none"}},
		}}}},
		"/selectors/0/labelOperator": router.PutPool{ID: "p", Spec: resource.PoolSpec{ChannelID: "c", Selectors: []resource.WorkerSelector{{Key: "a"}}}},
	} {
		if got := r.refusal(weir.CodeInvalid, c); len(got) != 1 || got[0].Pointer != pointer {
			t.Errorf("%s: %v", pointer, got)
		}
	}
	for _, c := range []router.Command{
		router.DeleteWorker{ID: "x"}, router.DeleteJob{ID: "x"}, router.ReclassifyJob{ID: "x"},
		router.CompleteJob{JobID: "x"}, router.SupplyRules{JobID: "x"}, router.SupplyScores{JobID: "x"},
	} {
		r.refused(weir.CodeNotFound, c)
	}
}

// A snapshot that is truncated, of another version or inconsistent is refused;
// one that is accepted is written back unchanged.
func FuzzRestore(f *testing.F) {
	r := newRouter(f).queue("q", resource.Mode{MaxConcurrentOffers: 2}).agent("a", nil).agent("b", skills("X"))
	r.do(router.PutPool{ID: "p", Spec: resource.PoolSpec{ChannelID: "chat"}})
	sel := is("X")
	sel.ExpiresAfterSeconds = 100
	r.chat("j", sel).chat("k").chat("l", where("A", label.LessThan, label.Number(2)))
	r.accept("k", "a")
	whole := snapshot(f, r.s)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"format":"weir-routing","version":2}` + "\n"))
	f.Add([]byte(`{"format":"weir-routing","version":1,"seq":1}` + "\n" + `{"end":0}` + "\n"))
	for _, change := range [][2]string{
		{`"worker":"b"`, `"worker":"z"`}, {`"queue":{"id":"q"`, `"queue":{"id":"p"`}, {`"priority":1`, `"priority":1000`},
		{`"id":"j"`, `"id":"k"`}, {`"status":"queued"`, `"status":"closed"`}, {`"status":"queued",`, ``}, {`"capacity":1`, `"capacity":-5`}, {`"end":`, `"end":1`},
	} {
		f.Add([]byte(strings.ReplaceAll(string(whole), change[0], change[1])))
	}
	f.Add([]byte(`{"format":"weir-routing","version":1}` + "\n" + `{"job":{"id":"0"}}` + "\n" + `{"job":{"id":"1","created":2}}` + "\n" + `{"end":2}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := router.Restore(data)
		if err != nil {
			return
		}
		again, err := router.Restore(snapshot(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if string(snapshot(t, again)) != string(snapshot(t, s)) {
			t.Error("a snapshot of what a snapshot gave is another")
		}
		if faults := router.CheckIndex(s); faults != nil {
			t.Errorf("the index is wrong: %v", faults)
		}
		// Whatever the content, time can pass.
		if at, ok := s.NextWake(); ok {
			_, _ = s.Execute(router.Tick{}, at)
		}
	})
}

// Clients see policies with defaults filled in and empty lists for absent ones.
func TestPolicy_PoliciesSentBackDoNotChange(t *testing.T) {
	t.Parallel()
	r := newRouter(t)
	r.do(router.PutDistribution{ID: "d", Spec: resource.DistributionSpec{Mode: resource.Mode{Kind: resource.BestWorker}}})
	d, _ := r.s.Distribution("d")
	want := resource.DistributionSpec{OfferExpiresAfterSeconds: 60, Mode: resource.Mode{
		Kind: resource.BestWorker, MinConcurrentOffers: 1, MaxConcurrentOffers: 1,
		ScoringRuleOptions: &resource.ScoringOptions{BatchSize: 20, ScoringParameters: []string{"jobLabels", "workerSelectors"}, DescendingOrder: new(true)},
	}}
	if diff := cmp.Diff(want, d.Spec); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	r.do(router.PutDistribution{ID: "d", Spec: want}).saw()
	r.do(router.PutClassification{ID: "c"})
	r.do(router.PutClassification{ID: "c", Spec: resource.ClassificationSpec{QueueSelectorAttachments: []resource.QueueAttachment{}}}).saw()
	r.do(router.PutException{ID: "x"})
	r.do(router.PutException{ID: "x", Spec: resource.ExceptionSpec{ExceptionRules: []resource.ExceptionRule{}}}).saw()
}

func TestPolicy_InvalidIDsAndSizes(t *testing.T) {
	t.Parallel()
	r := newRouter(t).queue("q", resource.Mode{})
	for _, c := range []router.Command{
		router.PutQueue{ID: "\xff"}, router.PutWorker{ID: "w", Spec: resource.WorkerSpec{Labels: label.Set{"a": label.Text("\xc3")}}},
		router.PutJob{ID: "j", Spec: resource.JobSpec{ChannelID: "\xed\xa0\x80", QueueID: "q"}},
	} {
		r.refused(weir.CodeInvalid, c)
	}
	// Small patches that together exceed the limit.
	part := func(from, to int) string {
		var labels []string
		for i := from; i < to; i++ {
			labels = append(labels, fmt.Sprintf("%q:%q", fmt.Sprint("k", i), strings.Repeat("x", 10_000)))
		}
		return `{"channelId":"chat","queueId":"q","labels":{` + strings.Join(labels, ",") + `}}`
	}
	c, err := r.s.Patch(resource.Job, "j", []byte(part(0, 12)), router.If{})
	if err != nil {
		t.Fatal(err)
	}
	r.do(c)
	if _, err := r.s.Patch(resource.Job, "j", []byte(part(12, 14)), router.If{}); weir.CodeOf(err) != weir.CodeInvalid {
		t.Errorf("a job of 140 kB: %v", err)
	}
}
