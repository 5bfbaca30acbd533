package crashtest_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/channels/nuntium/simulator"
	"weir/channels/simulation"
	verboice "weir/channels/verboice/simulator"
)

// outside is a simulated provider and the channel that uses it.
type outside struct {
	channel  string
	kind     string // channel type
	capacity int
	line     string // name of the line in the tally
	settings map[string]any
	tally    *simulation.Tally
	faults   *simulation.Faults
	usual    []string // faults of every scenario
	// content adds the content of contact n.
	content func(n int, contact map[string]any)
	// keyOf returns the tally's key for a contact's id.
	keyOf func(id string) string
	// alike counts messages that were sent twice under two keys.
	alike func() int
	// receive brings a message from a person.
	receive func(from, text string) error
	// reports is true if the provider can always report the outcome of a contact.
	reports bool
}

// longestCall bounds the time of a contact at a provider, queueing included.
const longestCall = 500 * time.Millisecond

// newCalls returns a Verboice that dials fewer calls at once than the channel's
// capacity, so that some can be canceled before they begin.
func newCalls(t *testing.T, capacity int) *outside {
	t.Helper()
	s, err := verboice.New(verboice.Options{
		Ring: 5 * time.Millisecond, Talk: 150 * time.Millisecond, SkipFlows: true,
		Channels: []verboice.Channel{{ID: 1, Name: "main", Limit: capacity * 2 / 3}},
		Outcomes: []string{"busy:0.1", "no-answer:0.1", "silent:0.05", "double:0.05"},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{
		channel: "calls", kind: "verboice", capacity: capacity, line: "main",
		settings: map[string]any{"username": "weir", "password": "secret", "channel": "main"},
		tally:    s.Tally(), faults: s.Faults(),
		usual: []string{"drop:0.15", "duplicate:0.05", "late=50ms@send:0.2"},
		content: func(_ int, contact map[string]any) {
			contact["call"] = map[string]any{"callback_url": "http://127.0.0.1:1/flow"}
		},
		keyOf: func(id string) string { return id },
		alike: func() int { return alike(s.Tally(), "main") },
	}
	o.serve(t, httptest.NewUnstartedServer(s), s.Run)
	return o
}

// alike counts calls to an address that had been called before; every contact has an
// address of its own.
func alike(tally *simulation.Tally, line string) int {
	seen, n := map[string]bool{}, 0
	for _, k := range tally.Keys(line) {
		if seen[k.Address] {
			n++
		}
		seen[k.Address] = true
	}
	return n
}

// newSMS returns a Nuntium that repeats its acks quickly.
func newSMS(t *testing.T, capacity int) *outside {
	t.Helper()
	s, err := simulator.New(simulator.Options{
		QueueTime: 5 * time.Millisecond, DeliverTime: 120 * time.Millisecond, ConfirmTime: 10 * time.Millisecond, TimeScale: 0.002,
		Outcomes: []string{"failed:0.05", "twice:0.1", "reversed:0.1", "failover:0.05", "delivered:0.3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &outside{
		channel: "sms", kind: "nuntium", capacity: capacity, line: "sms",
		settings: map[string]any{"account": "demo", "application": "weir", "token": "token", "channel": "sms"},
		tally:    s.Tally(), faults: s.Faults(),
		usual: []string{"drop@ack:0.15", "duplicate@ack:0.05", "late=50ms@send:0.2"},
		content: func(n int, contact map[string]any) {
			messages := []string{fmt.Sprint("first ", n), fmt.Sprint("second ", n)}
			contact["messages"] = messages[:1+n%2]
		},
		keyOf: func(id string) string { return id + ".0" },
		alike: func() int { return s.Records().Alike },
		receive: func(from, text string) error {
			_, _, err := s.Receive(simulator.Incoming{From: from, To: "100", Body: text})
			return err
		},
		reports: true,
	}
	o.serve(t, httptest.NewUnstartedServer(s), s.Run)
	return o
}

// serve runs the provider until the test ends.
func (o *outside) serve(t *testing.T, server *httptest.Server, run func(context.Context)) {
	t.Helper()
	if err := o.faults.Set(o.usual...); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	server.Start()
	o.settings["base_url"] = server.URL
	t.Cleanup(func() {
		cancel()
		<-ended
		server.CloseClientConnections()
		server.Close()
	})
}

// keys returns the keys of everything that the provider got.
func (o *outside) keys() map[string]bool {
	keys := map[string]bool{}
	for _, k := range o.tally.Keys(o.line) {
		keys[k.Key] = true
	}
	return keys
}

// contactOf returns the id of the contact that a tally's key belongs to.
func contactOf(key string) string {
	id, _, _ := strings.Cut(key, ".")
	return id
}
