// Package judge lets Twilio's own Go and Node libraries judge the channel types for
// Twilio and the simulated Twilio: make test-twilio runs it.
package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twilio/twilio-go"
	sdk "github.com/twilio/twilio-go/client"
	api "github.com/twilio/twilio-go/rest/api/v2010"

	"weir"
	"weir/channels"
	driver "weir/channels/twilio"
	"weir/channels/twilio/simulator"
)

const (
	token  = "12345"
	public = "https://weir.example/prefix"
	base   = public + "/callbacks/sms/s3cr3t"
	policy = "#rc=5&rp=ct,rt,5xx&tt=15000"
	to     = "+15550001234"
	from   = "+15559990000"
	text   = "hello & good-bye + ☃ =?"
	twiml  = "<Response><Say>hello & good-bye</Say></Response>"
)

// request holds the parts of a request that Twilio reads.
type request struct {
	Method, Path, ContentType, User, Password string
	Query, Form                               url.Values
}

// peer is a simulated Twilio that records requests and receives its own callbacks.
type peer struct {
	url     string
	arrived chan struct{} // one for each callback

	mu        sync.Mutex
	requests  []request
	callbacks []*http.Request
	bodies    []string
}

func newPeer(t *testing.T, o simulator.Options) *peer {
	t.Helper()
	p := &peer{arrived: make(chan struct{}, 100)}
	o.AuthToken, o.Client = token, &http.Client{Transport: p}
	sim, err := simulator.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ := url.ParseQuery(string(body))
		user, password, _ := r.BasicAuth()
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		p.mu.Lock()
		p.requests = append(p.requests, request{r.Method, r.URL.Path, kind, user, password, r.URL.Query(), form})
		p.mu.Unlock()
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	all.Go(func() { sim.Run(ctx) })
	t.Cleanup(func() { cancel(); all.Wait() })
	return p
}

// RoundTrip takes the callbacks, wherever they go.
func (p *peer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.callbacks, p.bodies = append(p.callbacks, r), append(p.bodies, string(body))
	p.arrived <- struct{}{}
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

// creates returns the recorded requests that made something.
func (p *peer) creates() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []request
	for _, r := range p.requests {
		if r.Method == http.MethodPost && (strings.HasSuffix(r.Path, "/Messages.json") || strings.HasSuffix(r.Path, "/Calls.json")) {
			out = append(out, r)
		}
	}
	return out
}

func (p *peer) driver(t *testing.T, typ channels.Type, more weir.Settings) channels.Driver {
	t.Helper()
	s := weir.Settings{"base_url": p.url, "account_sid": simulator.AccountSID, "auth_token": token, "from": from}
	for k, v := range more {
		s[k] = v
	}
	if errs := typ.CheckSettings(s, 10); len(errs) > 0 {
		t.Fatal(errs)
	}
	d, err := typ.New(channels.Config{Settings: s, CallbackURL: base, HTTP: &http.Client{Transport: http.DefaultTransport}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// redirected sends the library's requests to another server.
type redirected string

func (base redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	u, _ := url.Parse(string(base))
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = u.Scheme, u.Host, u.Host
	return http.DefaultTransport.RoundTrip(r)
}

func (p *peer) goSDK() *twilio.RestClient {
	c := &sdk.Client{Credentials: sdk.NewCredentials(simulator.AccountSID, token), HTTPClient: &http.Client{Transport: redirected(p.url), Timeout: 10 * time.Second}}
	c.SetAccountSid(simulator.AccountSID)
	return twilio.NewRestClientWithParams(twilio.ClientParams{Client: c})
}

func node(t *testing.T, result any, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "node", append([]string{"sdk.mjs"}, args...)...).Output()
	if err != nil {
		stderr := ""
		if e, ok := err.(*exec.ExitError); ok {
			stderr = string(e.Stderr)
		}
		t.Fatalf("node: %v\n%s", err, stderr)
	}
	if err := json.Unmarshal(out, result); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func attempt() channels.Attempt {
	return channels.Attempt{ID: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 71}, Number: 2}, To: to, ClaimedAt: time.Now()}
}

// The driver and both libraries send the same message and the same call.
func TestTwilio_RequestsAreThoseOfTheLibraries(t *testing.T) {
	p := newPeer(t, simulator.Options{QueueTime: time.Hour})
	a := attempt()
	a.Messages = []string{text}
	if s := p.driver(t, driver.Type(), nil).Send(t.Context(), a); s.Status != channels.Accepted {
		t.Fatalf("got %+v", s)
	}
	a.Messages, a.Call = nil, &weir.Call{TwiML: twiml}
	if s := p.driver(t, driver.VoiceType(), weir.Settings{"machine_detection": "Enable"}).Send(t.Context(), a); s.Status != channels.Accepted {
		t.Fatalf("got %+v", s)
	}
	ours := p.creates()

	messageURL, callURL := base+"/message/7-1z-2"+policy, base+"/call/7-1z-2"+policy
	events := []string{"initiated", "ringing", "answered", "completed"}
	c := p.goSDK()
	m := &api.CreateMessageParams{}
	m.SetTo(to)
	m.SetFrom(from)
	m.SetBody(text)
	m.SetStatusCallback(messageURL)
	message, err := c.Api.CreateMessage(m)
	if err != nil {
		t.Fatal(err)
	}
	v := &api.CreateCallParams{}
	v.SetTo(to)
	v.SetFrom(from)
	v.SetTwiml(twiml)
	v.SetStatusCallback(callURL)
	v.SetStatusCallbackEvent(events)
	v.SetTimeout(60)
	v.SetMachineDetection("Enable")
	call, err := c.Api.CreateCall(v)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "Go", ours, p.creates()[2:])
	readByGo(t, c, message, call)

	before := len(p.creates())
	var read struct {
		Message struct {
			SID, Status, Body, Segments string
			Dated                       bool
		}
		Call struct {
			SID, Status, Direction string
			Dated                  bool
		}
		Fetched, Canceled, FetchedCall string
		Listed, Calls                  []string
		Refusal                        struct{ Code, Status int }
	}
	node(t, &read, "requests", p.url, simulator.AccountSID, token, marshal(t, map[string]any{
		"message": map[string]any{"to": to, "from": from, "body": text, "statusCallback": messageURL},
		"call": map[string]any{
			"to": to, "from": from, "twiml": twiml, "statusCallback": callURL, "statusCallbackEvent": events, "timeout": 60, "machineDetection": "Enable",
		},
	}))
	same(t, "Node", ours, p.creates()[before:before+2])
	if !read.Message.Dated || !read.Call.Dated || read.Message.Status != "queued" || read.Message.Body != text || read.Message.Segments != "1" ||
		read.Call.Direction != "outbound-api" || read.Fetched != read.Message.SID || len(read.Listed) != 3 || read.Listed[0] != read.Message.SID ||
		len(read.Calls) != 3 || read.Canceled != "canceled" || read.FetchedCall != "canceled" || read.Refusal.Code != 21211 || read.Refusal.Status != 400 {
		t.Errorf("Node reads %+v", read)
	}
}

