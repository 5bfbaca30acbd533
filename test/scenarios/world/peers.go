package world

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/drivertest"
	"weir/channels/drivertest/peers"
	"weir/channels/simulation/memnet"
	"weir/internal/httponce"
	"weir/internal/polling"
)

// peer is a world with one channel type and its simulated provider. Each callback and
// each dispatch passes a boundary, at which the process may be killed.
type peer struct {
	*World
	drivertest.Provider
	Sim drivertest.Simulator

	mu     sync.Mutex
	alive  http.Handler                                  // nil: no process runs
	ends   []end                                         // callbacks with an outcome that were answered 200
	driver channels.Driver                               // reads callbacks for ends
	Meddle func(http.ResponseWriter, *http.Request) bool // answers dispatches instead of the provider
	kill   func(point string, n int) bool                // whether the process dies at the n-th pass of a point
	passed map[string]int                                // by point
	Killed []string                                      // points
	dying  chan string                                   // receives the point
	dead   chan struct{}                                 // closed when the process is dead
}

// The points at which a process is killed.
const (
	BeforeProvider = "the provider has not acted"
	AfterProvider  = "the provider acted, its answer is lost"
	BeforeCallback = "a callback arrived"
	AfterCallback  = "a callback is applied, the answer is lost"
)

// EachPeer plays a test with each channel type on both stores.
func EachPeer(t *testing.T, play func(*World, drivertest.Provider)) {
	t.Parallel()
	for _, p := range peers.All() {
		t.Run(p.Name, func(t *testing.T) { OnStores(t, func(w *World) { play(w, p) }) })
	}
}

// EachPeerOnSQLite is EachPeer, on a database server with some providers only: SQL does not depend on them. make nightly
// plays all.
func EachPeerOnSQLite(t *testing.T, onServer []string, play func(*World, drivertest.Provider)) {
	t.Parallel()
	found := 0
	for _, p := range peers.All() {
		on := OnVirtualTime
		if slices.Contains(onServer, p.Name) {
			found++
		}
		if slices.Contains(onServer, p.Name) || os.Getenv("WEIR_TEST_NIGHTLY") != "" {
			on = OnStores
		}
		t.Run(p.Name, func(t *testing.T) { on(t, func(w *World) { play(w, p) }) })
	}
	if found != len(onServer) {
		t.Errorf("there are not all of %q", onServer)
	}
}

// WithPeer connects a world to a simulated provider, with a channel ch of a capacity.
func WithPeer(w *World, p drivertest.Provider, capacity int, o drivertest.Options) *peer {
	w.Helper()
	if !w.Virtual {
		w.Core.IdleAfter, w.Core.ReconcileEvery, w.Core.LostAfter, w.Core.SettleAfter = 500*time.Millisecond, 500*time.Millisecond, 5*time.Second, 500*time.Millisecond
	}
	driver := drivertest.NewDriver(w.T, p.Type, p.Settings, http.DefaultClient)
	w.Core.LostAfter = min(w.Core.LostAfter, 10*time.Minute)
	e := &peer{World: w, Provider: p, driver: driver, passed: map[string]int{}, dying: make(chan string), dead: make(chan struct{})}
	w.Logs = &shared{}
	var network memnet.Network
	outgoing, incoming := httponce.New(httponce.Options{Dial: network.Dial}), network.Transport()
	w.Transport = func(weir.Channel) http.RoundTripper { return outgoing }
	if p.Type.Name != "nuntium" && p.Type.Name != "verboice" { // every world has these
		w.more = func() []channels.Type { return []channels.Type{p.Type} }
	}
	faults := o.Faults
	o.Faults, o.Client = nil, &http.Client{Transport: incoming}
	var err error
	if e.Sim, err = p.Start(o); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(network.Serve("weir.test", http.HandlerFunc(e.endpoint)))
	w.Cleanup(network.Host(p.Host, http.HandlerFunc(e.provider), e.Sim.Run))
	w.Cleanup(func() {
		outgoing.CloseIdleConnections()
		incoming.CloseIdleConnections()
	})
	w.Restart()
	e.live()
	w.Channel("ch", capacity, Fields{"type": p.Type.Name, "settings": Fields(p.Settings)})
	w.Until("the channel is prepared", func() bool { return w.State("ch") == "up" })
	if err := e.Sim.Faults().Set(faults...); err != nil {
		w.Fatal(err)
	}
	return e
}

// Contacts returns n contacts with keys and addresses of their own.
func (e *peer) Contacts(n int) []Fields {
	var list []Fields
	for i := range n {
		c := SMS(fmt.Sprint("c", i), Fields{"to": fmt.Sprintf("+1555%07d", i)})
		if e.Type.Content == channels.Voice {
			delete(c, "messages")
			c["call"] = Fields{"twiml": "<Response/>"}
		}
		list = append(list, c)
	}
	return list
}

