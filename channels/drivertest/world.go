package drivertest

import (
	"context"
	"errors"
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
	"weir/channels/simulation"
	"weir/channels/simulation/memnet"
	"weir/internal/httponce"
)

// The addresses of a world. Between the provider and our endpoint is a proxy that ends
// TLS and rewrites host, scheme and prefix.
const (
	PublicURL = "https://weir.example/prefix"
	Secret    = "s3cr3tpath"
	Callbacks = PublicURL + callbackPath
	Number    = "+15550001234"

	callbackPath = "/callbacks/ch/" + Secret
	weirHost     = "weir.test"
	timeout      = 10 * time.Second // of one call of the driver
)

// Simulator is a simulated provider.
type Simulator interface {
	http.Handler
	Run(context.Context)
	Tally() *simulation.Tally
	Faults() *simulation.Faults
}

// Setup describes a world.
type Setup struct {
	Type     channels.Type
	Settings weir.Settings // of a channel at Host
	Host     string        // of the simulated provider
	// Start makes the simulator; client is for its callbacks.
	Start func(client *http.Client) (Simulator, error)
}

// World is a simulated provider and the two ends that talk to it, our driver and our
// callback endpoint, in one synctest bubble, so that time is exact.
type World struct {
	*testing.T
	Net    *memnet.Network
	Client *http.Client // leads to the hosts of the network
	Driver channels.Driver

	setup Setup
	sim   Simulator

	mu        sync.Mutex
	status    func(n int) int
	meddle    func(http.ResponseWriter, *http.Request) bool
	requests  int
	callbacks []Callback
}

// Callback is a request to our endpoint and its result.
type Callback struct {
	channels.Callback
	ContentType string
	Result      channels.CallbackResult
	Err         error
	// Refused: the test answered it before the driver saw it.
	Refused bool
}

// In plays a test in a world of its own.
func In(t *testing.T, s Setup, test func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &World{T: t, Net: &memnet.Network{}, setup: s}
		transport := httponce.New(httponce.Options{Dial: w.Net.Dial})
		t.Cleanup(transport.CloseIdleConnections)
		w.Client = &http.Client{Transport: proxy{transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		sim, err := s.Start(w.Client)
		if err != nil {
			t.Fatal(err)
		}
		w.sim = sim
		t.Cleanup(w.Net.Serve(weirHost, http.HandlerFunc(w.endpoint)))
		t.Cleanup(w.Net.Host(s.Host, http.HandlerFunc(w.provider), sim.Run))
		w.Driver = w.NewDriver(s.Settings, w.Client)
		test(w)
	})
}

// NewDriver returns a driver of the world's type.
func (w *World) NewDriver(s weir.Settings, client *http.Client) channels.Driver {
	w.Helper()
	return NewDriver(w.T, w.setup.Type, s, client)
}

