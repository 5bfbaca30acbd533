package verboice_test

import (
	"context"
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
	"weir/channels/simulation/memnet"
	"weir/channels/verboice"
	"weir/channels/verboice/simulator"
	"weir/internal/httponce"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const callbackBase = "http://weir.test/callbacks/calls/secret"

// world is a driver connected to a simulated server, on an in-memory network and
// under a clock that the test moves.
type world struct {
	t      *testing.T
	sim    *simulator.Server
	driver channels.Driver

	mu    sync.Mutex
	heard []weir.Report
}

func options() simulator.Options {
	return simulator.Options{
		Ring: time.Second, Talk: 10 * time.Second, SkipFlows: true,
		Accounts: []simulator.Account{{Username: "u@example.org", Password: "pw", Tokens: []string{"tok"}}},
		Channels: []simulator.Channel{
			{ID: 3, Name: "line one", Limit: 100}, {ID: 4, Name: "off", Disabled: true},
			{ID: 5, Name: "ill", Problems: []string{"Registration failed for +15550009999", "x"}},
		},
	}
}

func settings(more ...any) weir.Settings {
	s := weir.Settings{"base_url": "http://verboice.test/", "username": "u@example.org", "password": "pw", "channel": "line one"}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] == nil {
			delete(s, more[i].(string))
			continue
		}
		s[more[i].(string)] = more[i+1]
	}
	return s
}

func newDriver(t *testing.T, s weir.Settings, transport http.RoundTripper) channels.Driver {
	t.Helper()
	kind := verboice.Type()
	if errs := kind.CheckSettings(s, 100); len(errs) > 0 {
		t.Fatalf("settings: %v", errs)
	}
	d, err := kind.New(channels.Config{Settings: s, CallbackURL: callbackBase, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func run(t *testing.T, o simulator.Options, s weir.Settings, test func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var network memnet.Network
		o.Client = &http.Client{Transport: network.Transport()}
		sim, err := simulator.New(o)
		if err != nil {
			t.Fatal(err)
		}
		transport := httponce.New(httponce.Options{Dial: network.Dial})
		w := &world{t: t, sim: sim, driver: newDriver(t, s, transport)}
		defer network.Serve("weir.test", http.HandlerFunc(w.receive))()
		defer network.Host("verboice.test", sim, sim.Run)()
		defer transport.CloseIdleConnections()
		test(w)
	})
}

func (w *world) receive(rw http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/callbacks/calls/secret/")
	if !ok {
		w.t.Errorf("a callback to %s", r.URL.Path)
	}
	reading, err := w.driver.ParseCallback(channels.Callback{Method: r.Method, Path: path, Query: r.URL.Query(), At: time.Now()})
	if err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, reading.Reports...)
}

func (w *world) reports() []weir.Report {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]weir.Report{}, w.heard...)
}

func (w *world) pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

// send dispatches the contact with this number.
func (w *world) send(id int64, to string) channels.SendResult {
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	return w.driver.Send(ctx, attempt(id, to))
}

func attempt(id int64, to string) channels.Attempt {
	return channels.Attempt{
		ID: weir.AttemptRef{Ref: weir.Ref{Channel: 1, ID: weir.ContactID(id)}, Number: 1},
		To: to, Call: &weir.Call{CallbackURL: "http://survey.test/flow"},
	}
}

// canned gives every request the same answer and keeps the last request.
type canned struct {
	status int
	body   string
	last   *http.Request
	query  url.Values
	sent   string
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.last, c.query = r, r.URL.Query()
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		c.sent = string(body)
	}
	return &http.Response{
		StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.body)), Request: r,
	}, nil
}
