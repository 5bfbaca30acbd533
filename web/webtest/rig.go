// Package webtest runs the whole server over SQLite in memory, with a clock that stands still, for
// the tests of web and of the packages below it. A test asks it over HTTP, as a client does; each answer is
// checked against the published description, and no log line may hold a secret or a number.
package webtest

import (
	"bytes"
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
	"weir/api"
	"weir/channels"
	"weir/people"
	"weir/surveys"
	"weir/web"
	webapi "weir/web/api"
	"weir/web/auth"
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

// Rig is the handler over a store in memory and brokers that send nothing, with a clock that stands still. The store
// has the real time.
type Rig struct {
	T       testing.TB
	Handler http.Handler
	*Store
	*Broker
	People   *SurveyBroker
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
	return NewOn(t, "sqlite://:memory:", change...)
}

// NewOn is [New] over a database.
func NewOn(t testing.TB, url string, change ...func(*web.Options)) *Rig {
	t.Helper()
	r := &Rig{T: t, Registry: prometheus.NewRegistry(), Logs: &logBuffer{}, Clock: &Clock{Instant: Start()}}
	r.Store = newStore(t, url)
	r.Broker, r.People = &Broker{store: r.Store, now: r.Clock.Now}, &SurveyBroker{store: r.Store}
	o := web.Options{
		Gate:    auth.NewGate(auth.GateOptions{Configured: []string{"another", APICanary}, Now: r.Clock.Now}),
		Surveys: r.People, SurveyStore: r.Store, Importer: r.Store, Respondents: r.Store, People: r.Store, Limits: r.Store,
		Options: webapi.Options{
			DefaultCapacity: 100, Directory: channels.NewDirectory(Table(), "http://weir.test", nil), Now: r.Clock.Now,
			Dead: r.Store, Trail: auth.NewTrail(r.Store),
		},
		Store: r.Store, Broker: r.Broker,
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
		for _, canary := range append(r.canaries(), APICanary, ProviderCanary, SecretCanary, PhoneCanary, PhoneCanary[1:], TextCanary) {
			if strings.Contains(r.Logs.String(), canary) {
				t.Errorf("the log holds %s:\n%s", canary, r.Logs)
			}
		}
	})
	return r
}

// Got is a response.
type Got struct {
	Status int
	Header http.Header
	Body   string
}

