package dashboard_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/web/dashboard"
)

const (
	routerScope = "router pii:read"
	version     = "?api-version=2024-01-18-preview"
)

// routed fills the router: a queue, workers (one of them available), and jobs (the
// first is offered).
func (r *rig) routed() {
	r.t.Helper()
	put := func(path, body string) { r.t.Helper(); r.api("PATCH", "/routing/"+path+version, body, nil) }
	put("distributionPolicies/first", `{"offerExpiresAfterSeconds":600,"mode":{"kind":"longestIdle"}}`)
	put("exceptionPolicies/late", `{"exceptionRules":[{"id":"r","trigger":{"kind":"waitTime","thresholdSeconds":86400},"actions":[{"kind":"cancel"}]}]}`)
	put("queues/calls", `{"distributionPolicyId":"first","exceptionPolicyId":"late","name":"Calls <i>","labels":{"site":"north"}}`)
	put("classificationPolicies/sort", `{"fallbackQueueId":"calls","prioritizationRule":{"kind":"static","value":7}}`)
	put("workers/ann", `{"availableForOffers":true,"capacity":1,"queues":["calls"],"channels":[{"channelId":"voice","capacityCostPerJob":1}],"labels":{"French":true,"level":3},"tags":{"name":"<b>Ann</b>"}}`)
	put("workers/bob", `{"capacity":1,"queues":["calls"],"channels":[{"channelId":"voice","capacityCostPerJob":1}]}`)
	put("jobs/one", `{"channelId":"voice","queueId":"calls","labels":{"why":"<script>x</script>"},"requestedWorkerSelectors":[{"key":"level","labelOperator":"greaterThan","value":2}],"notes":[{"message":"called <i>twice</i>","addedAt":"2026-01-02T03:04:05Z"}]}`)
	put("jobs/two", `{"channelId":"fax","queueId":"calls"}`)
}

// accept accepts the only open offer.
func (r *rig) accept() {
	r.t.Helper()
	var w struct {
		Offers []struct {
			ID string `json:"offerId"`
		} `json:"offers"`
	}
	r.api("GET", "/routing/workers/ann"+version, "", &w)
	if len(w.Offers) != 1 {
		r.t.Fatalf("%d offers", len(w.Offers))
	}
	r.api("POST", "/routing/workers/ann/offers/"+w.Offers[0].ID+":accept"+version, "", nil)
}

func TestRouter_EmptyRouterNamesTheFirstStep(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	b := r.login(routerScope)
	b.get("/router").want(200).has("The router is empty", "weir route seed", `data-stream="/live/router"`)
	b.get("/router/workers").want(200).has("No workers yet")
	b.get("/router/queues").want(200).has("No queues yet")
	b.get("/router/jobs").want(200).has("No jobs yet")
	b.get("/router/policies").want(200).has("No policies of this kind.")
	b.get("/router/jobs/none").want(404).has("none")
}

func TestRouter_WallboardShowsJobsOffersAndWorkers(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	b := r.login(routerScope)
	b.get("/router").want(200).has("<dt>Jobs waiting</dt><dd>2</dd>", "<dt>Open offers</dt><dd>1</dd>", "<dt>Active workers</dt><dd>1</dd>",
		"<dt>Inactive</dt><dd>1</dd>", `href="/router/queues/calls"`, "Calls &lt;i&gt;", `href="/router?wall=1"`).hasNot("Calls <i>", "data-wall")
	b.get("/router?wall=1").want(200).has("data-wall", `data-stream="/live/router?wall=1"`)
	b.get("/router/queues").want(200).has(`href="/router/queues/calls"`)
}

func TestRouter_DetailPagesShowWorkersJobsAndQueues(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	b := r.login(routerScope)
	b.get("/router/workers/ann").want(200).has("Open offers", `href="/router/jobs/one"`, "<dt>French</dt><dd>true</dd>", "<dt>level</dt><dd>3</dd>",
		"was offered job", "&lt;b&gt;Ann&lt;/b&gt;", `id="off"`).hasNot("<b>Ann")
	b.get("/router/workers/bob").want(200).has(`id="on"`).hasNot(`id="off"`)
	b.get("/router/jobs/one").want(200).has("level &gt; 2", "1 of 2", "&lt;script&gt;x", "called &lt;i&gt;twice", "2026-01-02 03:04:05 UTC", "queued", `id="cancel"`).
		hasNot("<script>x", "<i>twice", `id="complete"`)
	b.get("/router/queues/calls").want(200).has("<dt>site</dt><dd>north</dd>", "first", "late", `href="/router/jobs/two"`, "No worker has the skills for these jobs", `href="/router/workers/bob"`, "<dt>Jobs waiting</dt><dd>2</dd>", "<dt>Estimated wait</dt><dd>not known yet</dd>")
	b.get("/router/jobs/one").want(200).has("<dd>1 of 2</dd>")
	b.get("/router/policies").want(200).has("longest idle; offers expire after 10 min", "after 1 d: cancel", "fallback queue calls; priority by static", "&#34;thresholdSeconds&#34;: 86400")
	for _, path := range []string{"/router", "/router/workers/ann", "/router/jobs/one", "/router/queues/calls", "/router/policies"} {
		if title := b.get(path).title(); strings.ContainsAny(title, "<>") || title == "" {
			t.Errorf("%s: title %q", path, title)
		}
	}
}