// pass passes a point. A process that is killed there comes back when the test has
// restarted it; what was under way is cut.
func (e *peer) pass(point string) {
	e.mu.Lock()
	e.passed[point]++
	kill, dead := e.alive != nil && e.kill != nil && e.kill(point, e.passed[point]), e.dead
	if kill {
		e.alive = nil // one death at a time
	}
	e.mu.Unlock()
	if kill {
		e.dying <- point
		<-dead
		panic(http.ErrAbortHandler)
	}
}

// Kills lets the process die at these passes of each point.
func (e *peer) Kills(at map[string][]int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.passed)
	e.kill = func(point string, n int) bool { return slices.Contains(at[point], n) }
}

// revive restarts the process if it died, on the goroutine of the test.
func (e *peer) revive() {
	e.Helper()
	select {
	case point := <-e.dying:
		e.mu.Lock()
		e.alive, e.Killed = nil, append(e.Killed, point)
		e.mu.Unlock()
		e.Crash()
		e.mu.Lock()
		close(e.dead)
		e.dead = make(chan struct{})
		e.mu.Unlock()
		e.Begin()
		e.live()
	default:
	}
}

// live connects the running process to callbacks.
func (e *peer) live() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.alive = e.Handler
}

// Ended waits until all contacts are done and returns how each ended. In real time it
// leaves out contacts that the provider does not have, if certainty takes minutes.
func (e *peer) Ended(ids map[string]string) map[string]string {
	e.Helper()
	outcomes := map[string]string{}
	wait := func(cond func() bool) { e.Until("all contacts are done", cond) }
	if !e.Virtual {
		wait = func(cond func() bool) {
			if !polling.Until(time.Minute, 50*time.Millisecond, cond) {
				e.Fatalf("after a minute: %v", e.Outcomes("ch"))
			}
		}
	}
	wait(func() bool {
		e.revive()
		counts := e.Outcomes("ch")
		if !e.Virtual && e.Settles > 0 && e.Sim.Tally().Line(e.Line).Sent+counts["unknown"] == len(ids) {
			counts["unknown"] = 0
		}
		return counts["queued"]+counts["sending"]+counts["active"]+counts["unknown"] == 0
	})
	for key, id := range ids {
		if c := e.Contact(id); c["state"] == "done" {
			outcomes[key] = fmt.Sprint(c["outcome"])
		}
	}
	return outcomes
}

// dispatches reports whether a request makes a call or message, rather than a question.
// Kannel has no questions: whether it takes the account is tried with a message without
// a recipient.
func (e *peer) dispatches(r *http.Request) bool {
	return r.Method == http.MethodPost && !strings.Contains(r.URL.Path, "/calls/") && !strings.HasPrefix(r.URL.Path, "/_simulator/") &&
		(r.Host != "kannel.test" || r.Header.Get("X-Kannel-To") != "")
}

func (e *peer) provider(rw http.ResponseWriter, r *http.Request) {
	if !e.dispatches(r) {
		e.Sim.ServeHTTP(rw, r)
		return
	}
	e.pass(BeforeProvider)
	whole := httptest.NewRecorder() // nothing of the answer leaves before the point
	if e.Meddle == nil || !e.Meddle(whole, r) {
		e.Sim.ServeHTTP(whole, r)
	}
	e.pass(AfterProvider)
	maps.Copy(rw.Header(), whole.Header())
	rw.WriteHeader(whole.Code)
	_, _ = rw.Write(whole.Body.Bytes())
}

func (e *peer) endpoint(rw http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	alive := e.alive
	e.mu.Unlock()
	if alive == nil {
		panic(http.ErrAbortHandler)
	}
	e.pass(BeforeCallback)
	began := time.Now()
	status := &recorder{ResponseWriter: rw, status: http.StatusOK}
	alive.ServeHTTP(status, r)
	if status.status == http.StatusOK {
		e.note(r, began)
	}
	e.pass(AfterCallback)
}

// end is a report that a contact ended.
type end struct {
	contact string
	at      time.Time
}

// note keeps what a callback reports. Signed ones are left out.
func (e *peer) note(r *http.Request, began time.Time) {
	path := strings.SplitN(r.URL.Path, "/", 5) // /callbacks/ch/SECRET/…
	result, _ := e.driver.ParseCallback(channels.Callback{Method: r.Method, Path: path[len(path)-1], Query: r.URL.Query()})
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, report := range result.Reports {
		if report.Outcome != "" {
			e.ends = append(e.ends, end{report.Attempt.Ref.String(), began})
		}
	}
}

// Heard reports whether Weir took a callback with the end of a contact before the
// contact was done.
func (e *peer) Heard(id string) bool {
	e.Helper()
	done, err := time.Parse(time.RFC3339Nano, fmt.Sprint(e.Contact(id)["finished_at"]))
	if err != nil {
		e.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.ends, func(x end) bool { return x.contact == id && !x.at.After(done) })
}

type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// shared is a buffer that several loggers write to.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// String returns what was written.
func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
