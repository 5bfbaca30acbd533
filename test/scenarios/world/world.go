// Package world runs Weir with a scripted provider, on SQLite in a bubble of virtual time, so that
// hours cost nothing and instants are exact, or on MariaDB. The packages beside it play the scenarios of docs/scenarios.md through Weir's public seams: the HTTP API, the
// callbacks and a provider.
package world

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	channelbroker "weir/actors/channels"
	core "weir/actors/contacts"
	"weir/actors/supervise"
	surveybroker "weir/actors/surveys"
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/simulation/memnet"
	"weir/channels/verboice"
	"weir/internal/httponce"
	"weir/internal/polling"
	"weir/internal/race"
	"weir/operators"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
	"weir/surveys"
	"weir/web"
	webapi "weir/web/api"
	"weir/web/auth"
)

// World is one Weir with a scripted provider.
type World struct {
	*testing.T
	Lab     *Lab
	URL     string // of the store
	Virtual bool   // time is virtual
	running bool   // the brokers run
	Quiet   bool   // the test panics on purpose, a thousand times: nothing is logged
	Core    core.Config
	Wrap    []actor.ReceiverMiddleware
	// transport is the network of the real drivers; nil: sockets.
	Transport func(weir.Channel) http.RoundTripper
	more      func() []channels.Type    // additional channel types
	begun     func(*channels.Directory) // called at each start
	Traces    *Traces                   // nil: traces are off
	Hooks     *Hooks                    // how events are delivered to webhooks; nil: they are not
	Logs      *shared                   // receives the log, too; nil: none
	Timing    *surveyTiming             // how surveys run in this world; nil: they do not run
	Ended     int                       // contacts that endNext has ended

	Store   *persistence.Store
	actors  *actor.ActorSystem
	System  *channelbroker.System
	surveys *surveybroker.System
	Handler http.Handler
	metrics *prometheus.Registry
}

// OnStores plays a scenario on both stores.
func OnStores(t *testing.T, play func(*World)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		onceOnSQLite(t)
		InBubble(t, play)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		w := NewWorld(t, testmysql.URL(t))
		w.Begin()
		play(w)
	})
}

// OnVirtualTime plays a scenario in which time matters and the store does not.
func OnVirtualTime(t *testing.T, play func(*World)) {
	t.Parallel()
	onceOnSQLite(t)
	InBubble(t, play)
}

// onceOnSQLite skips a scenario that this run of all tests also plays with the race detector, on SQLite: see
// scripts/test-on-server.
func onceOnSQLite(t *testing.T) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if raced := os.Getenv("WEIR_TEST_RACED"); raced != "" && !race.Enabled && regexp.MustCompile(raced).MatchString(name) {
		t.Skip("it runs with the race detector")
	}
}

func InBubble(t *testing.T, play func(*World)) {
	synctest.Test(t, func(t *testing.T) {
		// This runs last, when everything is closed: the actor library counts dead
		// letters for a second, and the clock of a bubble stops when its test returns.
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		w := NewWorld(t, "sqlite://:memory:")
		w.Virtual = true
		w.Begin()
		play(w)
	})
}

func NewWorld(t *testing.T, url string) *World {
	// This network has no servers: a driver other than the lab gets its connections
	// refused. A real one would resolve names, which fails in the second bubble that does it.
	var nowhere memnet.Network
	refusing := httponce.New(httponce.Options{Dial: nowhere.Dial})
	return &World{T: t, URL: url, Lab: NewLab(t), Transport: func(weir.Channel) http.RoundTripper { return refusing }, Core: core.Config{
		IdleAfter: 2 * time.Minute, ReconcileEvery: 2 * time.Minute, SettleAfter: time.Minute, LostAfter: time.Hour,
		StopAfter: 30 * time.Minute, SendConcurrency: 64, AskConcurrency: 4, Chance: func() float64 { return 0.5 },
	}}
}

