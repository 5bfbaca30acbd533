// Package scenarios_test plays the scenarios of docs/scenarios.md through
// Weir's public seams: the HTTP API, the callbacks and a provider. Where the
// store matters a scenario is played on SQLite and on MariaDB; on SQLite inside a
// bubble of virtual time, so that hours cost nothing and instants are exact.
package scenarios_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	"weir/actors"
	core "weir/actors/contacts"
	"weir/actors/supervise"
	surveybroker "weir/actors/surveys"
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/simulation/memnet"
	"weir/channels/verboice"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
	"weir/web"
	"weir/web/api"
	"weir/web/auth"
)

// world is one Weir with a scripted provider.
type world struct {
	*testing.T
	lab     *lab
	url     string // of the store
	virtual bool   // time is virtual
	running bool   // the brokers run
	quiet   bool   // the test panics on purpose, a thousand times: nothing is logged
	core    core.Config
	wrap    []actor.ReceiverMiddleware
	// transport is the network of the real drivers; nil: sockets.
	transport func(weir.Channel) http.RoundTripper
	more      func() []channels.Type    // additional channel types
	begun     func(*channels.Directory) // called at each start
	traces    *traces                   // nil: traces are off
	hooks     *hooks                    // how events are delivered to webhooks; nil: they are not
	logs      *shared                   // receives the log, too; nil: none
	timing    *surveyTiming             // how surveys run in this world; nil: they do not run
	ended     int                       // contacts that endNext has ended

	store   *persistence.Store
	actors  *actor.ActorSystem
	system  *actors.System
	surveys *surveybroker.System
	handler http.Handler
	metrics *prometheus.Registry
}

// onStores plays a scenario on both stores.
func onStores(t *testing.T, play func(*world)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		inBubble(t, play)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, testmysql.URL(t))
		w.start()
		play(w)
	})
}

// onVirtualTime plays a scenario in which time matters and the store does not.
func onVirtualTime(t *testing.T, play func(*world)) {
	t.Parallel()
	inBubble(t, play)
}

func inBubble(t *testing.T, play func(*world)) {
	synctest.Test(t, func(t *testing.T) {
		// This runs last, when everything is closed: the actor library counts dead
		// letters for a second, and the clock of a bubble stops when its test returns.
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		w := newWorld(t, "sqlite://:memory:")
		w.virtual = true
		w.start()
		play(w)
	})
}

func newWorld(t *testing.T, url string) *world {
	// This network has no servers: a driver other than the lab gets its connections
	// refused. A real one would resolve names, which fails in the second bubble that does it.
	var nowhere memnet.Network
	refusing := nowhere.Transport()
	return &world{T: t, url: url, lab: newLab(t), transport: func(weir.Channel) http.RoundTripper { return refusing }, core: core.Config{
		IdleAfter: 2 * time.Minute, ReconcileEvery: 2 * time.Minute, SettleAfter: time.Minute, LostAfter: time.Hour,
		StopAfter: 30 * time.Minute, SendConcurrency: 64, AskConcurrency: 4, Chance: func() float64 { return 0.5 },
	}}
}

