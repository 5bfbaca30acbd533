package router_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	routing "weir/router"
	"weir/router/journal"
	routerapi "weir/web/router"
)

// engine runs a router in memory.
type engine struct {
	mu     sync.Mutex
	state  *routing.State
	at     time.Time
	events []journal.Event
	fail   error
	live   bool // it uses the real clock
}

func newEngine() *engine {
	return &engine{state: routing.New(routing.DefaultSettings()), at: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
}

func (e *engine) now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live {
		return time.Now().UTC()
	}
	return e.at
}

func (e *engine) wait(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at = e.at.Add(d)
	_, _ = e.apply(nil)
}

func (e *engine) apply(c routing.Command) ([]journal.Event, error) {
	events, err := e.state.Execute(c, e.at)
	e.events = append(e.events, events...)
	return events, err
}

// Do implements routing.Engine.
func (e *engine) Do(_ context.Context, build func(*routing.State, time.Time) (routing.Command, error), see func(*routing.State, []journal.Event)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail != nil {
		return e.fail
	}
	c, err := build(e.state, e.at)
	if err != nil {
		return err
	}
	events, err := e.apply(c)
	if err == nil && see != nil {
		see(e.state, events)
	}
	return err
}

// View implements routing.Engine.
func (e *engine) View(_ context.Context, see func(*routing.State, time.Time)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail != nil {
		return e.fail
	}
	see(e.state, e.at)
	return nil
}

// kinds returns the names of the public events since the last call.
func (e *engine) kinds() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, ev := range e.events {
		if journal.Public(ev) {
			out = append(out, ev.Kind())
		}
	}
	e.events = nil
	return out
}

// rig is the API on an in-memory engine, with a client that signs.
type rig struct {
	t       testing.TB
	engine  *engine
	handler http.Handler
	key     []byte
	version string
	judge   judge
}

func newRig(t testing.TB) *rig { return rigWith(t, routerapi.Options{}) }

func key(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

func rigWith(t testing.TB, o routerapi.Options) *rig {
	t.Helper()
	e := newEngine()
	o.Engine, o.Now = e, e.now
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Keys == nil && o.Open == nil {
		o.Keys = [][]byte{key(1)}
	}
	h, err := routerapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, engine: e, handler: h, key: key(1), version: "2024-01-18-preview"}
}

// answered is a response.
type answered struct {
	path   string // of the request
	t      testing.TB
	status int
	header http.Header
	text   string
	body   map[string]any
}

// request builds a request as the client sends it, without the signature.
func (r *rig) request(method, target, body string) *http.Request {
	r.t.Helper()
	if !strings.Contains(target, "api-version=") {
		sep := "?"
		if strings.Contains(target, "?") {
			sep = "&"
		}
		target += sep + "api-version=" + r.version
	}
	var reader io.Reader = http.NoBody
	if body != "" {
		reader = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, target, reader)
	req.Host = "router.example:8080"
	switch {
	case method == http.MethodPatch:
		req.Header.Set("Content-Type", "application/merge-patch+json")
	case body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// sign signs a request as it is sent.
func (r *rig) sign(req *http.Request, body string) *http.Request {
	return r.signAs(req, req.RequestURI, body)
}

func (r *rig) signAs(req *http.Request, target, body string) *http.Request {
	sum := sha256.Sum256([]byte(body))
	hash := base64.StdEncoding.EncodeToString(sum[:])
	date := r.engine.now().Format(http.TimeFormat)
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(req.Method + "\n" + target + "\n" + date + ";" + req.Host + ";" + hash))
	req.Header.Set("X-Ms-Date", date)
	req.Header.Set("X-Ms-Content-Sha256", hash)
	req.Header.Set("Authorization", "HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature="+
		base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return req
}

func (r *rig) send(req *http.Request) answered {
	r.t.Helper()
	rec := httptest.NewRecorder()
	r.handler.ServeHTTP(rec, req)
	a := answered{t: r.t, status: rec.Code, header: rec.Header(), text: rec.Body.String()}
	if a.text == "" {
		return a
	}
	if got := a.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		r.t.Errorf("%s %s: content type %q", req.Method, req.URL.Path, got)
	}
	if err := json.Unmarshal([]byte(a.text), &a.body); err != nil {
		r.t.Fatalf("%s %s: %v in %s", req.Method, req.URL.Path, err, a.text)
	}
	return a
}

// do sends a signed request. headers are pairs of name and value.
func (r *rig) do(method, target, body string, headers ...string) answered {
	r.t.Helper()
	req := r.sign(r.request(method, target, body), body)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	path := req.URL.EscapedPath()
	a := r.send(req)
	a.path = path
	r.documented(method, a)
	return a
}

// ok sends a signed request and requires a status.
func (r *rig) ok(status int, method, target, body string) answered {
	r.t.Helper()
	a := r.do(method, target, body)
	if a.status != status {
		r.t.Fatalf("%s %s: %d %s; want %d", method, target, a.status, a.text, status)
	}
	return a
}

func (r *rig) put(target, body string) answered {
	r.t.Helper()
	a := r.do(http.MethodPatch, target, body)
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		r.t.Fatalf("PATCH %s: %d %s", target, a.status, a.text)
	}
	return a
}

