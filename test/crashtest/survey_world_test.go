package crashtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	nuntium "weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
)

// outreach is one contact as a provider got it: its text, or the URL of the call's
// flow, identifies the respondent and the attempt.
type outreach struct {
	key  string // the provider's key of it, which begins with the contact's id
	what string // "survey respondent mode attempt", or the text of a reply
	at   time.Time
}

// records are the outreaches sent to a provider, recorded before the provider decides
// whether to accept them; its tally shows which it accepted.
type records struct {
	mu   sync.Mutex
	list []outreach
}

func (r *records) add(key, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, outreach{key, what, time.Now()})
}

func (r *records) all() []outreach {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]outreach{}, r.list...)
}

// whim returns a number from 0 to 99 that is always the same for the same person and
// question.
func whim(parts ...any) int {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, parts...)
	x := h.Sum64()
	return int((x ^ x>>29) % 100)
}

const surveyCapacity = 30

// newSurveyCalls returns a Verboice whose calls run the application's flow.
func newSurveyCalls(t *testing.T, from uint64) (*outside, *records) {
	t.Helper()
	s, err := verboice.New(verboice.Options{
		Ring: 20 * time.Millisecond, Talk: 100 * time.Millisecond, Digits: "1", Seed: from,
		Channels: []verboice.Channel{{ID: 1, Name: "main", Limit: surveyCapacity}},
		Outcomes: []string{"busy:0.2", "no-answer:0.3", "hangup:0.05", "failed=17:0.05", "silent:0.03"},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{
		channel: "calls", kind: "verboice", capacity: surveyCapacity, line: "main",
		settings: map[string]any{"username": "weir", "password": "secret", "channel": "main"},
		tally:    s.Tally(), faults: s.Faults(),
		usual: []string{"drop:0.1", "duplicate:0.05", "late=50ms@send:0.2"},
	}
	seen := &records{}
	o.serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if flow, err := url.Parse(q.Get("callback_url")); err == nil && flow.Host != "" {
			f := flow.Query()
			seen.add(verboice.OutreachKey(q.Get("status_callback_url"), q.Get("address")),
				outreachName(f.Get("survey"), f.Get("respondent"), "ivr", f.Get("attempt")))
		}
		s.ServeHTTP(w, r)
	})), s.Run)
	return o, seen
}

func outreachName(survey, respondent, mode, attempt string) string {
	return strings.Join([]string{survey, respondent, mode, attempt}, " ")
}

// newSurveySMS returns a Nuntium; write sends it a message from a person.
func newSurveySMS(t *testing.T, from uint64) (o *outside, seen *records, heard *heard, write func(guid, from, text string)) {
	t.Helper()
	heard = newHeard(t)
	s, err := nuntium.New(nuntium.Options{
		QueueTime: 10 * time.Millisecond, DeliverTime: 100 * time.Millisecond, ConfirmTime: 20 * time.Millisecond, TimeScale: 0.002, Seed: from,
		Outcomes: []string{"failed:0.05", "twice:0.1", "reversed:0.1", "failover:0.05", "delivered:0.3"},
		Client:   &http.Client{Transport: heard, Timeout: 10 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	o = &outside{
		channel: "sms", kind: "nuntium", capacity: surveyCapacity, line: "sms",
		settings: map[string]any{"account": "demo", "application": "weir", "token": "token", "channel": "sms"},
		tally:    s.Tally(), faults: s.Faults(),
		usual: []string{"drop@ack:0.1", "duplicate@ack:0.05", "late=50ms@send:0.2", "duplicate@incoming:0.1"},
		alike: func() int { return s.Records().Alike },
	}
	seen = &records{}
	o.serve(t, httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var many []struct{ GUID, Body string }
		if json.Unmarshal(body, &many) == nil {
			for _, m := range many {
				seen.add(m.GUID, m.Body)
			}
		}
		s.ServeHTTP(w, r)
	})), s.Run)
	return o, seen, heard, func(guid, from, text string) {
		if _, _, err := s.Receive(nuntium.Incoming{GUID: guid, From: from, To: "100", Body: text, Channel: "sms"}); err != nil {
			t.Error(err)
		}
	}
}

// heard records when an incoming message was first answered 2xx.
type heard struct {
	next *http.Transport
	mu   sync.Mutex
	at   map[string]time.Time // by guid
}