// start opens the store, if it is not open, and builds the rest on it.
func (w *world) start() {
	w.Helper()
	if w.store == nil {
		w.store = storetest.Open(w.T, w.url, persistence.Options{Logger: w.logger(), LeaseTTL: time.Hour})
	}
	if err := w.store.OpenPeople(w.Context(), nil); err != nil {
		w.Fatal(err)
	}
	w.actors = supervise.NewSystem(w.logger())
	w.Cleanup(w.actors.Shutdown)
	types := []channels.Type{w.lab.Type("lab", channels.Text), w.lab.Type("labcall", channels.Voice), nuntium.Type(), verboice.Type()}
	if w.more != nil {
		types = append(types, w.more()...)
	}
	directory := channels.NewDirectory(types, "http://weir.test", w.transport)
	w.metrics = prometheus.NewRegistry()
	var err error
	w.system, err = actors.Start(actors.Options{
		System: w.actors,
		Store:  w.store, Queue: w.store, Directory: directory, Core: w.core, Logger: w.logger(), Metrics: actors.NewMetrics(w.metrics),
		SendTimeout: 15 * time.Second, AskTimeout: 15 * time.Second, Valid: w.store.Valid,
		Middleware: w.wrap, Tracing: w.traces.start(w),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.running = true
	system := w.system
	w.Cleanup(system.Close)
	o := web.Options{
		Options: api.Options{Directory: directory, DefaultCapacity: 100, Dead: w.store, Trail: auth.NewTrail(w.store), Events: w.store, Interest: w.store, Tracing: w.traces.running()},
		Store:   w.store, Broker: w.system, Logger: w.logger(), Metrics: web.NewMetrics(w.metrics), Gatherer: w.metrics, Gate: auth.NewGate(auth.GateOptions{}), People: w.store,
	}
	w.hooks.start(w, &o)
	if w.timing != nil {
		w.startSurveys(directory, &o)
	}
	if w.handler, err = web.New(o); err != nil {
		w.Fatal(err)
	}
	if w.begun != nil {
		w.begun(directory)
	}
	if err := w.system.Resume(w.Context()); err != nil {
		w.Fatal(err)
	}
	if w.timing != nil {
		if err := w.surveys.Resume(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

// crash ends the actors at once, as a crash of the process would: stored state
// stays, memory is lost. Provider calls under way reach the provider, and their
// answers are lost.
func (w *world) crash() {
	w.Helper()
	if w.surveys != nil {
		w.surveys.Close()
	}
	w.system.Close()
	w.running = false
	w.traces.crash()
	w.hooks.crash()
	w.waitIdle()
	w.lab.forgetCallers()
}

// restart crashes the process and starts it again on the same store.
func (w *world) restart() {
	w.Helper()
	w.crash()
	w.start()
}

func (w *world) logger() *slog.Logger {
	if w.quiet {
		return slog.New(slog.DiscardHandler)
	}
	if w.logs != nil {
		return slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// answer is a response of the API.
type answer struct {
	Status int
	Header http.Header
	Body   map[string]any
	Text   string
}

// call makes an API request.
func (w *world) call(method, path string, body any) answer {
	w.Helper()
	return w.lab.promise(method, path, func() answer { return w.request(method, path, body) })
}

func (w *world) request(method, path string, body any) answer {
	w.Helper()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			w.Fatal(err)
		}
	}
	r := httptest.NewRequestWithContext(w.Context(), method, path, bytes.NewReader(b))
	r.Host = "localhost" // the only allowed name while there is no token
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	a := answer{Status: rec.Code, Header: rec.Header(), Text: rec.Body.String()}
	_ = json.Unmarshal(rec.Body.Bytes(), &a.Body)
	return a
}

// want makes a request that must be answered with this status.
func (w *world) want(status int, method, path string, body any) answer {
	w.Helper()
	a := w.call(method, path, body)
	if a.Status != status {
		w.Fatalf("%s %s: %d, want %d: %s", method, path, a.Status, status, a.Text)
	}
	return a
}

type fields = map[string]any

// channel creates a channel of type lab (messages); more overrides its fields.
func (w *world) channel(name string, capacity int, more ...fields) {
	w.Helper()
	body := fields{"type": "lab", "capacity": capacity, "settings": fields{}}
	for _, m := range more {
		maps.Copy(body, m)
	}
	a := w.call("PUT", "/v1/channels/"+name, body)
	if a.Status != http.StatusCreated && a.Status != http.StatusOK {
		w.Fatalf("channel %s: %d %s", name, a.Status, a.Text)
	}
}

// sms returns a contact with a message; its key is part of the message, so that the
// lab tells contacts apart by their keys.
func sms(key string, more ...fields) fields {
	c := fields{"key": key, "to": "+15550100", "messages": []string{key}}
	for _, m := range more {
		maps.Copy(c, m)
	}
	return c
}

// texts gives a contact n messages.
func texts(key string, n int) fields {
	var list []string
	for range n {
		list = append(list, key)
	}
	return fields{"messages": list}
}

// many returns n contacts with keys prefix-0001 and so on.
func many(prefix string, n int, more ...fields) []fields {
	var list []fields
	for i := range n {
		list = append(list, sms(fmt.Sprintf("%s-%04d", prefix, i+1), more...))
	}
	return list
}

// accept posts contacts and returns their ids by key.
func (w *world) accept(channel string, contacts ...fields) map[string]string {
	w.Helper()
	ids := map[string]string{}
	for len(contacts) > 0 {
		n := min(len(contacts), 1000)
		a := w.want(http.StatusAccepted, "POST", "/v1/channels/"+channel+"/contacts", fields{"contacts": contacts[:n]})
		for _, c := range a.Body["contacts"].([]any) {
			c := c.(map[string]any)
			ids[c["key"].(string)] = c["id"].(string)
		}
		contacts = contacts[n:]
	}
	return ids
}

// contact reads a contact.
func (w *world) contact(id string) map[string]any {
	w.Helper()
	return w.want(http.StatusOK, "GET", "/v1/contacts/"+id, nil).Body
}

// figure reads one number of a channel.
func (w *world) figure(channel, name string) int {
	w.Helper()
	v, ok := w.want(http.StatusOK, "GET", "/v1/channels/"+channel, nil).Body[name].(float64)
	if !ok {
		w.Fatalf("channel %s has no number %s", channel, name)
	}
	return int(v)
}

// state reads the state of a channel.
func (w *world) state(channel string) string {
	w.Helper()
	return fmt.Sprint(w.want(http.StatusOK, "GET", "/v1/channels/"+channel, nil).Body["state"])
}

// until waits until a condition holds: at most a virtual day, or 15 seconds of real
// time.
func (w *world) until(what string, cond func() bool) {
	w.Helper()
	if w.virtual {
		step, spent := time.Millisecond, time.Duration(0)
		for ; spent < 24*time.Hour; spent += step {
			synctest.Wait()
			if cond() {
				return
			}
			time.Sleep(step)
			step = min(2*step, 10*time.Second)
		}
	} else if polling.Until(15*time.Second, 5*time.Millisecond, cond) {
		return
	}
	w.Fatalf("it never came to pass: %s; the lab saw %v", what, w.lab.sentKeys())
}

// pass lets time pass; virtual time only.
func (w *world) pass(d time.Duration) {
	w.Helper()
	if !w.virtual {
		w.Fatal("only virtual time passes at will")
	}
	time.Sleep(d)
	synctest.Wait()
}

// sent waits until the lab was called for exactly n contacts, and checks that it
// stays so.
func (w *world) sent(n int) {
	w.Helper()
	w.until(fmt.Sprintf("%d contacts sent", n), func() bool { return len(w.lab.sentKeys()) >= n })
	w.waitIdle()
	if got := len(w.lab.sentKeys()); got != n {
		w.Fatalf("%d contacts were sent, want %d", got, n)
	}
}

// done waits until a contact is done and returns its outcome.
func (w *world) done(id string) string {
	w.Helper()
	var c map[string]any
	w.until("contact "+id+" is done", func() bool { c = w.contact(id); return c["state"] == "done" })
	return fmt.Sprint(c["outcome"])
}

// report sends the lab's callback about a contact, by key, and returns the response
// status. part is the index of a message, or "all".
func (w *world) report(key, part, outcome string) int {
	w.Helper()
	return w.reportAttempt(w.lab.attempt(key), part, outcome)
}

// reportAttempt sends a callback about an attempt by its id.
func (w *world) reportAttempt(attempt labAttempt, part, outcome string) int {
	w.Helper()
	w.lab.end(attempt, part, outcome)
	return w.call("POST", attempt.callback+"/report/"+attempt.id+"?part="+part+"&outcome="+outcome, nil).Status
}

// finish reports contacts as completed, all parts.
func (w *world) finish(keys ...string) {
	w.Helper()
	for _, k := range keys {
		if status := w.report(k, "all", "completed"); status != http.StatusOK {
			w.Fatalf("the callback of %s was answered %d", k, status)
		}
	}
}