func (r *rig) get(target string) map[string]any {
	r.t.Helper()
	return r.ok(http.StatusOK, http.MethodGet, target, "").body
}

// is compares the body of a response. "*" in want matches any value.
func (a answered) is(want string) answered {
	a.t.Helper()
	same(a.t, want, a.body)
	return a
}

func same(t testing.TB, want string, got any) {
	t.Helper()
	var w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if diff := cmp.Diff(w, wild(w, got)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// wild replaces values in got by "*" wherever want has it.
func wild(want, got any) any {
	switch w := want.(type) {
	case string:
		if w == "*" && got != nil {
			return "*"
		}
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			out := map[string]any{}
			for k, v := range g {
				out[k] = wild(w[k], v)
			}
			return out
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			out := make([]any, len(g))
			for i := range g {
				out[i] = wild(w[i], g[i])
			}
			return out
		}
	}
	return got
}

// failed checks that a response is an error in the API's format.
func (a answered) failed(status int, code string) answered {
	a.t.Helper()
	e, _ := a.body["error"].(map[string]any)
	if a.status != status || e["code"] != code || e["message"] == "" || a.header.Get("X-Ms-Error-Code") != code {
		a.t.Fatalf("%d %s %s; want %d %s", a.status, a.header, a.text, status, code)
	}
	return a
}

// details returns code and target of each detail of an error.
func (a answered) details() (out []string) {
	e, _ := a.body["error"].(map[string]any)
	list, _ := e["details"].([]any)
	for _, d := range list {
		m, _ := d.(map[string]any)
		code, _ := m["code"].(string)
		target, _ := m["target"].(string)
		out = append(out, strings.TrimSpace(code+" "+target))
	}
	return out
}

func (a answered) message() string {
	e, _ := a.body["error"].(map[string]any)
	s, _ := e["message"].(string)
	return s
}

// centre creates a queue q, a policy and a worker w with capacity for one chat.
func (r *rig) centre() *rig {
	r.t.Helper()
	r.put("/routing/distributionPolicies/d", `{"offerExpiresAfterSeconds":60,"mode":{"kind":"longestIdle"}}`)
	r.put("/routing/queues/q", `{"distributionPolicyId":"d"}`)
	r.put("/routing/workers/w", `{"queues":["q"],"capacity":1,"channels":[{"channelId":"chat","capacityCostPerJob":1}],"availableForOffers":true}`)
	return r
}

// offer returns the id of a worker's only offer.
func (r *rig) offer(worker string) string {
	r.t.Helper()
	offers, _ := r.get("/routing/workers/" + worker)["offers"].([]any)
	if len(offers) != 1 {
		r.t.Fatalf("worker %s has %d offers; want one", worker, len(offers))
	}
	o, _ := offers[0].(map[string]any)
	id, _ := o["offerId"].(string)
	return id
}

// accept accepts a worker's only offer and returns the assignment id.
func (r *rig) accept(worker string) string {
	r.t.Helper()
	a := r.ok(http.StatusOK, http.MethodPost, "/routing/workers/"+worker+"/offers/"+r.offer(worker)+":accept", "")
	id, _ := a.body["assignmentId"].(string)
	return id
}

func (r *rig) status(job, want string) *rig {
	r.t.Helper()
	if got := r.get("/routing/jobs/" + job)["status"]; got != want {
		r.t.Fatalf("job %s is %v; want %s", job, got, want)
	}
	return r
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
