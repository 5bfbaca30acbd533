// Package webtest runs the whole server over a store in memory, with a clock that stands still, for
// the tests of web and of the packages below it. A test asks it over HTTP, as a client does; each answer is
// checked against the published description, and no log line may hold a secret or a number.
package webtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/channels"
	"weir/operators"
	"weir/surveys"
	"weir/web"
	"weir/web/api"
	"weir/web/auth"
	"weir/web/httpjson"
	surveyapi "weir/web/surveys"
)

// The canaries must not appear in any log line. All except the last two must
// not appear in any response either.
const (
	APICanary      = "CANARY-api-token"
	ProviderCanary = "CANARY-provider-token"
	SecretCanary   = "CANARY-callback-secret"
	PhoneCanary    = "+15559998877"
	TextCanary     = "CANARY-text"
)

// Start is when the clock of a rig stands.
func Start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// Rig is the handler over fakes, with a clock that stands still.
type Rig struct {
	T       testing.TB
	Handler http.Handler
	*Memory
	People   *People
	Consents *consents
	Registry *prometheus.Registry
	Logs     *logBuffer
	Clock    *Clock
}

type Clock struct {
	mu      sync.Mutex
	Instant time.Time
}

func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Instant
}

func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Instant = c.Instant.Add(d)
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

