package router_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSelectors_EveryOperatorFindsItsWorkers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operator, value string
		takers          []string
	}{
		{"equal", `10`, []string{"ten"}},
		{"equal", `"ten"`, []string{"text"}},
		{"equal", `true`, []string{"true"}},
		{"notEqual", `10`, []string{"five", "fifteen", "text", "true", "none"}},
		{"lessThan", `10`, []string{"five"}},
		{"lessThanOrEqual", `10`, []string{"five", "ten"}},
		{"greaterThan", `10`, []string{"fifteen"}},
		{"greaterThanOrEqual", `10`, []string{"ten", "fifteen"}},
		{"greaterThan", `"a"`, nil},
	} {
		t.Run(c.operator+c.value, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.put("/routing/distributionPolicies/d", `{"mode":{"kind":"roundRobin","maxConcurrentOffers":10}}`)
			r.put("/routing/queues/q", `{"distributionPolicyId":"d"}`)
			r.put("/routing/jobs/j", `{"channelId":"chat","queueId":"q","requestedWorkerSelectors":[{"key":"K","labelOperator":"`+c.operator+`","value":`+c.value+`}]}`)
			got := map[string]bool{}
			for id, labels := range map[string]string{"five": `{"K":5}`, "ten": `{"K":10}`, "fifteen": `{"K":15}`, "text": `{"K":"ten"}`, "true": `{"K":true}`, "none": `{}`} {
				w := r.put("/routing/workers/"+id, `{"queues":["q"],"capacity":1,"channels":[{"channelId":"chat","capacityCostPerJob":1}],"availableForOffers":true,"labels":`+labels+`}`)
				if offers := w.body["offers"].([]any); len(offers) > 0 {
					got[id] = true
				}
			}
			want := map[string]bool{}
			for _, id := range c.takers {
				want[id] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("workers with an offer (-want +got):\n%s", diff)
			}
		})
	}
}

