package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/actors/router"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/resource"
)

// outside is the external service that functions run on.
type outside struct {
	mu    sync.Mutex
	calls []string
	reply func(url, body string) (int, string, error)
}

func (o *outside) Post(ctx context.Context, url string, header http.Header, body []byte) (int, []byte, error) {
	o.mu.Lock()
	o.calls = append(o.calls, url+" "+header.Get("X-Functions-Key")+header.Get("Authorization")+" "+string(body))
	reply := o.reply
	o.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	status, text, err := reply(url, string(body))
	return status, []byte(text), err
}

func function(name string) *resource.Rule {
	return &resource.Rule{Kind: resource.RuleFunction, FunctionURI: "https://f/" + name, Credential: &resource.Credential{FunctionKey: "key"}}
}

// classified creates a job whose classification calls functions, and returns it
// when they have answered.
func classified(t *testing.T, o *outside) routing.Job {
	t.Helper()
	r := start(t, storetest.SQLite(t), func(options *router.Options) { options.Caller = o })
	r.furnish(1)
	r.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{
		FallbackQueueID: "q", PrioritizationRule: function("priority"),
		WorkerSelectorAttachments: []resource.WorkerAttachment{{Kind: resource.AttachRuleEngine, Rule: function("selectors")}},
	}})
	spec := job()
	spec.QueueID, spec.ClassificationPolicyID = "", "c"
	r.do(routing.PutJob{ID: "j", Spec: spec})
	time.Sleep(time.Minute)
	synctest.Wait()
	var j routing.Job
	if err := r.View(t.Context(), func(s *routing.State, _ time.Time) { j, _ = s.Job("j") }); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestFunctions_ClassifyJobs(t *testing.T) {
	answers := func(url, _ string) (int, string, error) {
		if strings.HasSuffix(url, "priority") {
			return 200, "17", nil
		}
		return 200, `[{"key":"language","labelOperator":"equal","value":"es"}]`, nil
	}
	failing := func(times int64) func(string, string) (int, string, error) {
		var left atomic.Int64 // two functions are called concurrently
		left.Store(times)
		return func(url, body string) (int, string, error) {
			if left.Add(-1) >= 0 {
				return 500, "", nil
			}
			return answers(url, body)
		}
	}
	for name, c := range map[string]struct {
		reply  func(string, string) (int, string, error)
		status resource.JobStatus
		calls  int
	}{
		"answers":                  {answers, resource.JobQueued, 2},
		"an answer after failures": {failing(2), resource.JobQueued, 4},
		"refusals":                 {func(string, string) (int, string, error) { return 403, "", nil }, resource.JobClassificationFailed, 2},
		"no reach":                 {func(string, string) (int, string, error) { return 0, "", errors.New("secret") }, resource.JobClassificationFailed, 6},
		"no JSON":                  {func(string, string) (int, string, error) { return 200, "<html>", nil }, resource.JobClassificationFailed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &outside{reply: c.reply}
				j := classified(t, o)
				if j.Status != c.status || len(o.calls) != c.calls {
					t.Errorf("the job is %s after the calls %q", j.Status, o.calls)
				}
				for _, call := range o.calls {
					if !strings.HasSuffix(call, ` key {"job":{"topic":"visa"}}`) {
						t.Errorf("a call was %s", call)
					}
				}
				if c.status == resource.JobQueued && (*j.Priority != 17 || len(j.AttachedWorkerSelectors) != 1 || len(j.Offers) != 1) {
					t.Errorf("the job became %+v", j)
				}
			})
		})
	}
}

// A webhook's token is requested first.
func TestFunctions_WebhooksGetAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outside{reply: func(url, _ string) (int, string, error) {
			if strings.HasSuffix(url, "/token") {
				return 200, `{"access_token":"T"}`, nil
			}
			return 200, "5", nil
		}}
		r := start(t, storetest.SQLite(t), func(options *router.Options) { options.Caller = o })
		r.furnish(1)
		r.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{FallbackQueueID: "q", PrioritizationRule: &resource.Rule{
			Kind: resource.RuleWebhook, WebhookURI: "https://hook", AuthorizationServerURI: "https://auth/token",
			ClientCredential: &resource.Credential{ClientID: "me", ClientSecret: "s&s"},
		}}})
		spec := job()
		spec.QueueID, spec.ClassificationPolicyID = "", "c"
		r.do(routing.PutJob{ID: "j", Spec: spec})
		synctest.Wait()
		want := []string{
			"https://auth/token  client_id=me&client_secret=s%26s&grant_type=client_credentials",
			`https://hook Bearer T {"job":{"topic":"visa"}}`,
		}
		if diff := cmp.Diff(want, o.calls); diff != "" {
			t.Error(diff)
		}
	})
}

