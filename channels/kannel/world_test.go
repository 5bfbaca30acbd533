package kannel_test

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/kannel"
	"weir/channels/kannel/simulator"
	"weir/channels/simulation/memnet"
	"weir/internal/httponce"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret   = "s3cr3tpath"
	password = "p4ss w0rd%&"
	number   = "+15550001234"
	base     = "http://weir.test/callbacks/sms/" + secret
)

// world is a simulated Kannel and the two ends that talk to it: our driver and our
// callback endpoint, in one synctest bubble, so that time is exact.
type world struct {
	t      *testing.T
	sim    *simulator.Server
	client *http.Client
	net    *memnet.Network
	driver channels.Driver

	mu       sync.Mutex
	status   func(n int) int // of the n-th callback, from 1; nil: as the reading determines
	heard    []string        // request URIs of callbacks below the secret
	readings []channels.CallbackResult
}

// inWorld runs a test in a bubble.
func inWorld(t *testing.T, o simulator.Options, settings weir.Settings, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: &memnet.Network{}}
		transport := httponce.New(httponce.Options{Dial: w.net.Dial})
		w.client = &http.Client{Transport: transport}
		o.Client, o.Username, o.Password = w.client, "weir", password
		o.IncomingURL = base + recipe(t)
		var err error
		if w.sim, err = simulator.New(o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(transport.CloseIdleConnections)
		t.Cleanup(w.net.Serve("weir.test", http.HandlerFunc(w.callback)))
		t.Cleanup(w.net.Host("kannel.test", w.sim, w.sim.Run))
		w.driver = w.newDriver(settings)
		test(w)
	})
}

// recipe returns what docs/providers.md puts behind the address of the channel in a get-url.
func recipe(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`get-url = "ADDRESS(.*)"`).FindSubmatch(page)
	if m == nil {
		t.Fatal("docs/providers.md has no get-url")
	}
	return string(m[1])
}

func basicSettings(more ...weir.Settings) weir.Settings {
	s := weir.Settings{"sendsms_url": "http://kannel.test/cgi-bin/sendsms", "username": "weir", "password": password}
	for _, m := range more {
		for k, v := range m {
			s[k] = v
		}
	}
	return s
}

func (w *world) newDriver(s weir.Settings) channels.Driver {
	w.t.Helper()
	typ := kannel.Type()
	if errs := typ.CheckSettings(s, 100); len(errs) > 0 {
		w.t.Fatal(errs)
	}
	d, err := typ.New(channels.Config{Settings: s, CallbackURL: base, HTTP: w.client})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// callback is our endpoint, as the web package implements it.
func (w *world) callback(rw http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/callbacks/sms/"+secret+"/")
	if !ok {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, strings.TrimPrefix(r.URL.RequestURI(), "/callbacks/sms/"+secret))
	if w.status != nil {
		if status := w.status(len(w.heard)); status != 0 {
			rw.WriteHeader(status)
			return
		}
	}
	reading, err := w.driver.ParseCallback(channels.Callback{Method: r.Method, Path: path, Query: r.URL.Query(), At: time.Now()})
	if err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	w.readings = append(w.readings, reading)
	_, _ = rw.Write(reading.Body)
}

// after lets time pass and waits until everything is idle.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// send dispatches a contact with the timeout of a broker.
func (w *world) send(a channels.Attempt) channels.SendResult {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	return w.driver.Send(ctx, a)
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

func attempt(id weir.ContactID, messages ...string) channels.Attempt {
	return channels.Attempt{
		ID: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: id}, Number: 2},
		To: number, Messages: messages,
	}
}

// keepsSecrets fails the test if a text contains a secret or personal data.
func keepsSecrets(t testing.TB, text string) {
	t.Helper()
	for _, s := range []string{secret, password, number, number[1:], "hello"} {
		if strings.Contains(text, s) {
			t.Errorf("%q shows %q", text, s)
		}
	}
}