// Begin opens the store, if it is not open, and builds the rest on it.
func (w *World) Begin() {
	w.Helper()
	if w.Store == nil {
		w.Store = storetest.Open(w.T, w.URL, persistence.Options{Logger: w.Logger(), LeaseTTL: time.Hour})
	}
	if err := w.Store.OpenPeople(w.Context(), nil); err != nil {
		w.Fatal(err)
	}
	tree := supervise.NewSystem(w.Logger())
	w.actors = tree
	w.Cleanup(func() { supervise.Shutdown(tree) })
	types := []channels.Type{w.Lab.Type("lab", channels.Text), w.Lab.Type("labcall", channels.Voice), nuntium.Type(), verboice.Type()}
	if w.more != nil {
		types = append(types, w.more()...)
	}
	directory := channels.NewDirectory(types, "http://weir.test", w.Transport)
	w.metrics = prometheus.NewRegistry()
	var err error
	w.System, err = channelbroker.Start(channelbroker.Options{
		System: w.actors,
		Store:  w.Store, Queue: w.Store, Directory: directory, Core: w.Core, Logger: w.Logger(), Metrics: channelbroker.NewMetrics(w.metrics),
		SendTimeout: 15 * time.Second, AskTimeout: 15 * time.Second, Valid: w.Store.Valid,
		Middleware: w.Wrap, Tracing: w.Traces.start(w),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.running = true
	system := w.System
	w.Cleanup(system.Close)
	o := web.Options{
		Options: webapi.Options{Directory: directory, DefaultCapacity: 100, Dead: w.Store, Trail: auth.NewTrail(w.Store), Events: w.Store, Interest: w.Store, Tracing: w.Traces.running()},
		Store:   w.Store, Broker: w.System, Logger: w.Logger(), Metrics: web.NewMetrics(w.metrics), Gatherer: w.metrics, Gate: auth.NewGate(auth.GateOptions{}), People: w.Store, Limits: w.Store,
	}
	w.Hooks.start(w, &o)
	if w.Timing != nil {
		w.startSurveys(directory, &o)
	}
	if w.Handler, err = web.New(o); err != nil {
		w.Fatal(err)
	}
	if w.begun != nil {
		w.begun(directory)
	}
	if err := w.System.Resume(w.Context()); err != nil {
		w.Fatal(err)
	}
	if w.Timing != nil {
		if err := w.surveys.Resume(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

// Crash ends the actors at once, as a crash of the process would: stored state
// stays, memory is lost. Provider calls under way reach the provider, and their
// answers are lost.
func (w *World) Crash() {
	w.Helper()
	if w.surveys != nil {
		w.surveys.Close()
	}
	w.System.Close()
	w.running = false
	w.Traces.crash()
	w.Hooks.crash()
	w.WaitIdle()
	w.Lab.forgetCallers()
}

// Restart crashes the process and starts it again on the same store.
func (w *World) Restart() {
	w.Helper()
	w.Crash()
	w.Begin()
}

func (w *World) Logger() *slog.Logger {
	if w.Quiet {
		return slog.New(slog.DiscardHandler)
	}
	if w.Logs != nil {
		return slog.New(slog.NewTextHandler(w.Logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// Answer is a response of the API.
type Answer struct {
	Status int
	Header http.Header
	Body   map[string]any
	Text   string
}

// Call makes an API request.
func (w *World) Call(method, path string, body any) Answer {
	w.Helper()
	return w.Lab.promise(method, path, func() Answer { return w.Request(method, path, body) })
}

func (w *World) Request(method, path string, body any) Answer {
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
	w.Handler.ServeHTTP(rec, r)
	a := Answer{Status: rec.Code, Header: rec.Header(), Text: rec.Body.String()}
	_ = json.Unmarshal(rec.Body.Bytes(), &a.Body)
	return a
}

// Want makes a request that must be answered with this status.
func (w *World) Want(status int, method, path string, body any) Answer {
	w.Helper()
	a := w.Call(method, path, body)
	if a.Status != status {
		w.Fatalf("%s %s: %d, want %d: %s", method, path, a.Status, status, a.Text)
	}
	return a
}

type Fields = map[string]any

// Channel creates a channel of type lab (messages); more overrides its fields.
func (w *World) Channel(name string, capacity int, more ...Fields) {
	w.Helper()
	body := Fields{"type": "lab", "capacity": capacity, "settings": Fields{}}
	for _, m := range more {
		maps.Copy(body, m)
	}
	a := w.Call("PUT", "/v1/channels/"+name, body)
	if a.Status != http.StatusCreated && a.Status != http.StatusOK {
		w.Fatalf("channel %s: %d %s", name, a.Status, a.Text)
	}
}

// SMS returns a contact with a message; its key is part of the message, so that the
// lab tells contacts apart by their keys.
func SMS(key string, more ...Fields) Fields {
	c := Fields{"key": key, "to": "+15550100", "messages": []string{key}}
	for _, m := range more {
		maps.Copy(c, m)
	}
	return c
}

// Texts gives a contact n messages.
func Texts(key string, n int) Fields {
	var list []string
	for range n {
		list = append(list, key)
	}
	return Fields{"messages": list}
}

// Many returns n contacts with keys prefix-0001 and so on.
func Many(prefix string, n int, more ...Fields) []Fields {
	var list []Fields
	for i := range n {
		list = append(list, SMS(fmt.Sprintf("%s-%04d", prefix, i+1), more...))
	}
	return list
}

// Accept posts contacts and returns their ids by key.
func (w *World) Accept(channel string, contacts ...Fields) map[string]string {
	w.Helper()
	ids := map[string]string{}
	for len(contacts) > 0 {
		n := min(len(contacts), 1000)
		a := w.Want(http.StatusAccepted, "POST", "/v1/channels/"+channel+"/contacts", Fields{"contacts": contacts[:n]})
		for _, c := range a.Body["contacts"].([]any) {
			c := c.(map[string]any)
			ids[c["key"].(string)] = c["id"].(string)
		}
		contacts = contacts[n:]
	}
	return ids
}

// Contact reads a contact.
func (w *World) Contact(id string) map[string]any {
	w.Helper()
	return w.Want(http.StatusOK, "GET", "/v1/contacts/"+id, nil).Body
}

// Figure reads one number of a channel.
func (w *World) Figure(channel, name string) int {
	w.Helper()
	v, ok := w.Want(http.StatusOK, "GET", "/v1/channels/"+channel, nil).Body[name].(float64)
	if !ok {
		w.Fatalf("channel %s has no number %s", channel, name)
	}
	return int(v)
}

// State reads the state of a channel.
func (w *World) State(channel string) string {
	w.Helper()
	return fmt.Sprint(w.Want(http.StatusOK, "GET", "/v1/channels/"+channel, nil).Body["state"])
}

// Until waits until a condition holds: at most a virtual day, or 15 seconds of real
// time.
func (w *World) Until(what string, cond func() bool) {
	w.Helper()
	if w.Virtual {
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
	w.Fatalf("it never came to pass: %s; the lab saw %v", what, w.Lab.SentKeys())
}

// Pass lets time pass; virtual time only.
func (w *World) Pass(d time.Duration) {
	w.Helper()
	if !w.Virtual {
		w.Fatal("only virtual time passes at will")
	}
	time.Sleep(d)
	synctest.Wait()
}

// Sent waits until the lab was called for exactly n contacts, and checks that it
// stays so.
func (w *World) Sent(n int) {
	w.Helper()
	w.Until(fmt.Sprintf("%d contacts sent", n), func() bool { return len(w.Lab.SentKeys()) >= n })
	w.WaitIdle()
	if got := len(w.Lab.SentKeys()); got != n {
		w.Fatalf("%d contacts were sent, want %d", got, n)
	}
}

// Done waits until a contact is done and returns its outcome.
func (w *World) Done(id string) string {
	w.Helper()
	var c map[string]any
	w.Until("contact "+id+" is done", func() bool { c = w.Contact(id); return c["state"] == "done" })
	return fmt.Sprint(c["outcome"])
}

// Report sends the lab's callback about a contact, by key, and returns the response
// status. part is the index of a message, or "all".
func (w *World) Report(key, part, outcome string) int {
	w.Helper()
	return w.ReportAttempt(w.Lab.Attempt(key), part, outcome)
}

// ReportAttempt sends a callback about an attempt by its id.
func (w *World) ReportAttempt(attempt LabAttempt, part, outcome string) int {
	w.Helper()
	w.Lab.End(attempt, part, outcome)
	return w.Call("POST", attempt.Callback+"/report/"+attempt.ID+"?part="+part+"&outcome="+outcome, nil).Status
}

// Finish reports contacts as completed, all parts.
func (w *World) Finish(keys ...string) {
	w.Helper()
	for _, k := range keys {
		if status := w.Report(k, "all", "completed"); status != http.StatusOK {
			w.Fatalf("the callback of %s was answered %d", k, status)
		}
	}
}

// Delete deletes a channel with all its contacts, and waits until it is gone.
func (w *World) Delete(channel string) {
	w.Helper()
	a := w.Call("DELETE", "/v1/channels/"+channel+"?cancel=true", nil)
	if a.Status != http.StatusNoContent && a.Status != http.StatusAccepted {
		w.Fatalf("the deletion was answered %d: %s", a.Status, a.Text)
	}
	w.Until("the channel is gone", func() bool { return w.Call("GET", "/v1/channels/"+channel, nil).Status == http.StatusNotFound })
}

// Says records a consent over the API.
func (w *World) Says(to, status string) {
	w.Helper()
	w.Want(http.StatusOK, "POST", "/v1/consents", Fields{"consents": []Fields{{"to": to, "status": status}}})
}

// WantEvents has events of contacts written from now on.
func (w *World) WantEvents() {
	w.Helper()
	w.Want(200, "GET", "/v1/events?source=contacts", nil)
}

// ContactEvents reads the log through the API: the events of each contact, in order, as
// "dispatched 1" or "done 1 completed".
func (w *World) ContactEvents() map[string][]string {
	w.Helper()
	got := map[string][]string{}
	for cursor := "0"; cursor != ""; {
		page := w.Want(200, "GET", "/v1/events?limit=1000&type=weir.contact.*&cursor="+cursor, nil).Body
		for _, e := range page["events"].([]any) {
			id, text := w.contactEvent(e.(Fields))
			got[id] = append(got[id], text)
		}
		cursor, _ = page["next_cursor"].(string)
	}
	return got
}

// contactEvent returns the contact of an event, and the event as "done 1 completed".
func (w *World) contactEvent(e Fields) (id, text string) {
	w.Helper()
	data, _ := e["data"].(Fields)
	id = fmt.Sprint(data["contact"])
	if e["subject"] != "contact/"+id {
		w.Errorf("the event of contact %s is about %v", id, e["subject"])
	}
	text = strings.TrimPrefix(fmt.Sprint(e["type"]), "weir.contact.") + " " + fmt.Sprint(data["attempts"])
	if o := data["outcome"]; o != nil {
		text += " " + fmt.Sprint(o)
	}
	return id, text
}

// ExpectContactEvents checks the events of every contact of a channel against the contact:
// one end, in its place, with its outcome, and an event of each attempt.
func (w *World) ExpectContactEvents(channel string) {
	w.Helper()
	got := w.ContactEvents()
	n := 0
	for cursor := ""; ; {
		page := w.Want(200, "GET", "/v1/contacts?limit=1000&channel="+channel+"&cursor="+cursor, nil).Body
		for _, c := range page["contacts"].([]any) {
			n++
			w.ExpectLife(c.(Fields), got[fmt.Sprint(c.(Fields)["id"])])
		}
		if cursor, _ = page["next_cursor"].(string); cursor == "" {
			break
		}
	}
	if n == 0 {
		w.Errorf("channel %s has no contacts", channel)
	}
}

func (w *World) ExpectLife(c Fields, list []string) {
	w.Helper()
	text := strings.Join(list, ", ")
	m := life.FindStringSubmatch(text)
	if m == nil {
		w.Errorf("contact %v (%v) has the events %q", c["key"], c["outcome"], text)
		return
	}
	ended := m[5]
	if m[6] != "" {
		ended = "completed"
	}
	if ended != c["outcome"] {
		w.Errorf("contact %v is %v, its events are %q", c["key"], c["outcome"], text)
	}
	attempts := 0
	if last := c["attempts"].([]any); len(last) > 0 {
		attempts = int(last[0].(Fields)["number"].(float64))
	}
	if dispatched := strings.Count(text, "dispatched "); dispatched < attempts || !strings.Contains(text, fmt.Sprintf("done %d ", attempts)) {
		w.Errorf("contact %v has %d attempts, its events are %q", c["key"], attempts, text)
	}
}

// Successor returns another process on the database of this one, with the same provider. It
// starts, and owns the database, although this one may not know yet that it is not the owner.
func (w *World) Successor() *World {
	w.Helper()
	next := NewWorld(w.T, w.URL)
	next.Lab = w.Lab
	if w.Hooks != nil {
		next.Hooks = &Hooks{Receivers: w.Hooks.Receivers}
	}
	storetest.Free(w.T, w.URL)
	next.Begin()
	return next
}

// Outcomes counts the finished contacts of a channel by outcome.
func (w *World) Outcomes(channel string) map[string]int {
	w.Helper()
	counts := map[string]int{}
	cursor := ""
	for {
		a := w.Want(200, "GET", "/v1/contacts?limit=1000&channel="+channel+cursor, nil)
		for _, c := range a.Body["contacts"].([]any) {
			c := c.(map[string]any)
			if c["state"] == "done" {
				counts[c["outcome"].(string)]++
			} else {
				counts[c["state"].(string)]++
			}
		}
		next, more := a.Body["next_cursor"].(string)
		if !more || next == "" {
			return counts
		}
		cursor = "&cursor=" + next
	}
}

// WaitIdle waits until nothing more happens without an external event. In virtual
// time that is exact. In real time the brokers sweep their queues, and then several
// consecutive polls must find the same records of the provider, the brokers and the
// store, with no dispatch under way.
func (w *World) WaitIdle() {
	w.Helper()
	if w.Virtual {
		synctest.Wait()
		return
	}
	if w.running {
		_ = w.System.Resume(w.Context()) // fails where a test has broken the store
	}
	was, agree := "", 0
	if !polling.Until(restLimit, restEvery, func() bool {
		is, err := w.signs()
		if err != nil || is != was {
			agree = 0
		}
		if was = is; err != nil {
			was = err.Error()
			return false
		}
		agree++
		return agree == restPolls
	}) {
		w.Fatalf("not at rest within %v; the last poll: %s", restLimit, was)
	}
}

// signs returns a text that changes whenever anything is sent, claimed or committed.
// It fails while a claimed contact is on its way to the lab or its result on its
// way to the store.
func (w *World) signs() (string, error) {
	var out strings.Builder
	w.Lab.Behave(func(l *Lab) {
		fmt.Fprintln(&out, "lab", len(l.Sends), len(l.taken), len(l.asked), len(l.canceled), l.InFlight, l.held, l.Prepared)
	})
	if w.Store == nil { // a whole program
		return w.Request("GET", "/v1/contacts?limit=1000", nil).Text, nil
	}
	ids, err := w.Store.OpenChannels(context.Background())
	flights, err2 := w.Store.Flights(context.Background(), ids)
	backlogs, err3 := w.Store.Backlogs(context.Background(), ids)
	fmt.Fprintln(&out, "store", flights, backlogs, errors.Join(err, err2, err3))
	if !w.running {
		return out.String(), nil
	}
	families, err := w.metrics.Gather()
	if err != nil {
		return "", err
	}
	for _, f := range families {
		name := f.GetName()
		if !strings.HasPrefix(name, "weir_channel_") && !strings.HasPrefix(name, "weir_contacts_") && name != "weir_provider_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			fmt.Fprintln(&out, name, m.GetLabel(), m.GetGauge().GetValue(), m.GetCounter().GetValue())
			channel, ours, held := m.GetLabel()[0].GetValue(), false, 0
			w.Lab.Behave(func(l *Lab) { _, ours = l.Address[channel]; held = l.held[channel] })
			if n := int(m.GetGauge().GetValue()); name == "weir_channel_sending_contacts" && ours && n > held {
				return "", fmt.Errorf("channel %s is sending %d contacts; the lab holds %d", channel, n, held)
			}
		}
	}
	return out.String(), nil
}

// Capacity changes the capacity of a channel.
func (w *World) Capacity(channel string, n int) {
	w.Helper()
	w.Patch(channel, Fields{"capacity": n})
}

// Pause pauses or resumes a channel.
func (w *World) Pause(channel string, paused bool) {
	w.Helper()
	w.Patch(channel, Fields{"paused": paused})
}

// AtOnce runs a step that must not need time to pass. In real time the limit of
// until checks that: the periodic sweeps of the queue and questions to the provider
// are further apart.
func (w *World) AtOnce(do func()) {
	w.Helper()
	begun := time.Now()
	do()
	if spent := time.Since(begun); w.Virtual && spent > 100*time.Millisecond {
		w.Fatalf("it took %s of waiting for something else", spent)
	}
}

// OneByOne plays a channel of capacity 1: n times, the contact in flight ends and
// the next may start. It returns the keys in order of dispatch, beginning with the
// contact in flight.
func (w *World) OneByOne(n int, after ...func(key string)) []string {
	w.Helper()
	begin := len(w.Lab.SentKeys()) - 1
	for i := range n {
		key := w.Nth(begin + i)
		w.Finish(key)
		for _, f := range after {
			f(key)
		}
	}
	return w.Lab.SentKeys()[begin : begin+n]
}

// Nth waits for the contact that is sent as number n, counted from 0, and returns
// its key.
func (w *World) Nth(n int) string {
	w.Helper()
	w.Until("the next contact is sent", func() bool { return len(w.Lab.SentKeys()) > n })
	return w.Lab.SentKeys()[n]
}

// SentSet returns the keys of all sent contacts, sorted: contacts that were claimed
// together are sent together, in any order.
func (w *World) SentSet() []string { return slices.Sorted(slices.Values(w.Lab.SentKeys())) }

// Claimed returns when the latest attempt of a contact was claimed.
func (w *World) Claimed(id string) time.Time {
	w.Helper()
	attempts := w.Contact(id)["attempts"].([]any)
	if len(attempts) == 0 {
		return time.Time{}
	}
	return Instant(w, attempts[len(attempts)-1].(map[string]any), "claimed_at")
}

// Finished returns when a contact ended.
func (w *World) Finished(id string) time.Time {
	w.Helper()
	return Instant(w, w.Contact(id), "finished_at")
}

// Fuse restarts the brokers with a fuse that makes them panic.
func (w *World) Fuse() *fuse {
	w.Helper()
	return w.FuseThat(func() { panic("a fuse blew") })
}

func (w *World) FuseThat(blows func()) *fuse {
	w.Helper()
	f := &fuse{}
	w.Wrap = append(w.Wrap, func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
			if f.lit.CompareAndSwap(true, false) {
				f.out.Store(true)
				blows()
			}
			next(c, env)
		}
	})
	w.Restart()
	return f
}

// SurveyBecause waits until a survey and its figures name this reason for contacting
// no respondents.
func (w *World) SurveyBecause(name, code, sentence string) {
	w.Helper()
	var v map[string]any
	w.Until(name+" waits because of "+code, func() bool {
		v = w.Want(200, "GET", "/v1/surveys/"+name, nil).Body
		return v["why_code"] == code
	})
	if why := fmt.Sprint(v["why"]); !strings.Contains(why, sentence) {
		w.Errorf("%s waits because of %q, want %q", name, why, sentence)
	}
	w.NamesInstants(v)
	stats := w.Want(200, "GET", "/v1/surveys/"+name+"/stats", nil).Body
	w.NamesInstants(stats)
	if got := stats["why_code"]; got != code {
		w.Errorf("by its figures %s waits because of %v, want %s", name, got, code)
	}
}

// SkipTo lets time pass until an instant while no process runs, so that a virtual
// night costs nothing.
func (w *World) SkipTo(until time.Time) {
	w.Helper()
	w.Crash()
	time.Sleep(time.Until(until))
	w.Begin()
	synctest.Wait()
}

// startSurveys starts the survey broker and connects the API to it.
func (w *World) startSurveys(directory *channels.Directory, o *web.Options) {
	w.Helper()
	key, err := w.Store.TokenKey(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	o.Tokens = surveys.NewTokens(key)
	w.surveys, err = surveybroker.Start(surveybroker.Options{
		ActorSystem: w.actors,
		Store: surveybroker.Store{
			SurveyStore: w.Store, ChannelReader: w.Store, RespondentReader: w.Store, PacingReader: w.Store, Worker: w.Store, Outbox: w.Store,
			ChannelStateStore: w.Store, ContactReader: w.Store,
		},
		Channels: w.System, Types: directory, People: w.Store, Limits: w.Store, StartNumber: w.Store.Start(), Logger: w.Logger(), Metrics: surveybroker.NewMetrics(w.metrics),
		Defaults:      surveys.Defaults{Batch: 10000, LimitPerMinute: 10000, InitialSuccessRate: 1},
		RoundInterval: w.Timing.Every, CheckEvery: w.Timing.Check, CheckTimeout: 15 * time.Second,
		Random: func() float64 { return 0.5 }, Tokens: o.Tokens,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(w.surveys.Close)
	o.Surveys, o.SurveyStore, o.Importer = w.surveys, w.Store, w.Store
}

// CreateSurvey stores a survey with this many respondents, whose numbers begin at first,
// and returns their ids.
func (w *World) CreateSurvey(name string, body Fields, first, people int) []string {
	w.Helper()
	a := w.Call("PUT", "/v1/surveys/"+name, body)
	if a.Status != http.StatusCreated {
		w.Fatalf("survey %s: %d %s", name, a.Status, a.Text)
	}
	var list []Fields
	for i := range people {
		list = append(list, Fields{"phone": Number(first + i)})
	}
	return w.AddRespondents(name, list...)
}

// AddRespondents adds respondents to a survey and returns their ids.
func (w *World) AddRespondents(name string, list ...Fields) []string {
	w.Helper()
	var ids []string
	for len(list) > 0 {
		n := min(len(list), 1000)
		a := w.Want(http.StatusOK, "POST", "/v1/surveys/"+name+"/respondents", Fields{"respondents": list[:n]})
		for _, r := range a.Body["respondents"].([]any) {
			ids = append(ids, r.(map[string]any)["id"].(string))
		}
		list = list[n:]
	}
	return ids
}

// LaunchSurvey stores a survey with respondents and launches it.
func (w *World) LaunchSurvey(name string, body Fields, first, people int) []string {
	w.Helper()
	ids := w.CreateSurvey(name, body, first, people)
	w.SurveyCommand(name, "launch")
	return ids
}

// SurveyCommand asks a survey to launch, pause, resume or stop.
func (w *World) SurveyCommand(name, step string) {
	w.Helper()
	w.Want(http.StatusOK, "POST", "/v1/surveys/"+name+":"+step, nil)
}

// SurveyState returns the state of a survey and its cause.
func (w *World) SurveyState(name string) string {
	w.Helper()
	v := w.Want(http.StatusOK, "GET", "/v1/surveys/"+name, nil).Body
	if v["cause"] == nil {
		return v["state"].(string)
	}
	return v["state"].(string) + " " + v["cause"].(string)
}

// Respondent reads a respondent.
func (w *World) Respondent(survey, id string) map[string]any {
	w.Helper()
	return w.Want(http.StatusOK, "GET", "/v1/surveys/"+survey+"/respondents/"+id, nil).Body
}

// RespondentState returns the status and the disposition of a respondent.
func (w *World) RespondentState(survey, id string) string {
	w.Helper()
	p := w.Respondent(survey, id)
	return p["status"].(string) + ", " + p["disposition"].(string)
}

// ExpectRespondent waits until a respondent has this status and disposition.
func (w *World) ExpectRespondent(survey, id, want string) {
	w.Helper()
	w.Until(id+" is "+want, func() bool { return w.RespondentState(survey, id) == want })
}

// AttemptsMade returns how many attempts of a mode were made with a respondent.
func (w *World) AttemptsMade(survey, id, mode string) int {
	w.Helper()
	n, _ := w.Respondent(survey, id)["attempts"].(map[string]any)[mode].(float64)
	return int(n)
}

// StatusCounts returns the number of a survey's respondents by status.
func (w *World) StatusCounts(survey string) map[string]int {
	w.Helper()
	out := map[string]int{}
	for status, n := range w.Want(http.StatusOK, "GET", "/v1/surveys/"+survey+"/stats", nil).Body["by_status"].(map[string]any) {
		if n := int(n.(float64)); n > 0 {
			out[status] = n
		}
	}
	return out
}

// ReportDisposition makes the application report about a respondent.
func (w *World) ReportDisposition(survey, id string, body Fields) map[string]any {
	w.Helper()
	return w.Want(http.StatusOK, "POST", "/v1/surveys/"+survey+"/respondents/"+id+"/disposition", body).Body
}

// ReceiveMessage makes a person send a message to a channel.
func (w *World) ReceiveMessage(channel, from, text string) {
	w.Helper()
	w.ReceiveMessageAs(channel, text+from, from, text)
}

// ReceiveMessageAs is ReceiveMessage with the id that the provider gives it.
func (w *World) ReceiveMessageAs(channel, guid, from, text string) {
	w.Helper()
	w.Until("channel "+channel+" has an address", func() bool {
		w.Lab.Mu.Lock()
		defer w.Lab.Mu.Unlock()
		return w.Lab.Address[channel] != ""
	})
	q := url.Values{"from": {from}, "body": {text}, "guid": {guid}}
	w.Want(http.StatusOK, "POST", w.Lab.Address[channel]+"/incoming?"+q.Encode(), nil)
}

// PublishedEvents lists the published events of a type.
func (w *World) PublishedEvents(kind string) []map[string]any {
	w.Helper()
	var out []map[string]any
	for _, e := range w.Want(http.StatusOK, "GET", "/v1/events?limit=1000&type="+kind, nil).Body["events"].([]any) {
		out = append(out, e.(map[string]any)["data"].(map[string]any))
	}
	return out
}

// EndContacts makes the provider accept everything and end it after a while, in virtual
// time.
func (w *World) EndContacts(of func(LabAttempt) (time.Duration, string)) {
	w.Helper()
	w.Lab.Behave(func(l *Lab) {
		l.OnSend = sendAndEnd(w, of)
	})
}

// ExpectNoFaults fails the test if anything in the survey broker panicked or failed.
func (w *World) ExpectNoFaults() {
	w.Helper()
	for _, name := range []string{"weir_survey_broker_panics_total", "weir_survey_broker_restarts_total", "weir_survey_respondents_stumbled_total", "weir_survey_rounds_failed_total"} {
		if n := w.Metric(name); n > 0 {
			w.Errorf("%s is %v", name, n)
		}
	}
}

// afterFunc runs do after wait, but not once the test has ended.
func (w *World) afterFunc(wait time.Duration, do func()) {
	var done sync.WaitGroup
	done.Add(1)
	timer := time.AfterFunc(wait, func() {
		defer done.Done()
		do()
	})
	w.Cleanup(func() {
		if !timer.Stop() {
			done.Wait()
		}
	})
}

// RefusedAt requires a 422 that names a field.
func (w *World) RefusedAt(pointer, method, path string, body any) {
	w.Helper()
	a := w.Call(method, path, body)
	for _, e := range List(a.Body["errors"]) {
		if a.Status == http.StatusUnprocessableEntity && e["pointer"] == pointer {
			return
		}
	}
	w.Errorf("%s %s %v: %d, want 422 with %s: %s", method, path, body, a.Status, pointer, a.Text)
}

// Metric returns the sum of the series of a family that have these labels, given as
// alternating names and values.
func (w *World) Metric(name string, labels ...string) float64 {
	w.Helper()
	families, err := w.metrics.Gather()
	if err != nil {
		w.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if has(m, labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// Callbacks returns how many callback reports got this verdict.
func (w *World) Callbacks(verdict string) int {
	w.Helper()
	return int(w.Metric("weir_callbacks_total", "result", verdict))
}

// ExpectInFlight fails the test unless a channel has this many slots in flight by Weir's own
// count and by the provider's.
func (w *World) ExpectInFlight(channel string, want int) {
	w.Helper()
	now, _ := w.Lab.Use(channel)
	if got := w.Figure(channel, "in_flight"); got != want || now != want {
		w.Fatalf("channel %s has %d slots in flight, %d at the provider; want %d", channel, got, now, want)
	}
}

// InFlight waits until Weir counts this many slots in flight.
func (w *World) InFlight(channel string, want int) {
	w.Helper()
	w.Until(fmt.Sprintf("%d slots in flight", want), func() bool { return w.Figure(channel, "in_flight") == want })
}

// Becomes waits until a contact is in a state.
func (w *World) Becomes(id, state string) map[string]any {
	w.Helper()
	var c map[string]any
	w.Until("contact "+id+" is "+state, func() bool { c = w.Contact(id); return c["state"] == state })
	return c
}

// Attempts lists the attempts of a contact.
func (w *World) Attempts(id string) []map[string]any {
	w.Helper()
	var list []map[string]any
	for _, a := range w.Contact(id)["attempts"].([]any) {
		list = append(list, a.(map[string]any))
	}
	return list
}

// Patch changes a channel.
func (w *World) Patch(channel string, change Fields) {
	w.Helper()
	w.Want(200, "PATCH", "/v1/channels/"+channel, change)
}

// Within fails the test if do takes longer than the limit, on the clock of the
// world: inside a bubble that is exact.
func (w *World) Within(limit time.Duration, what string, do func()) {
	w.Helper()
	begun := time.Now()
	do()
	if took := time.Since(begun); took > limit {
		w.Fatalf("%s took %v; want at most %v", what, took, limit)
	}
}

// Quick returns the longest that Weir may take for work that needs no provider: next
// to nothing in a bubble, and some seconds on a busy machine.
func (w *World) Quick() time.Duration {
	if w.Virtual {
		return 50 * time.Millisecond
	}
	return 3 * time.Second
}

// Speaks waits until the lab was called for a contact and returns its latest
// attempt.
func (w *World) Speaks(key string) LabAttempt {
	w.Helper()
	w.Until(key+" reaches the provider", func() bool { return w.Sends(key) > 0 })
	return w.Lab.Attempt(key)
}

// Sends counts the calls of Send for one contact.
func (w *World) Sends(key string) int {
	n := 0
	for _, k := range w.Lab.SentKeys() {
		if k == key {
			n++
		}
	}
	return n
}

// ExpectNoDuplicates fails the test if a contact was sent twice.
func (w *World) ExpectNoDuplicates() {
	w.Helper()
	seen := map[string]bool{}
	for _, k := range w.Lab.SentKeys() {
		if seen[k] {
			w.Errorf("contact %s was sent twice", k)
		}
		seen[k] = true
	}
}

// Because fails the test unless a contact waits for this reason: its code, and a
// part of the sentence.
func (w *World) Because(id, code, sentence string) {
	w.Helper()
	// One view is judged, since the next one may be of a moment at which the channel tries to claim the contact.
	var c map[string]any
	w.Until("it waits because of "+code, func() bool {
		c = w.Contact(id)
		return c["why_code"] == code
	})
	if why := fmt.Sprint(c["why"]); !strings.Contains(why, sentence) {
		w.Errorf("it waits because of %q, want %q", why, sentence)
	}
	w.NamesInstants(c)
	w.Until("in the list it waits because of "+code, func() bool {
		list := List(w.Want(200, "GET", "/v1/contacts?channel="+fmt.Sprint(c["channel"])+"&limit=1000", nil).Body["contacts"])
		i := slices.IndexFunc(list, func(l map[string]any) bool { return l["id"] == id })
		return i < 0 || list[i]["why_code"] == code
	})
}

// NamesInstants fails the test unless a view has the instants of its reason as a
// field, in the order of the sentence.
func (w *World) NamesInstants(view map[string]any) {
	w.Helper()
	var want []string
	for _, c := range operators.Parts(fmt.Sprint(view["why"])) {
		if !c.At.IsZero() {
			want = append(want, c.At.Format(time.RFC3339))
		}
	}
	if got, _ := view["why_instants"].([]any); fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("%v has the instants %v, want %v", view["why"], got, want)
	}
}

// Soon returns an instant in the near future: after d in virtual time, after a moment
// in real time.
func (w *World) Soon(d time.Duration) time.Time {
	if !w.Virtual {
		d = 3 * time.Second
	}
	return time.Now().Add(d).Truncate(time.Millisecond)
}

// Wait lets time pass until an instant.
func (w *World) Wait(until time.Time) {
	if w.Virtual {
		w.Pass(time.Until(until))
		return
	}
	w.Until("the instant has come", func() bool { return !time.Now().Before(until) })
}