// Every state change of a job, as the API shows it, with its events.
func TestLifecycle_JobsChangeStateWithTheirEvents(t *testing.T) {
	t.Parallel()
	for name, life := range map[string]func(*rig) []string{
		"direct": func(r *rig) []string {
			r.job("created", `"queueId":"q"`).status("j", "queued")
			as := r.accept("w")
			r.status("j", "assigned").act("assignments/"+as+":complete").status("j", "completed")
			same(r.t, `1`, r.get("/routing/workers/w")["loadRatio"]) // a completed job keeps its capacity until it is closed
			r.act("assignments/"+as+":close").status("j", "closed")
			same(r.t, `0`, r.get("/routing/workers/w")["loadRatio"])
			r.ok(204, "DELETE", "/routing/jobs/j", "")
			return []string{"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterWorkerOfferAccepted", "RouterJobCompleted", "RouterJobClosed", "RouterJobDeleted"}
		},
		"classified": func(r *rig) []string {
			r.put("/routing/classificationPolicies/c", `{"fallbackQueueId":"q","prioritizationRule":{"kind":"static","value":9},
				"workerSelectorAttachments":[{"kind":"static","workerSelector":{"key":"Id","labelOperator":"equal","value":"nobody"}}]}`)
			r.engine.kinds()
			made := r.job("pendingClassification", `"classificationPolicyId":"c"`)
			made.status("j", "queued")
			same(r.t, `{"queueId":"q","priority":9,"attachedWorkerSelectors":[{"key":"Id","labelOperator":"equal","value":"nobody","expedite":false,"status":"active"}]}`,
				pick(r.get("/routing/jobs/j"), "queueId", "priority", "attachedWorkerSelectors"))
			if got := r.put("/routing/jobs/j", `{"labels":{"a":1}}`).body["status"]; got != "pendingClassification" {
				r.t.Errorf("a change of labels answers %v", got)
			}
			r.status("j", "queued").act(":reclassify").status("j", "queued").act(":cancel").status("j", "cancelled")
			return []string{
				"RouterJobReceived", "RouterJobClassified", "RouterJobQueued", "RouterJobClassified", "RouterJobQueued",
				"RouterJobClassified", "RouterJobQueued", "RouterJobCancelled",
			}
		},
		"classification fails": func(r *rig) []string {
			r.put("/routing/classificationPolicies/c", `{}`)
			r.engine.kinds()
			r.job("pendingClassification", `"classificationPolicyId":"c"`).status("j", "classificationFailed")
			r.put("/routing/jobs/j", `{"queueId":"q","classificationPolicyId":null}`)
			r.status("j", "queued")
			return []string{"RouterJobReceived", "RouterJobClassificationFailed", "RouterJobQueued", "RouterWorkerOfferIssued"}
		},
		"scheduled": func(r *rig) []string {
			r.job("pendingSchedule", `"queueId":"q","matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"2026-03-02T10:00:00Z"}`).status("j", "scheduled")
			if got := r.get("/routing/jobs/j")["scheduledAt"]; got != "2026-03-02T10:00:00.0000000+00:00" {
				r.t.Errorf("scheduledAt is %v", got)
			}
			r.engine.wait(time.Hour)
			r.status("j", "waitingForActivation")
			same(r.t, `{"status":"queued","priority":7,"scheduledAt":"2026-03-02T10:00:00.0000000+00:00"}`,
				pick(r.put("/routing/jobs/j", `{"matchingMode":{"kind":"queueAndMatch"},"priority":7}`).body, "status", "priority", "scheduledAt"))
			return []string{"RouterJobReceived", "RouterJobWaitingForActivation", "RouterJobQueued", "RouterWorkerOfferIssued"}
		},
		"suspended": func(r *rig) []string {
			r.job("created", `"queueId":"q","matchingMode":{"kind":"suspend"}`).status("j", "queued")
			same(r.t, `[]`, r.get("/routing/workers/w")["offers"])
			r.put("/routing/jobs/j", `{"matchingMode":{"kind":"queueAndMatch"}}`)
			r.offer("w")
			return []string{"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued"}
		},
		"unassigned": func(r *rig) []string {
			r.job("created", `"queueId":"q"`)
			r.act("assignments/"+r.accept("w")+":unassign").status("j", "queued")
			return []string{"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterWorkerOfferAccepted", "RouterJobUnassigned", "RouterJobQueued", "RouterWorkerOfferIssued"}
		},
		"closed later": func(r *rig) []string {
			r.job("created", `"queueId":"q"`)
			as := "/routing/jobs/j/assignments/" + r.accept("w")
			r.ok(200, "POST", as+":complete", "")
			r.ok(200, "POST", as+":close", `{"closeAt":"2026-03-02T09:05:00.000Z","dispositionCode":"later"}`)
			r.status("j", "completed")
			r.engine.wait(5 * time.Minute)
			r.status("j", "closed")
			return []string{"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterWorkerOfferAccepted", "RouterJobCompleted", "RouterJobClosed"}
		},
		"cancelled while assigned": func(r *rig) []string {
			r.job("created", `"queueId":"q"`)
			r.accept("w")
			r.act(":cancel").status("j", "cancelled")
			same(r.t, `0`, r.get("/routing/workers/w")["loadRatio"])
			return []string{"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterWorkerOfferAccepted", "RouterJobCancelled"}
		},
		"selector expires": func(r *rig) []string {
			r.job("created", `"queueId":"q","requestedWorkerSelectors":[{"key":"K","labelOperator":"equal","value":1,"expiresAfterSeconds":10}]`)
			same(r.t, `[]`, r.get("/routing/workers/w")["offers"])
			r.engine.wait(10 * time.Second)
			same(r.t, `[{"key":"K","labelOperator":"equal","value":1,"expiresAfterSeconds":10,"expedite":false,"status":"expired","expiresAt":"2026-03-02T09:00:10.0000000+00:00"}]`,
				r.get("/routing/jobs/j")["requestedWorkerSelectors"])
			r.offer("w")
			return []string{"RouterJobReceived", "RouterJobQueued", "RouterJobWorkerSelectorsExpired", "RouterWorkerOfferIssued"}
		},
		"offer expires": func(r *rig) []string {
			r.job("created", `"queueId":"q"`)
			r.engine.wait(time.Minute)
			same(r.t, `{"state":"inactive","availableForOffers":false,"offers":[]}`, pick(r.get("/routing/workers/w"), "state", "availableForOffers", "offers"))
			r.put("/routing/workers/w", `{"availableForOffers":true}`)
			r.offer("w")
			return []string{"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterWorkerOfferExpired", "RouterWorkerDeregistered", "RouterWorkerRegistered", "RouterWorkerOfferIssued"}
		},
		"exceptions": func(r *rig) []string {
			r.put("/routing/exceptionPolicies/e", `{"exceptionRules":[
				{"id":"long","trigger":{"kind":"queueLength","threshold":1},"actions":[{"kind":"cancel","note":"full","dispositionCode":"Full"}]},
				{"id":"slow","trigger":{"kind":"waitTime","thresholdSeconds":20},"actions":[{"kind":"manualReclassify","priority":50}]}]}`)
			r.put("/routing/queues/q", `{"exceptionPolicyId":"e"}`)
			r.engine.kinds()
			r.job("created", `"queueId":"q"`)
			r.put("/routing/jobs/k", `{"channelId":"chat","queueId":"q"}`)
			same(r.t, `{"status":"cancelled","dispositionCode":"Full","notes":[{"message":"full","addedAt":"*"}]}`, pick(r.get("/routing/jobs/k"), "status", "dispositionCode", "notes"))
			r.engine.wait(20 * time.Second)
			same(r.t, `50`, r.get("/routing/jobs/j")["priority"])
			return []string{
				"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterJobReceived", "RouterJobExceptionTriggered", "RouterJobCancelled",
				"RouterJobExceptionTriggered", "RouterWorkerOfferRevoked", "RouterJobQueued", "RouterWorkerOfferIssued",
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).centre()
			r.engine.kinds()
			want := life(r)
			if diff := cmp.Diff(want, r.engine.kinds()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Cases that the test program in test/router-sdk cannot wait for: a job that
// expires before its schedule, and one that no worker takes.
func TestLifecycle_UntakenAndUnscheduledJobsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.engine.kinds()
	r.job("pendingSchedule", `"queueId":"q","matchingMode":{"kind":"scheduleAndSuspend","scheduleAt":"2027-03-02T09:00:00Z"}`)
	r.put("/routing/jobs/k", `{"channelId":"fax","queueId":"q"}`)
	r.engine.wait(90 * 24 * time.Hour)
	r.status("j", "scheduleFailed").status("k", "cancelled")
	r.ok(204, "DELETE", "/routing/jobs/j", "")
	r.ok(204, "DELETE", "/routing/jobs/k", "")
	got := r.engine.kinds()
	slices.Sort(got)
	want := []string{
		"RouterJobCancelled", "RouterJobDeleted", "RouterJobDeleted", "RouterJobQueued", "RouterJobReceived", "RouterJobReceived",
		"RouterJobSchedulingFailed", "RouterWorkerDeregistered", // idle for seven days
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestLifecycle_DeclinedOffersAndDeletedWorkersHaveEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	r.engine.kinds()
	r.put("/routing/jobs/j", `{"channelId":"chat","queueId":"q"}`)
	r.ok(200, "POST", "/routing/workers/w/offers/"+r.offer("w")+":decline", "")
	r.ok(200, "PATCH", "/routing/workers/w", `{"availableForOffers":false}`)
	r.ok(200, "PATCH", "/routing/workers/w", `{"availableForOffers":true}`) // a new registration may be offered the job again
	r.ok(204, "DELETE", "/routing/workers/w", "")
	r.status("j", "queued")
	want := []string{
		"RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterWorkerOfferDeclined", "RouterWorkerDeregistered",
		"RouterWorkerRegistered", "RouterWorkerOfferIssued", "RouterWorkerOfferRevoked", "RouterWorkerDeleted",
	}
	if diff := cmp.Diff(want, r.engine.kinds()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// job submits job j and checks the status in the response.
func (r *rig) job(status, members string) *rig {
	r.t.Helper()
	a := r.ok(201, "PATCH", "/routing/jobs/j", `{"channelId":"chat",`+members+`}`)
	if a.body["status"] != status {
		r.t.Fatalf("the answer says %v; want %s", a.body["status"], status)
	}
	return r
}

// act performs an action on job j.
func (r *rig) act(action string) *rig {
	r.t.Helper()
	sep := "/"
	if action[0] == ':' {
		sep = ""
	}
	r.ok(200, "POST", "/routing/jobs/j"+sep+action, "")
	return r
}

func TestLifecycle_WorkersChangeStateWithTheirEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t).centre()
	state := func(want string) {
		t.Helper()
		if got := r.get("/routing/workers/w")["state"]; got != want {
			t.Fatalf("the worker is %v; want %s", got, want)
		}
	}
	available := func(is bool) { r.put("/routing/workers/w", fmt.Sprintf(`{"availableForOffers":%v}`, is)) }
	r.engine.kinds()
	r.ok(201, "PATCH", "/routing/workers/new", `{}`)
	r.put("/routing/workers/w", `{"tags":{"a":1}}`)
	r.put("/routing/jobs/j", `{"channelId":"chat","queueId":"q"}`)
	as := r.accept("w")
	available(false)
	state("draining")
	available(true)
	state("active")
	available(false)
	r.act("assignments/" + as + ":complete")
	state("draining")
	r.act("assignments/" + as + ":close")
	state("inactive")
	available(true)
	r.engine.wait(7*24*time.Hour + time.Second)
	state("inactive")
	r.ok(204, "DELETE", "/routing/workers/w", "")
	want := []string{
		"RouterWorkerUpdated", "RouterJobReceived", "RouterJobQueued", "RouterWorkerOfferIssued", "RouterWorkerOfferAccepted",
		"RouterWorkerDeregistered", "RouterWorkerRegistered", "RouterWorkerDeregistered", "RouterJobCompleted", "RouterJobClosed",
		"RouterWorkerRegistered", "RouterWorkerDeregistered", "RouterWorkerDeleted",
	}
	if diff := cmp.Diff(want, r.engine.kinds()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