func New(t testing.TB, change ...func(*web.Options)) *Rig {
	t.Helper()
	r := &Rig{T: t, Registry: prometheus.NewRegistry(), Logs: &logBuffer{}, Clock: &Clock{Instant: Start()}}
	r.Memory = &Memory{Ended: map[weir.Ref][]weir.Attempt{}, Incoming: map[weir.ChannelID][]weir.Incoming{}, now: r.Clock.Now}
	r.Consents = &consents{}
	r.People = &People{Imports: map[int64][]surveys.Respondent{}}
	o := web.Options{
		Gate:    auth.NewGate(auth.GateOptions{Configured: []string{"another", APICanary}, Now: r.Clock.Now}),
		Surveys: r.People, SurveyStore: r.People, Importer: r.People, Respondents: r.People, People: r.Consents,
		Options: api.Options{
			DefaultCapacity: 100, Directory: channels.NewDirectory(Table(), "http://weir.test", nil), Now: r.Clock.Now,
			Dead: noDeadLetters{}, Trail: auth.NewTrail(noAudit{}),
		},
		Store: r.Memory, Broker: r.Memory,
		Logger:  slog.New(slog.NewTextHandler(r.Logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Metrics: web.NewMetrics(r.Registry), Gatherer: r.Registry, Version: "test",
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if r.Handler, err = web.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, canary := range []string{APICanary, ProviderCanary, SecretCanary, PhoneCanary, PhoneCanary[1:], TextCanary} {
			if strings.Contains(r.Logs.String(), canary) {
				t.Errorf("the log holds %s:\n%s", canary, r.Logs)
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

// Got is a response.
type Got struct {
	Status int
	Header http.Header
	Body   string
}

func (g Got) Problem(t testing.TB) httpjson.Problem {
	t.Helper()
	var p httpjson.Problem
	if err := json.Unmarshal([]byte(g.Body), &p); err != nil {
		t.Fatalf("%d: no problem body: %v\n%s", g.Status, err, g.Body)
	}
	return p
}

// Into decodes a success response.
func Into[T any](t testing.TB, g Got, status int) T {
	t.Helper()
	var v T
	if g.Status != status {
		t.Fatalf("status %d, want %d: %s", g.Status, status, g.Body)
	}
	d := json.NewDecoder(strings.NewReader(g.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v\n%s", err, g.Body)
	}
	return v
}

func (r *Rig) Serve(req *http.Request) Got {
	rec := httptest.NewRecorder()
	r.Handler.ServeHTTP(rec, req)
	raw, err := io.ReadAll(rec.Result().Body)
	if err != nil {
		r.T.Fatal(err)
	}
	return Got{rec.Code, rec.Result().Header, string(raw)}
}

// Spec returns the served API description.
func (r *Rig) Spec() *OpenAPI {
	r.T.Helper()
	return ParseOpenAPI(r.T, r.Serve(httptest.NewRequestWithContext(r.T.Context(), http.MethodGet, "/openapi.json", nil)).Body)
}

// Do sends a request with a token and a JSON body, and checks the response
// against the invariants of every response.
func (r *Rig) Do(method, path, body string, header ...string) Got {
	r.T.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req := httptest.NewRequestWithContext(r.T.Context(), method, path, reader)
	req.Header.Set("Authorization", "Bearer "+APICanary)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	g := r.Serve(req)
	r.Holds(req, g)
	return g
}

func (r *Rig) Holds(req *http.Request, g Got) {
	r.T.Helper()
	name := req.Method + " " + req.URL.Path
	for _, canary := range []string{APICanary, ProviderCanary, SecretCanary, "CANARY-cause"} {
		if strings.Contains(g.Body, canary) {
			r.T.Errorf("%s: the answer holds %s: %s", name, canary, g.Body)
		}
	}
	if g.Header.Get("X-Request-Id") == "" {
		r.T.Errorf("%s: no request id", name)
	}
	r.documented(req, g)
	if g.Status < 400 || g.Header.Get("Content-Type") != "application/problem+json" {
		if g.Status >= 400 && !strings.HasPrefix(req.URL.Path, "/readyz") {
			r.T.Errorf("%s: %d without a problem: %s", name, g.Status, g.Body)
		}
		return
	}
	p := g.Problem(r.T)
	if p.Status != g.Status || p.Code == "" || p.Title == "" || p.Type != "about:blank" {
		r.T.Errorf("%s: incomplete problem: %s", name, g.Body)
	}
	if (g.Header.Get("Retry-After") != "") != (g.Status == 503 || g.Status == 429) {
		r.T.Errorf("%s: %d with Retry-After %q", name, g.Status, g.Header.Get("Retry-After"))
	}
}

// Channel creates a channel directly in the store.
func (r *Rig) Channel(name, typ string, change ...func(*weir.Channel)) weir.Channel {
	r.T.Helper()
	c := weir.Channel{Name: name, Type: typ, Capacity: 10, Settings: weir.Settings{"base_url": "http://provider.test", "token": ProviderCanary}}
	for _, f := range change {
		f(&c)
	}
	c, _, err := r.PutChannel(r.T.Context(), c)
	if err != nil {
		r.T.Fatal(err)
	}
	return c
}

// Contact adds a contact directly to the store.
func (r *Rig) Contact(ch weir.Channel, p weir.Progress, change ...func(*weir.Contact)) weir.Contact {
	c := weir.Contact{
		Ref:  weir.Ref{Channel: ch.ID, ID: weir.ContactID(len(r.StoredContacts) + 1)},
		Spec: weir.Spec{To: PhoneCanary, Priority: weir.Normal, Messages: []string{TextCanary}}, QueuedAt: Start(), Progress: p,
	}
	for _, f := range change {
		f(&c)
	}
	r.StoredContacts = append(r.StoredContacts, c)
	return c
}

// Counter reads one series.
func (r *Rig) Counter(name string, labels ...string) float64 {
	r.T.Helper()
	families, err := r.Registry.Gather()
	if err != nil {
		r.T.Fatal(err)
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
	r.T.Fatalf("no series %s %v", name, labels)
	return 0
}

func (r *Rig) As(method, path, body string, token string) Got {
	r.T.Helper()
	req := httptest.NewRequestWithContext(r.T.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return r.Serve(req)
}

// Refuses sends a request and checks the response against tc.
func (r *Rig) Refuses(t *testing.T, method, path string, tc Refused) {
	t.Helper()
	writes := r.Writes
	g := r.Do(method, path, tc.Body, tc.Header...)
	if tc.Status == 0 {
		tc.Status = 422
	}
	if tc.Code == "" {
		tc.Code = weir.CodeInvalid
	}
	if p := g.Problem(t); g.Status != tc.Status || p.Code != tc.Code {
		t.Fatalf("%d %s, want %d %s: %s", g.Status, p.Code, tc.Status, tc.Code, g.Body)
	}
	if d := cmp.Diff(tc.Mistakes, MistakesOf(t, g)); d != "" {
		t.Errorf("mistakes (-want +got):\n%s\n%s", d, g.Body)
	}
	if r.Writes != writes {
		t.Errorf("%d writes", r.Writes-writes)
	}
}

// Results returns the callback counters of a type that are not 0.
func (r *Rig) Results(typ string) map[string]float64 {
	r.T.Helper()
	out := map[string]float64{}
	known := []string{"unauthorised", "unavailable"}
	if typ != "none" {
		known = append(known, "applied", "duplicate", "late", "unknown", "invalid", "forged", "deleted", "ignored")
	}
	for _, result := range known {
		if n := r.Counter("weir_callbacks_total", "type", typ, "result", result); n > 0 {
			out[result] = n
		}
	}
	return out
}

// Call sends a provider's request.
func (r *Rig) Call(method, path, body, contentType string) Got {
	r.T.Helper()
	if method == "" {
		method = "GET"
	}
	req := httptest.NewRequestWithContext(r.T.Context(), method, path, strings.NewReader(body))
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	g := r.Serve(req)
	if g.Status != 500 { // the documentation of callbacks has no 500
		r.Holds(req, g)
	}
	return g
}

func (r *Rig) From(address, token string) Got {
	r.T.Helper()
	req := httptest.NewRequestWithContext(r.T.Context(), http.MethodGet, "/v1/channels", nil)
	req.RemoteAddr = address
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	g := r.Serve(req)
	r.Holds(req, g)
	return g
}

// parametersDocumented checks that a client which validates its own requests would
// have sent this one: it succeeded, so that its parameters are valid.
func (r *Rig) parametersDocumented(pattern string, op *operation, req *http.Request) {
	spec, err := description()
	if err != nil {
		r.T.Fatal(err)
	}
	values := map[string]string{}
	for name, given := range req.URL.Query() {
		values[name] = given[0]
	}
	names, path := placeholder.FindAllString(regexp.QuoteMeta(pattern), -1), spec.patterns[pattern].FindStringSubmatch(req.URL.Path)
	for i, name := range names {
		values[strings.Trim(name, `\{}`)] = path[i+1]
	}
	for i, p := range op.Parameters {
		value, given := values[p.Name]
		if !given || p.In == "header" {
			continue
		}
		text := []byte(value)
		if p.Schema["type"] == "string" {
			text, _ = json.Marshal(value)
		}
		at := PointerTo("paths", pattern, strings.ToLower(req.Method), "parameters", strconv.Itoa(i), "schema")
		if err := spec.Judge.Of(at, string(text)); err != nil {
			r.T.Errorf("%s %s: %s=%s succeeded, and is not as it is documented: %v", req.Method, pattern, p.Name, value, err)
		}
	}
}

// documented checks a response against the description: its status, code and
// body.
func (r *Rig) documented(req *http.Request, g Got) {
	r.T.Helper()
	name := req.Method + " " + req.URL.Path
	spec, err := description()
	if err != nil {
		r.T.Fatal(err)
	}
	pattern, op := spec.operation(req.Method, req.URL.Path)
	if op == nil {
		return
	}
	if g.Status < 400 {
		r.parametersDocumented(pattern, op, req)
	}
	status := strconv.Itoa(g.Status)
	res, ok := op.Responses[status]
	if !ok {
		r.T.Errorf("%s: status %d is not documented", name, g.Status)
		return
	}
	kind, _, _ := strings.Cut(g.Header.Get("Content-Type"), ";")
	if kind == "application/problem+json" {
		if code := string(g.Problem(r.T).Code); !slices.Contains(res.Codes, code) {
			r.T.Errorf("%s: %d with code %s is not documented: %v", name, g.Status, code, res.Codes)
		}
	}
	if strings.HasPrefix(pattern, "/callbacks/") && g.Status == http.StatusOK {
		return // defined by the provider
	}
	if _, ok := res.Content[kind]; !ok && g.Body != "" {
		r.T.Errorf("%s: %d with %s is not documented", name, g.Status, kind)
		return
	}
	if !strings.HasSuffix(kind, "json") || req.Method == http.MethodHead {
		return
	}
	if err := spec.Judge.Of(PointerTo("paths", pattern, strings.ToLower(req.Method), "responses", status, "content", kind, "schema"), g.Body); err != nil {
		r.T.Errorf("%s: %d is not as it is documented: %v\n%s", name, g.Status, err, g.Body)
	}
}

// Token makes a token with scopes, of which the gate of newBearers must be the rig's.
func (r *Rig) Token(scopes ...string) string {
	r.T.Helper()
	list, _ := json.Marshal(scopes)
	return Into[api.TokenView](r.T, r.As("POST", "/v1/tokens", `{"name":"team","scopes":`+string(list)+`}`, APICanary), http.StatusCreated).Token
}

func (r *Rig) OverAStoreCallbacks(t *testing.T, store api.Store) {
	t.Helper()
	Into[api.ChannelView](t, r.Do("PUT", "/v1/channels/b", GoodTexts), 201)
	ch, err := store.Channel(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if g := r.Call("", CallbackPath(ch, "incoming?guid=g&from=15559998877&body=x"), "", ""); g.Status != 200 || g.Body != "[]" {
			t.Errorf("%d %s", g.Status, g.Body)
		}
	}
	if v := Into[api.IncomingList](t, r.Do("GET", "/v1/channels/b/incoming", ""), 200); len(v.Incoming) != 1 {
		t.Errorf("%+v", v)
	}
	if g := r.Do("DELETE", "/v1/channels/b", ""); g.Status != 204 {
		t.Errorf("%d %s", g.Status, g.Body)
	}
	if g := r.Call("", CallbackPath(ch, "incoming?guid=h"), "", ""); g.Status != 200 || r.Results("texts")["deleted"] != 1 {
		t.Errorf("callback of a deleted channel: %d %v", g.Status, r.Results("texts"))
	}
	if g := r.Do("GET", "/v1/channels/b", ""); g.Status != 404 {
		t.Errorf("%d", g.Status)
	}
}

// Load sends a file.
func (r *Rig) Load(query, contentType, body string) Got {
	r.T.Helper()
	return r.Do("POST", ImportPath+query, body, "Content-Type", contentType)
}

// Respondent adds a respondent directly to the store.
func (r *Rig) Respondent(s int64, change ...func(*surveys.Respondent)) surveys.Respondent {
	p := surveys.Respondent{
		Survey: s, ID: surveys.RespondentID(len(r.People.StoredRespondents) + 1), Phone: PhoneNumber(len(r.People.StoredRespondents)),
		Attributes: map[string]string{"first_name": "Ana"}, Bucket: surveys.NoBucket, Progress: surveys.NewProgress(), Added: Start(),
	}
	for _, f := range change {
		f(&p)
	}
	r.People.StoredRespondents = append(r.People.StoredRespondents, p)
	return p
}

func (r *Rig) Put(name, more string) surveyapi.SurveyView {
	r.T.Helper()
	return Into[surveyapi.SurveyView](r.T, r.Do("PUT", "/v1/surveys/"+name, Survey(more)), 201)
}

// Stands puts a survey into a state.
func (r *Rig) Stands(name string, state surveys.State) surveys.Survey {
	r.T.Helper()
	s, err := r.People.find(surveyNamed(name))
	if err != nil {
		r.T.Fatal(err)
	}
	s.State = state
	return *s
}

// Life returns the events of a contact, one per line, without instants.
func (r *Rig) Life(t *testing.T, id string) []string {
	t.Helper()
	v := Into[api.TimelineView](t, r.Do("GET", "/v1/contacts/"+id+"/timeline", ""), 200)
	var lines []string
	for i, e := range v.Events {
		if i > 0 && e.At.Before(v.Events[i-1].At) {
			t.Errorf("out of order: %+v", v.Events)
		}
		line := e.What
		for _, more := range []string{e.Contact, e.By, e.Action, string(e.Outcome), e.Reason} {
			if more != "" {
				line += " " + more
			}
		}
		if e.Attempt > 0 {
			line += fmt.Sprintf(" (%d)", e.Attempt)
		}
		lines = append(lines, line)
	}
	if len(v.NotRecorded) == 0 {
		t.Error("it claims to be complete")
	}
	return lines
}
