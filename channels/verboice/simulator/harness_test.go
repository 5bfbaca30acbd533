package simulator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/channels/simulation/memnet"
	"weir/channels/verboice/simulator"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const server, receiver = "http://verboice.test", "http://weir.test"

// world is a simulated server and a receiver of its callbacks, on an in-memory
// network and in virtual time.
type world struct {
	t      *testing.T
	sim    *simulator.Server
	client *http.Client

	mu    sync.Mutex
	heard []string // "path status reason code duration" of each callback
	flows http.Handler
}

// run builds a world and stops everything in it after the test.
func run(t *testing.T, o simulator.Options, test func(w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var network memnet.Network
		transport, own := network.Transport(), network.Transport()
		o.Client = &http.Client{Transport: own}
		sim, err := simulator.New(o)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, sim: sim, client: &http.Client{Transport: transport}}
		defer network.Serve("weir.test", http.HandlerFunc(w.receive))()
		defer network.Host("verboice.test", sim, sim.Run)()
		defer transport.CloseIdleConnections()
		test(w)
	})
}

func (w *world) receive(rw http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/flow") {
		w.flows.ServeHTTP(rw, r)
		return
	}
	q := r.URL.Query()
	line := strings.Join([]string{r.URL.Path, q.Get("CallStatus"), q.Get("CallStatusReason"), q.Get("CallStatusCode"), q.Get("CallDuration")}, " ")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, strings.TrimSpace(line))
}

// callbacks returns the callbacks received so far.
func (w *world) callbacks() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.heard...)
}

func (w *world) pass(d time.Duration) {
	time.Sleep(d) // virtual time
	synctest.Wait()
}

// ask sends a request and returns status and body.
func (w *world) ask(method, path string, body io.Reader, header ...string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequest(method, server+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := w.client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

// call enqueues a call to an address, with the status callback /s/<address> and
// more parameters; it returns the call's number.
func (w *world) call(address string, more ...string) int64 {
	w.t.Helper()
	status, body := w.ask(http.MethodGet, callPath(address, more...), nil)
	var answer struct {
		ID    int64  `json:"call_id"`
		State string `json:"state"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.State != "queued" {
		w.t.Fatalf("call: %d %s", status, body)
	}
	return answer.ID
}

func callPath(address string, more ...string) string {
	q := url.Values{"channel_id": {"1"}, "address": {address}, "status_callback_url": {receiver + "/s/" + address}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "/api/call?" + q.Encode()
}

func (w *world) state(id int64) string {
	w.t.Helper()
	status, body := w.ask(http.MethodGet, fmt.Sprintf("/api/calls/%d/state.json", id), nil)
	if status != http.StatusOK {
		return fmt.Sprint(status, body)
	}
	var answer struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		w.t.Fatal(err)
	}
	return answer.State
}