func TestRouter_AJobIsCompletedAndClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	r.accept()
	b := r.login(routerScope)
	p := b.get("/router/jobs/one").want(200).has("assigned to", `href="/router/workers/ann"`, `id="complete"`, `id="unassign"`).hasNot(`id="close"`)
	held := regexp.MustCompile(`(/router/jobs/one/assignments/[^/"]+)/complete`).FindStringSubmatch(p.body)[1]
	b.get(held+"/complete").want(200).has("ann", "assigned")
	b.post(held+"/close", nil).want(409).has(`role="alert"`) // it must be completed first
	b.post(held+"/complete", url.Values{"note": {"done well"}}).want(303)
	b.get("/router/jobs/one").want(200).has("Job one is completed.", "done well", `id="close"`).hasNot(`id="complete"`)
	b.post(held+"/close", url.Values{"disposition": {"sold"}}).want(303)
	b.get("/router/jobs/one").want(200).has("closed by", "<dd>sold</dd>").hasNot(`id="close"`, `id="cancel"`)
	b.get("/router/jobs/one/assignments/none/close").want(404).has("assignment not found")
}

func TestRouter_AJobIsUnassignedAndCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	r.accept()
	b := r.login(routerScope)
	held := regexp.MustCompile(`(/router/jobs/one/assignments/[^/"]+)/unassign`).FindStringSubmatch(b.get("/router/jobs/one").body)[1]
	b.get(held + "/unassign").want(200).has("returns to its queue")
	b.post(held+"/unassign", nil).want(303)
	b.get("/router/jobs/one").want(200).has("Job one is back in its queue.")
	b.get("/router/jobs/one/cancel").want(200).has("cannot be undone", `class="danger"`)
	b.post("/router/jobs/one/cancel", url.Values{"note": {"not needed"}, "disposition": {"gone"}}).want(303)
	b.get("/router/jobs/one").want(200).has("cancelled", "not needed", "<dd>gone</dd>").hasNot(`id="cancel"`)
	b.post("/router/jobs/one/cancel", nil).want(409).has(`role="alert"`)
}

func TestRouter_OffersToAWorkerAreStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	b := r.login(routerScope)
	b.get("/router/workers/ann/off").want(200).has("Open offers</dt><dd>1</dd>")
	b.post("/router/workers/ann/off", nil).want(303)
	b.get("/router/workers/ann").want(200).has("no longer gets offers", `id="on"`, "inactive")
	b.post("/router/workers/ann/on", nil).want(303)
	b.get("/router/workers/ann").want(200).has("is available", `id="off"`, "active")
}

func TestRouter_ListsAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	for i := range 51 {
		r.api("PATCH", fmt.Sprintf("/routing/jobs/more-%02d%s", i, version), `{"channelId":"fax","queueId":"calls"}`, nil)
	}
	b := r.login(routerScope)
	first := b.get("/router/jobs?status=queued&queue=calls").want(200).has(`href="/router/jobs/one"`, "more-47").hasNot("more-48")
	next := regexp.MustCompile(`href="(/router/jobs\?[^"]*)" rel="next"`).FindStringSubmatch(first.body)[1]
	b.get(strings.ReplaceAll(next, "&amp;", "&")).want(200).has("more-48", "more-50", "First page").hasNot("more-47", "Next page")
	b.get("/router/jobs?status=assigned").want(200).has("No matching jobs", "all jobs")
	b.get("/router/jobs?queue=elsewhere").want(200).has("No matching jobs")
	b.get("/router/jobs?cursor=%25").want(400).has("nextLink")
	b.get("/router/workers?state=inactive").want(200).has("bob").hasNot(">ann<")
	b.get("/router/workers?queue=elsewhere").want(200).has("No matching workers")
}

// Ids may contain anything: slashes, and colons before the name of an action.
func TestRouter_IDsMayContainAnything(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	const id = `a/b?c=1&d "<i>:cancel`
	path := strings.NewReplacer("/", "%2F", "?", "%3F", ":", "%3A", " ", "%20", `"`, "%22", "<", "%3C", ">", "%3E", "&", "%26", "=", "%3D").Replace(id)
	r.api("PATCH", "/routing/jobs/"+path+version, `{"channelId":"fax","queueId":"calls"}`, nil)
	b := r.login(routerScope)
	list := b.get("/router/jobs").want(200).hasNot(`"<i>`)
	link := regexp.MustCompile(`href="(/router/jobs/a[^"]*)"`).FindStringSubmatch(list.body)[1]
	link = strings.ReplaceAll(link, "&amp;", "&")
	b.get(link).want(200).has("a/b?c=1&amp;d").hasNot(`"<i>`)
	b.post(link+"/cancel", nil).want(303)
	b.get(link).want(200).has("job-cancelled")
	b.get("/router/jobs/two").want(200).hasNot("cancelled")
}