// Functions score workers, one by one or in batches; a failure is score 0.
func TestFunctions_ScoreWorkers(t *testing.T) {
	for name, c := range map[string]struct {
		options resource.ScoringOptions
		reply   func(string, string) (int, string, error)
		winner  string
		calls   int
	}{
		"one by one": {resource.ScoringOptions{}, func(_, body string) (int, string, error) {
			if strings.Contains(body, `"worker":{"Id":"w1"`) && strings.Contains(body, `"selectors":[{"key":"level"`) {
				return 200, "0.9", nil
			}
			return 200, "0.1", nil
		}, "w1", 3},
		"many at once": {resource.ScoringOptions{IsBatchScoringEnabled: true, ScoringParameters: []string{"jobLabels"}}, func(_, body string) (int, string, error) {
			if strings.Contains(body, "selectors") || !strings.Contains(body, `"job":{"topic"`) {
				return 400, "", nil
			}
			return 200, "[1,2,3]", nil
		}, "w2", 1},
		"many by name": {resource.ScoringOptions{IsBatchScoringEnabled: true, BatchSize: 2}, func(_, body string) (int, string, error) {
			return 200, `{"w1":4,"w0":2}`, nil
		}, "w1", 2},
		"failures": {resource.ScoringOptions{}, func(string, string) (int, string, error) { return 404, "", nil }, "w0", 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &outside{reply: c.reply}
				r := start(t, storetest.SQLite(t), func(options *router.Options) { options.Caller = o })
				r.furnish(3)
				r.do(routing.PutDistribution{ID: "d", Spec: resource.DistributionSpec{Mode: resource.Mode{
					Kind: resource.BestWorker, ScoringRule: function("score"), ScoringRuleOptions: &c.options,
				}}})
				r.do(routing.PutJob{ID: "j", Spec: job()})
				time.Sleep(time.Minute / 2)
				synctest.Wait()
				if err := r.View(t.Context(), func(s *routing.State, _ time.Time) {
					j, _ := s.Job("j")
					if len(j.Offers) != 1 || j.Offers[0].WorkerID != c.winner || len(o.calls) != c.calls {
						t.Errorf("offers %+v after the calls %q", j.Offers, o.calls)
					}
				}); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// A request to a function that was unanswered at a crash is issued again after
// it.
func TestFunctions_AreAskedAgainAfterACrash(t *testing.T) {
	for _, rule := range []string{"classification", "score"} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.SQLite(t)
				silent := &outside{reply: func(string, string) (int, string, error) { return 0, "", errors.New("down") }}
				r := start(t, store, func(options *router.Options) { options.Caller = silent })
				r.furnish(2)
				spec := job()
				if rule == "score" {
					r.do(routing.PutDistribution{ID: "d", Spec: resource.DistributionSpec{Mode: resource.Mode{Kind: resource.BestWorker, ScoringRule: function("score")}}})
				} else {
					r.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{FallbackQueueID: "q", PrioritizationRule: function("priority")}})
					spec.QueueID, spec.ClassificationPolicyID = "", "c"
				}
				r.do(routing.PutJob{ID: "j", Spec: spec})
				r.Close()
				o := &outside{reply: func(string, string) (int, string, error) { return 200, "3", nil }}
				r = start(t, store, func(options *router.Options) { options.Caller = o })
				synctest.Wait()
				if err := r.View(t.Context(), func(s *routing.State, _ time.Time) {
					if j, _ := s.Job("j"); len(j.Offers) != 1 || len(o.calls) == 0 {
						text, _ := json.Marshal(j)
						t.Errorf("the job is %s after the calls %q", text, o.calls)
					}
				}); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// Many jobs wait for their turn: reaching the concurrency limit is not a
// failure of the function.
func TestFunctions_ClassificationsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outside{reply: func(string, string) (int, string, error) {
			time.Sleep(time.Second)
			return 200, "17", nil
		}}
		r := start(t, storetest.SQLite(t), func(options *router.Options) { options.Caller = o })
		r.furnish(0)
		r.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{FallbackQueueID: "q", PrioritizationRule: function("priority")}})
		spec := job()
		spec.QueueID, spec.ClassificationPolicyID = "", "c"
		const jobs = 600
		for i := range jobs {
			r.do(routing.PutJob{ID: strconv.Itoa(i), Spec: spec})
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		var f routing.Figures
		if err := r.View(t.Context(), func(s *routing.State, _ time.Time) { f = s.Figures() }); err != nil {
			t.Fatal(err)
		}
		if f.Jobs[resource.JobQueued] != jobs || len(o.calls) != jobs {
			t.Errorf("%v after %d calls", f.Jobs, len(o.calls))
		}
	})
}