func newHeard(t *testing.T) *heard {
	t.Helper()
	h := &heard{next: &http.Transport{MaxIdleConnsPerHost: 8}, at: map[string]time.Time{}}
	t.Cleanup(h.next.CloseIdleConnections)
	return h
}

// RoundTrip implements http.RoundTripper.
func (h *heard) RoundTrip(r *http.Request) (*http.Response, error) {
	values := r.URL.Query()
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			text, _ := io.ReadAll(body)
			_ = body.Close()
			if form, err := url.ParseQuery(string(text)); err == nil && form.Get("guid") != "" {
				values = form
			}
		}
	}
	response, err := h.next.RoundTrip(r)
	if err == nil && response.StatusCode/100 == 2 {
		h.mu.Lock()
		defer h.mu.Unlock()
		if guid := values.Get("guid"); h.at[guid].IsZero() {
			h.at[guid] = time.Now()
		}
	}
	return response, err
}

func (h *heard) when(guid string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at[guid]
}

// application conducts the conversations: it scripts the calls, answers messages, and
// reports.
type application struct {
	t    *testing.T
	api  *client
	url  string
	work sync.WaitGroup

	mu        sync.Mutex
	completed map[string]bool // reports of an end that were answered 200
	refused   map[string]bool // reports that were too late
	told      map[string]int  // how often it got each message, by event id
}

func newApplication(t *testing.T, api *client) *application {
	t.Helper()
	a := &application{t: t, api: api, completed: map[string]bool{}, refused: map[string]bool{}, told: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/call", a.call)
	mux.HandleFunc("POST /messages", a.message)
	server := httptest.NewServer(mux)
	a.url = server.URL
	t.Cleanup(func() { server.Close(); a.work.Wait() })
	return a
}

// call asks a question; two thirds of the people who pick up answer it.
func (a *application) call(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	survey, who := q.Get("survey"), q.Get("respondent")
	w.Header().Set("Content-Type", "application/xml")
	switch {
	case r.PostFormValue("Digits") != "":
		a.work.Go(func() { a.report(survey, who, "completed") })
		_, _ = io.WriteString(w, "<Response><Hangup/></Response>")
	case whim(survey, who, "call") < 66:
		again := strings.ReplaceAll("/call?"+q.Encode(), "&", "&amp;")
		_, _ = fmt.Fprintf(w, `<Response><Gather numDigits="1" action="%s"/><Hangup/></Response>`, again)
	default:
		_, _ = io.WriteString(w, "<Response><Hangup/></Response>")
	}
}

// report posts a disposition until Weir answers.
func (a *application) report(survey, who, disposition string) {
	path := "/v1/surveys/" + survey + "/respondents/" + who + "/disposition"
	for deadline := time.Now().Add(2 * time.Minute); ; {
		got := a.api.do(a.t.Context(), http.MethodPost, path, map[string]any{"disposition": disposition})
		switch {
		case got.status == http.StatusOK, got.status == http.StatusConflict:
			a.mu.Lock()
			defer a.mu.Unlock()
			if got.status == http.StatusOK {
				a.completed[survey+" "+who] = true
			} else {
				a.refused[survey+" "+who] = true
			}
			return
		case got.status != 0 && got.status != http.StatusServiceUnavailable:
			a.t.Errorf("a report was answered %d %s", got.status, got.body)
			return
		case time.Now().After(deadline) || !rest(a.t.Context().Done(), 20*time.Millisecond):
			return
		}
	}
}

// message answers a person's message: with thanks and an end, or with a question.
func (a *application) message(w http.ResponseWriter, r *http.Request) {
	var e struct {
		ID   string
		Data struct{ Survey, Respondent, Text string }
	}
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		a.t.Error(err)
		return
	}
	a.mu.Lock()
	a.told[e.ID]++
	a.mu.Unlock()
	answer := map[string]any{}
	switch e.Data.Text {
	case "1":
		answer["disposition"] = "completed"
		answer["messages"] = []string{"reply thanks " + e.ID}
	case "what":
		answer["disposition"] = "started"
		answer["messages"] = []string{"reply again " + e.ID}
	}
	_ = json.NewEncoder(w).Encode(answer)
}