func TestRouter_NeedsItsScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router", "contacts:read")
	r.routed()
	half := r.login("router")
	half.get("/router").want(403).has("pii:read") // the router's data is not masked
	half.post("/router/workers/ann/off", nil).want(403)
	stranger := r.login("contacts:read")
	for _, path := range []string{"/router", "/router/workers", "/router/queues", "/router/jobs", "/router/policies", "/router/workers/ann", "/router/jobs/one", "/router/queues/calls", "/live/router"} {
		stranger.get(path).want(403)
	}
	stranger.post("/router/jobs/one/cancel", nil).want(403)
	stranger.get("/").want(200).hasNot(`href="/router"`)
	r.visitor().post("/router/jobs/one/cancel", nil).want(303)
	var j struct {
		Status string `json:"status"`
	}
	r.api("GET", "/routing/jobs/one"+version, "", &j)
	if j.Status != "queued" {
		t.Errorf("the job is %s", j.Status)
	}
}

// If the router accepts only signed requests, the dashboard explains what it needs
// instead of asking for a log-in that does not exist.
func TestRouter_WithKeysAsksForAToken(t *testing.T) {
	t.Parallel()
	key := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	r := newRigWith(t, []string{"JOB_ROUTER_ACCESS_KEYS=" + key})
	b := r.visitor()
	b.host = "127.0.0.1"
	b.get("/router").want(403).has("weir token create")
}

func TestRouter_StreamSendsChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, routerScope)
	r.routed()
	w := r.login(routerScope).watch(r.serve(), "/live/router/jobs/one")
	w.until("job", `id="cancel"`)
	r.api("POST", "/routing/jobs/one:cancel"+version, "", nil)
	w.until("job", "cancelled")
	w.end()
	<-w.done
}

// A router that reads its state says so on its pages.
func TestRouter_PagesSayThatItReadsItsState(t *testing.T) {
	t.Parallel()
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/whoami" {
			_, _ = io.WriteString(w, `{"open":true,"scopes":["router","pii:read"]}`)
			return
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"code":"ServiceUnavailable","message":"the router is reading its state"}}`)
	})
	d, err := dashboard.New(dashboard.Options{API: api, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/router", "/router/jobs"} {
		w := httptest.NewRecorder()
		d.Routes()["GET "+path].ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1"+path, nil))
		a := answer{t, w.Code, w.Header(), w.Body.String()}
		a.want(503).has("Unavailable", "the router is reading its state")
		if after := a.header.Get("Retry-After"); after != "7" {
			t.Errorf("Retry-After %q", after)
		}
	}
}

// A failing function appears on the router's page and in the durable log, without
// the secret parts of its address.
// Scenario 160.
func TestRouter_ShowsFailingFunctions(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	function := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, "7")
	}))
	t.Cleanup(function.Close)
	r := newRig(t, routerScope)
	r.routed()
	r.api("PATCH", "/routing/distributionPolicies/first"+version, `{"mode":{"kind":"bestWorker","scoringRule":{"kind":"function","functionUri":"`+function.URL+
		`/CANARY?code=CANARY","credential":{"functionKey":"CANARY-key"}}}}`, nil)
	b := r.login(routerScope)
	b.get("/router").want(200).hasNot("has failed since")
	for _, name := range []string{"ann", "bob"} {
		r.api("PATCH", "/routing/workers/"+name+version, `{"availableForOffers":true,"capacity":500}`, nil)
	}
	next := 0
	until := func(seen func() bool) {
		t.Helper()
		if !polling.Until(20*time.Second, 50*time.Millisecond, func() bool {
			if seen() {
				return true
			}
			next++
			r.api("PATCH", fmt.Sprintf("/routing/jobs/scored-%d%s", next, version), `{"channelId":"voice","queueId":"calls"}`, nil)
			return false
		}) {
			t.Fatalf("it is not seen: %s", b.get("/router").body)
		}
	}
	states := func() string {
		var page struct {
			Events []struct {
				Data struct{ Policy, State string }
			}
		}
		r.api("GET", "/v1/events?type=weir.router.function", "", &page)
		text := ""
		for _, e := range page.Events {
			text += e.Data.Policy + " " + e.Data.State + ","
		}
		return text
	}
	until(func() bool { return states() == "first failing," })
	b.get("/router").want(200).has("has failed since", "first", "127.0.0.1", "the function answered 403", "distribution policy").hasNot("CANARY")
	broken.Store(false)
	until(func() bool { return states() == "first failing,first working," })
	// A failure from before may be recorded after the success; the next call ends it.
	until(func() bool { return !strings.Contains(b.get("/router").want(200).body, "has failed since") })
	if strings.Contains(r.logs.String(), "CANARY-key") {
		t.Error("the log has the function's key")
	}
}