func (g Got) Problem(t testing.TB) api.Problem {
	t.Helper()
	var p api.Problem
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
	if rec.Code == http.StatusInternalServerError {
		r.T.Logf("%s %s: status 500; the log:\n%s", req.Method, req.URL.Path, r.Logs)
	}
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
	for _, canary := range append(r.canaries(), APICanary, ProviderCanary, SecretCanary, "CANARY-cause") {
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
	want := c
	c, created, err := r.PutChannel(r.T.Context(), c)
	if err == nil && (!created || want.Deleting) {
		want.ID, want.Version, want.Secret, want.Created = c.ID, c.Version, c.Secret, c.Created
		c, err = r.UpdateChannel(r.T.Context(), want)
	}
	if err != nil {
		r.T.Fatal(err)
	}
	return c
}

// Contact adds a contact directly to the store. Without a progress it waits there.
func (r *Rig) Contact(ch weir.Channel, p weir.Progress, change ...func(*weir.Contact)) weir.Contact {
	r.T.Helper()
	c := weir.Contact{Spec: weir.Spec{To: PhoneCanary, Priority: weir.Normal, Messages: []string{TextCanary}}}
	for _, f := range change {
		f(&c)
	}
	got, err := r.Store.Accept(r.T.Context(), ch.ID, []weir.Spec{c.Spec})
	if err != nil {
		r.T.Fatal(err)
	}
	if p == (weir.Progress{}) {
		return got[0].Contact
	}
	return r.Move(got[0].Contact, p)
}

// Move gives a contact another progress, directly in the store.
func (r *Rig) Move(c weir.Contact, p weir.Progress, ended ...weir.Attempt) weir.Contact {
	r.T.Helper()
	err := r.move(r.T.Context(), c, p, ended...)
	if err == nil {
		c, _, err = r.Store.Contact(r.T.Context(), c.Ref)
	}
	if err != nil {
		r.T.Fatal(err)
	}
	return c
}

// All returns the contacts of all channels.
func (r *Rig) All() []weir.Contact {
	r.T.Helper()
	list, _, err := r.Contacts(r.T.Context(), weir.ContactFilter{Limit: 10_000})
	if err != nil {
		r.T.Fatal(err)
	}
	return list
}

// Messages returns what people wrote on a channel.
func (r *Rig) Messages(ch weir.Channel) []weir.Incoming {
	r.T.Helper()
	list, err := r.IncomingSince(r.T.Context(), ch.ID, 0, 1000)
	if err != nil {
		r.T.Fatal(err)
	}
	return list
}

// Said returns what people said about being contacted.
func (r *Rig) Said() []people.Consent {
	r.T.Helper()
	list, err := r.AllConsents(r.T.Context(), 0, 1000)
	if err != nil {
		r.T.Fatal(err)
	}
	return list
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
	writes := r.Writes()
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
	if n := r.Writes() - writes; n != 0 {
		t.Errorf("%d rows were written", n)
	}
}

// Results returns the callback counters of a type that are not 0.
func (r *Rig) Results(typ string) map[string]float64 {
	r.T.Helper()
	out := map[string]float64{}
	known := []string{"unauthorised", "unavailable"}
	if typ != "none" {
		known = append(known, "applied", "duplicate", "late", "unknown", "invalid", "forged", "unknown_path", "deleted", "ignored")
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

// Load sends a file.
func (r *Rig) Load(query, contentType, body string) Got {
	r.T.Helper()
	return r.Do("POST", ImportPath+query, body, "Content-Type", contentType)
}

// Respondent adds a respondent directly to the store.
func (r *Rig) Respondent(survey string, change ...func(*surveys.Respondent)) surveys.Respondent {
	r.T.Helper()
	return r.Crowd(survey, 1, func(_ int, p *surveys.Respondent) {
		for _, f := range change {
			f(p)
		}
	})[0]
}

// Crowd adds n respondents directly to the store, whose numbers continue those that there are.
func (r *Rig) Crowd(survey string, n int, change func(i int, p *surveys.Respondent)) []surveys.Respondent {
	r.T.Helper()
	s, first := r.SurveyNow(survey), r.Stored()
	var all []surveys.Respondent
	for i := range n {
		p := surveys.Respondent{Phone: PhoneNumber(first + i), Attributes: map[string]string{"first_name": "Ana"}, Bucket: surveys.NoBucket, Progress: surveys.NewProgress(), Added: Start()}
		if change != nil {
			change(i, &p)
		}
		all = append(all, p)
	}
	for part := range slices.Chunk(all, 1000) {
		added, err := r.Add(r.T.Context(), s.ID, 0, part)
		if err != nil {
			r.T.Fatal(err)
		}
		for i := range part {
			want := part[i]
			was, err := r.Store.Respondent(r.T.Context(), s.ID, added[i].ID)
			if err == nil && want.Progress != was.Progress {
				was, err = r.People.move(r.T.Context(), was, func(p *surveys.Respondent) {
					p.Progress, p.Contact, p.Bucket, p.Updated = want.Progress, want.Contact, want.Bucket, want.Updated
				})
			}
			if err != nil {
				r.T.Fatal(err)
			}
			part[i] = was
		}
	}
	return all
}

// Log adds entries about a respondent to the log of the survey.
func (r *Rig) Log(p surveys.Respondent, list ...surveys.LogEntry) {
	r.T.Helper()
	r.Change(p, func(*surveys.Respondent) {}, list...)
}

// Change changes a respondent directly in the store.
func (r *Rig) Change(p surveys.Respondent, change func(*surveys.Respondent), log ...surveys.LogEntry) surveys.Respondent {
	r.T.Helper()
	is, err := r.People.move(r.T.Context(), p, change, log...)
	if err != nil {
		r.T.Fatal(err)
	}
	return is
}

// RespondentsOf returns the respondents of a survey.
func (r *Rig) RespondentsOf(survey string) []surveys.Respondent {
	r.T.Helper()
	var all []surveys.Respondent
	for f := (surveys.Filter{Survey: r.SurveyNow(survey).ID, Limit: 1000}); ; {
		list, next, err := r.Respondents(r.T.Context(), f)
		if err != nil {
			r.T.Fatal(err)
		}
		if all = append(all, list...); next == 0 {
			return all
		}
		f.After = next
	}
}

func (r *Rig) Put(name, more string) api.SurveyView {
	r.T.Helper()
	return Into[api.SurveyView](r.T, r.Do("PUT", "/v1/surveys/"+name, Survey(more)), 201)
}

// SurveyNow returns a survey as it is stored.
func (r *Rig) SurveyNow(name string) surveys.Survey {
	r.T.Helper()
	s, err := r.Store.Store.Survey(r.T.Context(), name)
	if err != nil {
		r.T.Fatal(err)
	}
	return s
}

// Stands puts a survey into a state.
func (r *Rig) Stands(name string, state surveys.State) surveys.Survey {
	r.T.Helper()
	s := r.SurveyNow(name)
	s.State = state
	s, err := r.UpdateSurvey(r.T.Context(), s)
	if err != nil {
		r.T.Fatal(err)
	}
	return s
}

const ImportPath = "/v1/surveys/s1/respondents"

// PhoneNumber returns a number that is possible in Mexico.
func PhoneNumber(i int) string { return fmt.Sprintf("+5255%08d", i) }

func Active(p *surveys.Respondent) {
	p.Status, p.Disposition, p.Started, p.Step, p.Serial = surveys.Active, surveys.Contacted, Start().Add(time.Second), 1, 3
	p.Attempts, p.Bucket, p.Contact = surveys.Counts{SMS: 2, IVR: 1}, 1, weir.Ref{Channel: 3, ID: 9}
}

// Survey returns a body that begins with more. A member of more takes effect
// only if its name differs from those of the members that follow.
func Survey(more string) string {
	return `{` + more + `"schedule":{"time_zone":"America/Mexico_City","weekdays":["mon","tue"],"windows":[{"from":"09:00","to":"18:00"}]},
	"modes":{"sms":{"channel":"texts","retries":"10m 2h"},"ivr":{"channel":"calls"}},
	"arms":[{"modes":["sms","ivr"]}],
	"questionnaires":{"main":{"sms":[{"messages":["Hello {{first_name}}"]}],"ivr":[{"call":{"call_flow_id":7}}]}},
	"quotas":[{"where":{"age":{"from":18,"to":30}},"quota":10},{"where":{"age":{"from":31}},"quota":20}]}`
}

// Person is what Someone has stored.
type Person struct {
	Contacts   []weir.Contact // of the person, the oldest first; the first was retried and is done
	Respondent surveys.Respondent
}

// Someone fills a rig with contacts, messages and a respondent of one person, and others of another person.
func Someone(r *Rig) (p Person) {
	r.T.Helper()
	Into[api.ChannelView](r.T, r.Do("PUT", "/v1/channels/a", GoodTexts), 201)
	ch, err := r.Store.Channel(r.T.Context(), "a")
	if err != nil {
		r.T.Fatal(err)
	}
	message := func(from, body string) {
		if _, err := r.Receive(r.T.Context(), ch.ID, weir.Incoming{From: from, Body: body, ReceivedAt: Start()}); err != nil {
			r.T.Fatal(err)
		}
	}
	for i, to := range []string{PhoneCanary, "+15550001", PhoneCanary[1:], PhoneCanary} {
		c := r.Contact(ch, weir.Progress{}, func(c *weir.Contact) { c.To, c.Survey = to, "s" })
		switch i {
		case 0:
			c = r.Move(c, weir.Progress{State: weir.Done, Attempt: 2, Outcome: weir.Completed, FinishedAt: Start()}, weir.Attempt{Number: 1, ClaimedAt: Start(), Reason: "busy"})
			message("sms://"+PhoneCanary[1:], "si")
			message("+15550001", "no")
		case 2:
			message(PhoneCanary, "STOP")
		}
		if i != 1 {
			p.Contacts = append(p.Contacts, c)
		}
	}
	r.Put("s", "")
	p.Respondent = r.Respondent("s", func(x *surveys.Respondent) {
		x.Phone, x.Contact, x.Status, x.Disposition, x.Totals = PhoneCanary, p.Contacts[0].Ref, surveys.Active, surveys.Contacted, surveys.Totals{Received: 2}
	})
	r.Respondent("s", func(x *surveys.Respondent) { x.Phone = "+15550001" })
	return p
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
		for _, more := range []string{e.Contact, e.By, e.Action, e.Outcome, e.Reason} {
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
