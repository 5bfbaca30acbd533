package nuntium_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/nuntium/simulator"
	"weir/channels/simulation/memnet"
	"weir/internal/httponce"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret   = "s3cr3tpath"
	password = "appl1cation"
	bearer   = "b34rer"
	number   = "+15550001234"
)

// world is a simulated Nuntium and the two ends that talk to it: our driver
// and our callback endpoint. All of it is in one synctest bubble, connected by
// an in-memory network, so that time is exact.
type world struct {
	t      *testing.T
	sim    *simulator.Server
	client *http.Client
	net    *memnet.Network

	mu       sync.Mutex
	driver   channels.Driver
	answers  func(n int) int // status for the n-th callback, from 1; 0: as the reading determines
	readings []channels.CallbackResult
	heard    []time.Duration // times of the callbacks, since the start
	raw      []*http.Request
	start    time.Time
}

// inWorld runs a test in a bubble with a prepared world.
func inWorld(t *testing.T, o simulator.Options, settings weir.Settings, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o)
		w.driver = w.newDriver(settings)
		test(w)
	})
}

func newWorld(t *testing.T, o simulator.Options) *world {
	w := &world{t: t, net: &memnet.Network{}, start: time.Now()}
	transport := httponce.New(httponce.Options{Dial: w.net.Dial})
	w.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	o.Client = w.client
	o.Account, o.Password = "acme", "acc0unt"
	if o.Applications == nil {
		o.Applications = []simulator.Application{{Name: "weir", Password: password, Tokens: []string{bearer}}}
	}
	if o.Channels == nil {
		o.Channels = []simulator.Channel{{Name: "sms", Enabled: true, Application: "weir"}}
	}
	sim, err := simulator.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.sim = sim
	t.Cleanup(transport.CloseIdleConnections)
	t.Cleanup(w.net.Serve("weir.test", http.HandlerFunc(w.callback)))
	t.Cleanup(w.net.Host("nuntium.test", sim, sim.Run))
	return w
}

func basicSettings(more ...weir.Settings) weir.Settings {
	s := weir.Settings{
		"base_url": "http://nuntium.test", "account": "acme", "application": "weir",
		"password": password, "channel": "sms",
	}
	return merge(s, more)
}

func bearerSettings(more ...weir.Settings) weir.Settings {
	s := weir.Settings{"base_url": "http://nuntium.test/", "account": "acme", "token": bearer, "channel": "sms"}
	return merge(s, more)
}

func merge(s weir.Settings, more []weir.Settings) weir.Settings {
	for _, m := range more {
		for k, v := range m {
			s[k] = v
		}
	}
	return s
}

func (w *world) newDriver(s weir.Settings) channels.Driver {
	w.t.Helper()
	typ := nuntium.Type()
	if errs := typ.CheckSettings(s, 100); len(errs) > 0 {
		w.t.Fatal(errs)
	}
	d, err := typ.New(channels.Config{Settings: s, CallbackURL: "http://weir.test/callbacks/sms/" + secret, HTTP: w.client})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) prepare() {
	w.t.Helper()
	if err := w.driver.Prepare(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// callback is our endpoint, as the web package implements it.
func (w *world) callback(rw http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/callbacks/sms/"+secret+"/")
	if !ok {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	c := channels.Callback{Method: r.Method, Path: path, Query: r.URL.Query(), At: time.Now()}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		_ = r.ParseForm()
		c.Form = r.PostForm
	} else {
		c.Body, _ = io.ReadAll(r.Body)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, time.Since(w.start))
	w.raw = append(w.raw, r)
	if w.answers != nil {
		if status := w.answers(len(w.heard)); status != 0 {
			rw.WriteHeader(status)
			return
		}
	}
	reading, err := w.driver.ParseCallback(c)
	if err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	w.readings = append(w.readings, reading)
	if reading.ContentType != "" {
		rw.Header().Set("Content-Type", reading.ContentType)
	}
	_, _ = rw.Write(reading.Body)
}

// answer sets how callbacks are answered from now on.
func (w *world) answer(status func(n int) int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = status
}

// after lets time pass and waits until everything is idle.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// reports returns the reports of all callbacks so far.
func (w *world) reports() []weir.Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []weir.Report
	for _, r := range w.readings {
		out = append(out, r.Reports...)
	}
	return out
}

func (w *world) instants() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Duration(nil), w.heard...)
}

// request makes a raw request to the simulator and returns status, header and
// body.
func (w *world) request(method, target, user, pass, body string) (int, http.Header, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://nuntium.test"+target, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	switch {
	case user == "bearer":
		r.Header.Set("Authorization", "Bearer "+pass)
	case user != "":
		r.SetBasicAuth(user, pass)
	}
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

func attempt(id weir.ContactID, messages ...string) channels.Attempt {
	return channels.Attempt{
		ID: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: id}, Number: 1},
		To: number, Messages: messages,
	}
}

// keepsSecrets fails the test if a text contains a secret or personal data.
func keepsSecrets(t *testing.T, text string) {
	t.Helper()
	for _, s := range []string{secret, password, bearer, number, number[1:], "hello"} {
		if strings.Contains(text, s) {
			t.Errorf("%q shows %q", text, s)
		}
	}
}

// canned gives every request to Nuntium the same answer.
type canned struct {
	status int
	header http.Header
	body   string
	seen   []*url.URL
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.seen = append(c.seen, r.URL)
	h := c.header
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{
		StatusCode: c.status, Header: h, Body: io.NopCloser(strings.NewReader(c.body)), Request: r,
		ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}
