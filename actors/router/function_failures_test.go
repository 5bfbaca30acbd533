package router_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/actors/router"
	"weir/events"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/resource"
)

// emitted records events.
type emitted struct {
	mu   sync.Mutex
	list []string
}

// Emit implements events.Emitter.
func (l *emitted) Emit(_ context.Context, list ...events.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range list {
		l.list = append(l.list, e.Type+" "+e.Source+" "+e.Subject+" "+string(e.Data))
	}
	return nil
}

// A failing function is reported once, and again when it works: at most one
// failure event a minute, however many jobs there are. The host is the only
// part of its address that appears.
// Scenario 160.
func TestFunctions_FailuresAreReportedOnce(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{"distribution policy": "d", "classification policy": "c"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { functionsAreTold(t, name, rule) })
		})
	}
}

// slowEmitter calls wait before it records an event that a function fails.
type slowEmitter struct {
	emitted
	wait func()
}

func (l *slowEmitter) Emit(ctx context.Context, list ...events.Event) error {
	if strings.Contains(string(list[0].Data), `"state":"failing"`) {
		l.wait()
	}
	return l.emitted.Emit(ctx, list...)
}

// The events of a function are emitted in order, however long each takes.
// Scenario 160.
func TestFunctions_EventsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, l := &outside{reply: func(string, string) (int, string, error) { return 400, "", nil }}, &slowEmitter{wait: func() { time.Sleep(time.Second) }}
		r := start(t, storetest.SQLite(t), func(options *router.Options) { options.Caller, options.Events = o, l })
		r.furnish(0)
		r.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{FallbackQueueID: "q", PrioritizationRule: function("p")}})
		spec := job()
		spec.QueueID, spec.ClassificationPolicyID = "", "c"
		for _, id := range []string{"fails", "works"} {
			r.do(routing.PutJob{ID: id, Spec: spec})
			time.Sleep(100 * time.Millisecond)
			o.mu.Lock()
			o.reply = func(string, string) (int, string, error) { return 200, "5", nil }
			o.mu.Unlock()
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(l.list) != 2 || !strings.Contains(l.list[0], `"failing"`) || !strings.Contains(l.list[1], `"working"`) {
			t.Errorf("events: %s", l.list)
		}
	})
}

func functionsAreTold(t *testing.T, kind, policy string) {
	o, l := &outside{}, &emitted{}
	broken := func(string, string) (int, string, error) { return 0, "", errors.New("CANARY") }
	works := func(string, string) (int, string, error) { return 200, "5", nil }
	r := start(t, storetest.SQLite(t), func(options *router.Options) { options.Caller, options.Events = o, l })
	r.furnish(3)
	spec, uses := job(), &resource.Rule{Kind: resource.RuleFunction, FunctionURI: "https://u:CANARY@f.example/CANARY?code=CANARY"}
	put := func(name string) {
		if policy == "d" {
			r.do(routing.PutDistribution{ID: "d", Spec: resource.DistributionSpec{Name: name, Mode: resource.Mode{Kind: resource.BestWorker, ScoringRule: uses}}})
			return
		}
		r.do(routing.PutClassification{ID: "c", Spec: resource.ClassificationSpec{Name: name, FallbackQueueID: "q", PrioritizationRule: uses}})
		spec.QueueID, spec.ClassificationPolicyID = "", "c"
	}
	put("")
	begun := time.Now().UTC()
	jobs := func(reply func(string, string) (int, string, error), n int, each time.Duration) {
		o.mu.Lock()
		o.reply = reply
		o.mu.Unlock()
		for range n {
			r.do(routing.PutJob{ID: "j", Spec: spec})
			time.Sleep(each)
			r.do(routing.CancelJob{ID: "j"})
			r.do(routing.DeleteJob{ID: "j"})
		}
		synctest.Wait()
	}
	jobs(broken, 10, 30*time.Second)
	failing := r.FailingFunctions()
	if len(failing) != 1 || string(failing[0].PolicyKind) != kind || failing[0].Policy != policy || failing[0].Host != "f.example" ||
		failing[0].Since.Sub(begun) > 10*time.Second || failing[0].LastAt.Sub(begun) < 4*time.Minute || failing[0].Reason != "the function could not be reached" {
		t.Errorf("failing: %+v", failing)
	}
	jobs(works, 1, 30*time.Second) // until the circuit breaker allows a call
	// It works and fails alternately for three minutes. Each time, the breaker may allow only
	// one of the first job's three calls.
	for range 9 {
		jobs(works, 2, 5*time.Second)
		if list := r.FailingFunctions(); len(list) != 0 {
			t.Errorf("it works, but: %+v", list)
		}
		jobs(broken, 1, 10*time.Second)
	}
	states := ""
	for _, e := range l.list {
		if !strings.HasPrefix(e, `weir.router.function router policy/`+policy+` {"policy":"`+policy+`","policyKind":"`+kind+`","host":"f.example","state":"`) || strings.Contains(e, "CANARY") {
			t.Errorf("told: %s", e)
		}
		states += " " + strings.Split(strings.Split(e, `"state":"`)[1], `"`)[0]
	}
	rest := strings.ReplaceAll(states, " failing working", "")
	if times := strings.Count(states, "failing"); times < 3 || times > 4 || rest != "" && rest != " failing" {
		t.Errorf("told: %s", states)
	}
	put("changed")
	if list := r.FailingFunctions(); len(list) != 0 {
		t.Errorf("the policy was changed, but: %+v", list)
	}
}
