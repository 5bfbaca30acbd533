//go:build kannel

package kanneltest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"weir"
	"weir/channels"
	driver "weir/channels/kannel"
	"weir/channels/kannel/simulator"
	"weir/internal/polling"
)

// incomingFields are the parameters of docs/providers.md.
const incomingFields = "/incoming?from=%q&to=%Q&text=%b&id=%I&ts=%T&coding=%c&charset=%C"

// ours is our end: it keeps what Kannel requests, and reads it with the driver.
type ours struct {
	url    string
	driver channels.Driver

	mu       sync.Mutex
	status   []int // of the next answers; then 200
	heard    []string
	reports  []weir.Report
	incoming []weir.Incoming
}

func newOurs(t *testing.T) *ours {
	o := &ours{}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

func (o *ours) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard = append(o.heard, r.Method+" "+r.URL.Path+" "+fmt.Sprintf("state=%s receipt=%s", q.Get("state"), strings.TrimSpace(q.Get("receipt"))))
	if len(o.status) > 0 {
		status := o.status[0]
		o.status = o.status[1:]
		if status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
	}
	reading, err2 := o.driver.ParseCallback(channels.Callback{Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, "/"), Query: q, At: time.Now()})
	if err != nil || err2 != nil {
		o.heard = append(o.heard, fmt.Sprint("not understood: ", err, err2))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	o.reports = append(o.reports, reading.Reports...)
	o.incoming = append(o.incoming, reading.Incoming...)
}

func (o *ours) answer(status ...int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.status = status
}

// requests returns the requests about a path that have come, sorted: Kannel keeps no
// order.
func (o *ours) requests(path string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, h := range o.heard {
		if strings.Contains(h, path) || strings.HasPrefix(h, "not understood") {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return out
}

// outcomesOf returns the sorted outcomes that were reported of an attempt.
func (o *ours) outcomesOf(id weir.AttemptRef) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, r := range o.reports {
		if r.Attempt == id {
			out = append(out, fmt.Sprintf("%d %s %s", r.Part, r.Outcome, r.Reason))
		}
	}
	slices.Sort(out)
	return out
}

func (o *ours) texts() []weir.Incoming {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.incoming)
}

// peer is a real or a simulated Kannel with our end.
type peer struct {
	*ours
	name        string
	base, admin string
	smsc        *smsc             // of the real one
	real        *kannel           // nil: simulated
	sim         *simulator.Server // nil: real
}

func realPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{ours: newOurs(t), name: "real", smsc: newSMSC(t)}
	p.real = startKannel(t, p.smsc, p.url+incomingFields)
	p.base, p.admin = fmt.Sprintf("http://127.0.0.1:%d", p.real.sendsms), fmt.Sprintf("http://127.0.0.1:%d", p.real.admin)
	p.driver = p.newDriver(t, nil)
	return p
}

func simulatedPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{ours: newOurs(t), name: "simulated"}
	var err error
	p.sim, err = simulator.New(simulator.Options{
		Username: user, Password: password, StatusPassword: "stat", Outcomes: outcomes, Retries: 5, RetryDelay: time.Second,
		Links: []simulator.Link{{ID: "FAKE", Prefixes: []string{"+1", "1"}, State: simulator.Reconnecting}, {ID: "SCRIPTED", Prefixes: []string{"+2", "2"}},
			{ID: "NAMED", Prefixes: []string{"+4", "4"}, NamedOnly: true, State: simulator.Reconnecting}},
		IncomingURL: p.url + incomingFields,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { p.sim.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	server := httptest.NewServer(p.sim)
	t.Cleanup(server.Close)
	p.base, p.admin = server.URL, server.URL
	p.driver = p.newDriver(t, nil)
	return p
}

func (p *peer) settings(more weir.Settings) weir.Settings {
	s := weir.Settings{
		"sendsms_url": p.base + "/cgi-bin/sendsms", "username": user, "password": password, "admin_url": p.admin, "status_password": "stat",
		"final_state": "delivered",
	}
	for k, v := range more {
		s[k] = v
	}
	return s
}

func (p *peer) newDriver(t *testing.T, more weir.Settings) channels.Driver {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	d, err := driver.Type().New(channels.Config{Settings: p.settings(more), CallbackURL: p.url, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// connect brings the link FAKE online, with messages that people send.
func (p *peer) connect(messages ...simulator.Incoming) error {
	if p.real != nil {
		var lines []string
		for _, m := range messages {
			kind, text := "text", m.Text
			if m.Coding == 2 {
				kind, text = "ucs2", percent(m.Text)
			}
			lines = append(lines, fmt.Sprintf("%s %s %s %s", m.From, m.To, kind, text))
		}
		p.real.startPhone(lines...)
		return nil
	}
	for _, m := range messages {
		if err := p.sim.Receive(m); err != nil {
			return err
		}
	}
	return p.sim.SetLink("FAKE", simulator.Online)
}

// percent writes a text as fakesmsc takes UCS-2.
func percent(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, "%%%02X%%%02X", r>>8, r&0xff)
	}
	return b.String()
}

// wait waits until n requests about a path have come.
func (p *peer) wait(t *testing.T, path string, n int) []string {
	t.Helper()
	polling.Until(patience, 20*time.Millisecond, func() bool { return len(p.requests(path)) >= n })
	return p.requests(path)
}

func attempt(id weir.ContactID, to string, messages ...string) channels.Attempt {
	return channels.Attempt{ID: weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: id}, Number: 1}, To: to, Messages: messages}
}

func fromUTF16(raw string) string {
	var units []uint16
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	return string(utf16.Decode(units))
}