// same compares requests field by field.
func same(t *testing.T, name string, ours, theirs []request) {
	t.Helper()
	if len(ours) != len(theirs) || len(ours) != 2 {
		t.Fatalf("%s: %d and %d requests", name, len(ours), len(theirs))
	}
	for i := range ours {
		a, b := reflect.ValueOf(ours[i]), reflect.ValueOf(theirs[i])
		for f := range a.NumField() {
			if !reflect.DeepEqual(a.Field(f).Interface(), b.Field(f).Interface()) && fmt.Sprint(a.Field(f)) != fmt.Sprint(b.Field(f)) {
				t.Errorf("%s, request %d, %s: the driver sends %v, the library %v", name, i, a.Type().Field(f).Name, a.Field(f), b.Field(f))
			}
		}
	}
}

// readByGo lets the Go library read every answer of the simulator.
func readByGo(t *testing.T, c *twilio.RestClient, message *api.ApiV2010Message, call *api.ApiV2010Call) {
	t.Helper()
	if *message.Status != "queued" || *message.Body != text || *message.NumSegments != "1" || message.ErrorCode != nil || *call.Status != "queued" {
		t.Errorf("Go reads %+v, %+v", message, call)
	}
	if _, err := time.Parse(time.RFC1123Z, *message.DateCreated); err != nil {
		t.Error(err)
	}
	fetched, err := c.Api.FetchMessage(*message.Sid, nil)
	if err != nil || *fetched.Sid != *message.Sid {
		t.Errorf("fetch: %v", err)
	}
	list := &api.ListMessageParams{}
	list.SetTo(to)
	list.SetPageSize(1) // two pages
	listed, err := c.Api.ListMessage(list)
	if err != nil || len(listed) != 2 || *listed[0].Sid != *message.Sid {
		t.Errorf("list: %v, %d", err, len(listed))
	}
	change := &api.UpdateCallParams{}
	change.SetStatus("canceled")
	changed, err := c.Api.UpdateCall(*call.Sid, change)
	if err != nil || *changed.Status != "canceled" {
		t.Errorf("cancel: %v", err)
	}
	calls := &api.ListCallParams{}
	calls.SetTo(to)
	if listed, err := c.Api.ListCall(calls); err != nil || len(listed) != 2 {
		t.Errorf("list of calls: %v, %d", err, len(listed))
	}
	_, err = c.Api.FetchCall("CA"+strings.Repeat("f", 32), nil)
	if e, ok := err.(*sdk.TwilioRestError); !ok || e.Code != 20404 || e.Status != 404 {
		t.Errorf("unknown: %v", err)
	}
}