// NewDriver returns the driver of a channel with the callbacks of a world. It checks
// the settings.
func NewDriver(t testing.TB, typ channels.Type, s weir.Settings, client *http.Client) channels.Driver {
	t.Helper()
	if errs := typ.CheckSettings(s, 100); len(errs) > 0 {
		t.Fatal(errs)
	}
	d, err := typ.New(channels.Config{Settings: s, CallbackURL: Callbacks, HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// proxy rewrites requests to our public address as a proxy in front of Weir does.
type proxy struct{ http.RoundTripper }

func (p proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(PublicURL, r.URL.Scheme+"://"+r.URL.Host+"/") {
		return p.RoundTripper.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = "http", weirHost, weirHost
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/prefix")
	r.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, "/prefix")
	return p.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections is called by clients.
func (p proxy) CloseIdleConnections() {
	if c, ok := p.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// provider is the simulated provider's address.
func (w *World) provider(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests++
	meddle := w.meddle
	w.mu.Unlock()
	if meddle == nil || !meddle(rw, r) {
		w.sim.ServeHTTP(rw, r)
	}
}

// Meddle sets a handler that answers instead of the provider where it returns true;
// nil: none.
func (w *World) Meddle(f func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meddle = f
}

// Answer sets the status of the n-th callback, from 1: 0 leaves it to the driver's
// result.
func (w *World) Answer(status func(n int) int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = status
}

// endpoint is where callbacks arrive, as the web package implements it.
func (w *World) endpoint(rw http.ResponseWriter, r *http.Request) {
	c, ok := Received(r)
	if !ok {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	heard := Callback{Callback: c, ContentType: r.Header.Get("Content-Type")}
	status := 0
	if w.status != nil {
		status = w.status(len(w.callbacks) + 1)
	}
	if heard.Refused = status != 0; !heard.Refused {
		heard.Result, heard.Err = w.Driver.ParseCallback(c)
	}
	w.callbacks = append(w.callbacks, heard)
	switch {
	case heard.Refused:
		rw.WriteHeader(status)
	case errors.Is(heard.Err, channels.ErrForged):
		rw.WriteHeader(http.StatusForbidden)
	case heard.Err != nil:
		rw.WriteHeader(http.StatusBadRequest)
	case heard.Result.ContentType != "":
		rw.Header().Set("Content-Type", heard.Result.ContentType)
		_, _ = rw.Write(heard.Result.Body) //nolint:gosec // to the simulated provider
	}
}

// Received reads a request for a driver. ok is false if it is none to our callbacks.
func Received(r *http.Request) (_ channels.Callback, ok bool) {
	at := strings.Index(r.RequestURI, callbackPath+"/")
	path, ok := strings.CutPrefix(r.URL.Path, callbackPath+"/")
	if !ok || at < 0 {
		return channels.Callback{}, false
	}
	c := channels.Callback{
		Method: r.Method, Path: path, Query: r.URL.Query(), Header: r.Header,
		PublicURL: PublicURL, Target: r.RequestURI[at:], At: time.Now(),
	}
	c.Body, _ = io.ReadAll(r.Body)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		c.Form, _ = url.ParseQuery(string(c.Body))
	}
	return c, true
}

// After lets time pass and waits until everything is idle.
func (w *World) After(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Send dispatches an attempt with the timeout of a broker.
func (w *World) Send(a channels.Attempt) channels.SendResult {
	ctx, cancel := context.WithTimeout(w.Context(), timeout)
	defer cancel()
	return w.Driver.Send(ctx, a)
}

// Query asks about an attempt. The times of the reports are left out.
func (w *World) Query(a channels.Attempt) channels.Answer {
	ctx, cancel := context.WithTimeout(w.Context(), timeout)
	defer cancel()
	answer := w.Driver.Query(ctx, a)
	for i := range answer.Reports {
		if answer.Reports[i].At.IsZero() {
			w.Errorf("report %d has no time", i)
		}
		answer.Reports[i].At = time.Time{}
	}
	return answer
}

// Cancel cancels an attempt.
func (w *World) Cancel(a channels.Attempt) channels.Cancellation {
	ctx, cancel := context.WithTimeout(w.Context(), timeout)
	defer cancel()
	return w.Driver.Cancel(ctx, a)
}

// Callbacks returns the callbacks so far.
func (w *World) Callbacks() []Callback {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Callback(nil), w.callbacks...)
}

// Reports returns the reports of all callbacks so far.
func (w *World) Reports() []weir.Report {
	var out []weir.Report
	for _, c := range w.Callbacks() {
		out = append(out, c.Result.Reports...)
	}
	return out
}

// Incoming returns the messages of all callbacks so far.
func (w *World) Incoming() []weir.Incoming {
	var out []weir.Incoming
	for _, c := range w.Callbacks() {
		out = append(out, c.Result.Incoming...)
	}
	return out
}

// Outcomes returns the outcomes of all reports so far, "-" where one has none.
func (w *World) Outcomes() string {
	var out []string
	for _, r := range w.Reports() {
		if r.Outcome == "" {
			r.Outcome = "-"
		}
		out = append(out, string(r.Outcome))
	}
	return strings.Join(out, " ")
}

// NewAttempt returns an attempt with these messages, or with a call if there are none.
func NewAttempt(id weir.ContactID, messages ...string) channels.Attempt {
	a := channels.Attempt{
		ID: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: id}, Number: 2}, To: Number, Messages: messages, ClaimedAt: time.Now(),
	}
	if len(messages) == 0 {
		a.Call = &weir.Call{TwiML: "<Response><Say>hello</Say></Response>"}
	}
	return a
}

// KeepSecrets fails the test if a text contains the secret of the callbacks, the phone
// number, the text of a contact, or one of more.
func KeepSecrets(t testing.TB, text string, more ...string) {
	t.Helper()
	for _, s := range append(more, Secret, Number, Number[1:], "hello") {
		if strings.Contains(text, s) {
			t.Errorf("%q shows %q", text, s)
		}
	}
}
