package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/channels/simulation"

	nuntium "weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
)

// provider is a simulated provider behind a real HTTP server.
type provider struct {
	url      string
	line     string // the name of its channel
	settings map[string]any
	tally    *simulation.Tally
	stop     func()
	receive  func(from, body string) error // of messages: a person writes one
	// heard, if not nil, is called when Weir has accepted a person's message. It must be quick.
	heard func(from, body string, at time.Time)

	faults *simulation.Faults
	usual  []string // the rules of its faults
	losses string   // the rule with which its reports are lost
	forget func()   // drops what only a run of hours would fill memory with
}

// keptFor is how long a simulated provider keeps calls and messages of live traffic.
const keptFor = 15 * time.Minute

// simulated is the interface of both simulators.
type simulated interface {
	http.Handler
	Run(ctx context.Context)
	Tally() *simulation.Tally
	Faults() *simulation.Faults
	Forget()
}

// start serves a simulator on a port of its own until it is stopped.
func start(ctx context.Context, s simulated, line string) (*provider, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &provider{url: "http://" + l.Addr().String(), line: line, tally: s.Tally(), faults: s.Faults(), usual: s.Faults().Rules(), forget: s.Forget}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	running.Go(func() { _ = server.Serve(l) }) // ends when the server is closed
	p.stop = func() {
		cancel()
		_ = server.Close()
		running.Wait()
	}
	return p, nil
}

// startProvider starts the provider of a channel. taken is called with each message that it takes, and has to be quick.
func startProvider(ctx context.Context, o Options, c *channel, taken func(key, to, body string)) (*provider, error) {
	if c.provider == verboiceName {
		return startVerboice(ctx, o, c.capacity)
	}
	return startNuntium(ctx, o, taken)
}

// startVerboice starts the provider of calls. Some people never pick up, others
// are busy, do not answer or hang up; some answers come late, and some status
// callbacks get lost or come twice.
func startVerboice(ctx context.Context, o Options, capacity int) (*provider, error) {
	p := o.pace()
	password := secret()
	s, err := verboice.New(verboice.Options{
		PurgeAfter: o.keptFor(),
		Accounts:   []verboice.Account{{Username: "weir", Password: password}},
		Channels:   []verboice.Channel{{ID: 1, Name: "main", Limit: capacity}},
		Ring:       p.of(300 * time.Millisecond), Talk: p.of(500 * time.Millisecond), Seed: o.Seed, Digits: "1",
		Outcomes: []string{"no-answer:*" + neverPicksUp, "busy:0.15", "no-answer:0.15", "hangup:0.05", "failed=17:0.02", "silent:0.01"},
		Faults: []string{
			"drop@completed:0.02", "drop@busy:0.05", "duplicate@completed:0.03",
			rule("delay", p.of(300*time.Millisecond), "completed:0.3"),
			rule("late", p.of(150*time.Millisecond), "send:0.2"),
		},
	})
	if err != nil {
		return nil, err
	}
	out, err := start(ctx, s, "main")
	if err == nil {
		out.losses = "drop" // Verboice reports the state of calls, and nothing else
		out.settings = map[string]any{"base_url": out.url, "username": "weir", "password": password, "channel": out.line}
	}
	return out, err
}

// startNuntium starts the provider of messages. Some cannot be delivered, or
// only later or by another route; some acks get lost, come twice or in the
// wrong order.
func startNuntium(ctx context.Context, o Options, taken func(key, to, body string)) (*provider, error) {
	p := o.pace()
	token := secret()
	s, err := nuntium.New(nuntium.Options{
		Taken:        taken,
		PurgeAfter:   o.keptFor(),
		Account:      "demo",
		Applications: []nuntium.Application{{Name: "weir", Tokens: []string{token}}},
		Channels:     []nuntium.Channel{{Name: "main", Enabled: true}},
		QueueTime:    p.of(100 * time.Millisecond), DeliverTime: p.of(400 * time.Millisecond),
		ConfirmTime: p.of(200 * time.Millisecond), TimeScale: 0.02 / o.Speed, Seed: o.Seed,
		Outcomes: []string{"failed:*" + noSuchNumber, "failover:0.02", "delayed:0.06", "twice:0.04", "reversed:0.04", "delivered:0.4"},
		Faults: []string{
			"drop@ack:0.03", "duplicate@ack:0.04", "duplicate@incoming:0.05",
			rule("delay", p.of(300*time.Millisecond), "ack:0.2"),
			rule("late", p.of(100*time.Millisecond), "send:0.2"),
		},
	})
	if err != nil {
		return nil, err
	}
	out, err := start(ctx, s, "main")
	if err == nil {
		out.settings = map[string]any{
			"base_url": out.url, "account": "demo", "application": "weir", "token": token, "channel": out.line,
		}
		out.losses = "drop@ack"
		out.receive = func(from, body string) error {
			_, _, err := s.Receive(nuntium.Incoming{From: from, To: "12345", Body: body, Channel: out.line, Accepted: func() {
				if out.heard != nil {
					out.heard(from, body, time.Now())
				}
			}})
			return err
		}
	}
	return out, err
}

// keptFor returns how long the providers keep what is done; 0: until the end.
func (o Options) keptFor() time.Duration {
	if o.Serve {
		return keptFor
	}
	return 0
}

func rule(what string, d time.Duration, when string) string {
	return fmt.Sprintf("%s=%s@%s", what, d, when)
}

// secret returns a random password or token for one run.
func secret() string { return strings.ToLower(rand.Text()) }
