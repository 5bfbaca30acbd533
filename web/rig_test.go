package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/channels"
	"weir/operators"
	"weir/surveys"
	"weir/web"
	"weir/web/api"
	"weir/web/auth"
	"weir/web/httpjson"
)

// The canaries must not appear in any log line. All except the last two must
// not appear in any response either.
const (
	apiCanary      = "CANARY-api-token"
	providerCanary = "CANARY-provider-token"
	secretCanary   = "CANARY-callback-secret"
	phoneCanary    = "+15559998877"
	textCanary     = "CANARY-text"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rig is the handler over fakes, with a clock that stands still.
type rig struct {
	t       testing.TB
	handler http.Handler
	*memory
	people   *people
	consents *consents
	registry *prometheus.Registry
	logs     *logBuffer
	clock    *clock
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newRig(t testing.TB, change ...func(*web.Options)) *rig {
	t.Helper()
	r := &rig{t: t, registry: prometheus.NewRegistry(), logs: &logBuffer{}, clock: &clock{now: start}}
	r.memory = &memory{ended: map[weir.Ref][]weir.Attempt{}, incoming: map[weir.ChannelID][]weir.Incoming{}, now: r.clock.Now}
	r.consents = &consents{}
	r.people = &people{imports: map[int64][]surveys.Respondent{}}
	o := web.Options{
		Gate:    auth.NewGate(auth.GateOptions{Configured: []string{"another", apiCanary}, Now: r.clock.Now}),
		Surveys: r.people, SurveyStore: r.people, Importer: r.people, Respondents: r.people, People: r.consents,
		Options: api.Options{
			DefaultCapacity: 100, Directory: channels.NewDirectory(table(), "http://weir.test", nil), Now: r.clock.Now,
			Dead: noDeadLetters{}, Trail: auth.NewTrail(noAudit{}),
		},
		Store: r.memory, Broker: r.memory,
		Logger:  slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Metrics: web.NewMetrics(r.registry), Gatherer: r.registry, Version: "test",
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if r.handler, err = web.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, canary := range []string{apiCanary, providerCanary, secretCanary, phoneCanary, phoneCanary[1:], textCanary} {
			if strings.Contains(r.logs.String(), canary) {
				t.Errorf("the log holds %s:\n%s", canary, r.logs)
			}
		}
	})
	return r
}

// noDeadLetters and noAudit know nothing of any contact.
type (
	noDeadLetters struct{ operators.DeadLetterStore }
	noAudit       struct{ operators.AuditStore }
)

func (noDeadLetters) History(context.Context, weir.Ref) (operators.DeadLetterHistory, error) {
	return operators.DeadLetterHistory{}, nil
}

func (noAudit) AuditOf(context.Context, string, int) ([]operators.AuditEntry, error) { return nil, nil }

// got is a response.
type got struct {
	status int
	header http.Header
	body   string
}

func (g got) problem(t testing.TB) httpjson.Problem {
	t.Helper()
	var p httpjson.Problem
	if err := json.Unmarshal([]byte(g.body), &p); err != nil {
		t.Fatalf("%d: no problem body: %v\n%s", g.status, err, g.body)
	}
	return p
}

// into decodes a success response.
func into[T any](t testing.TB, g got, status int) T {
	t.Helper()
	var v T
	if g.status != status {
		t.Fatalf("status %d, want %d: %s", g.status, status, g.body)
	}
	d := json.NewDecoder(strings.NewReader(g.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v\n%s", err, g.body)
	}
	return v
}

func (r *rig) serve(req *http.Request) got {
	rec := httptest.NewRecorder()
	r.handler.ServeHTTP(rec, req)
	raw, err := io.ReadAll(rec.Result().Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return got{rec.Code, rec.Result().Header, string(raw)}
}

// spec returns the served API description.
func (r *rig) spec() *openAPI {
	r.t.Helper()
	return parseOpenAPI(r.t, r.serve(httptest.NewRequest("GET", "/openapi.json", nil)).body)
}

// do sends a request with a token and a JSON body, and checks the response
// against the invariants of every response.
func (r *rig) do(method, path, body string, header ...string) got {
	r.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, path, reader)
	req.Header.Set("Authorization", "Bearer "+apiCanary)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	g := r.serve(req)
	r.holds(req, g)
	return g
}

func (r *rig) holds(req *http.Request, g got) {
	r.t.Helper()
	name := req.Method + " " + req.URL.Path
	for _, canary := range []string{apiCanary, providerCanary, secretCanary, "CANARY-cause"} {
		if strings.Contains(g.body, canary) {
			r.t.Errorf("%s: the answer holds %s: %s", name, canary, g.body)
		}
	}
	if g.header.Get("X-Request-Id") == "" {
		r.t.Errorf("%s: no request id", name)
	}
	r.documented(req, g)
	if g.status < 400 || g.header.Get("Content-Type") != "application/problem+json" {
		if g.status >= 400 && !strings.HasPrefix(req.URL.Path, "/readyz") {
			r.t.Errorf("%s: %d without a problem: %s", name, g.status, g.body)
		}
		return
	}
	p := g.problem(r.t)
	if p.Status != g.status || p.Code == "" || p.Title == "" || p.Type != "about:blank" {
		r.t.Errorf("%s: incomplete problem: %s", name, g.body)
	}
	if (g.header.Get("Retry-After") != "") != (g.status == 503 || g.status == 429) {
		r.t.Errorf("%s: %d with Retry-After %q", name, g.status, g.header.Get("Retry-After"))
	}
}

// channel creates a channel directly in the store.
func (r *rig) channel(name, typ string, change ...func(*weir.Channel)) weir.Channel {
	r.t.Helper()
	c := weir.Channel{Name: name, Type: typ, Capacity: 10, Settings: weir.Settings{"base_url": "http://provider.test", "token": providerCanary}}
	for _, f := range change {
		f(&c)
	}
	c, _, err := r.PutChannel(r.t.Context(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// contact adds a contact directly to the store.
func (r *rig) contact(ch weir.Channel, p weir.Progress, change ...func(*weir.Contact)) weir.Contact {
	c := weir.Contact{
		Ref:  weir.Ref{Channel: ch.ID, ID: weir.ContactID(len(r.contacts) + 1)},
		Spec: weir.Spec{To: phoneCanary, Priority: weir.Normal, Messages: []string{textCanary}}, QueuedAt: start, Progress: p,
	}
	for _, f := range change {
		f(&c)
	}
	r.contacts = append(r.contacts, c)
	return c
}

// counter reads one series.
func (r *rig) counter(name string, labels ...string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			match := f.GetName() == name
			for i := 0; i+1 < len(labels); i += 2 {
				found := false
				for _, l := range m.GetLabel() {
					found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
				}
				match = match && found
			}
			if match {
				return m.GetCounter().GetValue()
			}
		}
	}
	r.t.Fatalf("no series %s %v", name, labels)
	return 0
}
