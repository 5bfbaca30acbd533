package scenarios_test

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"weir"
	nuntium "weir/channels/nuntium/simulator"
	"weir/channels/simulation/memnet"
	verboice "weir/channels/verboice/simulator"
)

// providers are the simulated providers, behind the real drivers and an in-memory
// network: for scenarios that depend on a provider's real answers.
type providers struct {
	*world
	sms   *nuntium.Server
	voice *verboice.Server

	mu       sync.Mutex
	requests []string                                          // paths, in order
	meddle   func(w http.ResponseWriter, r *http.Request) bool // answers instead of a provider
}

// withProviders connects a world to simulated providers. Virtual time only.
func withProviders(w *world, sms nuntium.Options, voice verboice.Options) *providers {
	w.Helper()
	p := &providers{world: w}
	var network memnet.Network
	outgoing, incoming := network.Transport(), network.Transport()
	w.transport = func(weir.Channel) http.RoundTripper { return outgoing }
	sms.Client, voice.Client = &http.Client{Transport: incoming}, &http.Client{Transport: incoming}
	voice.SkipFlows = true
	var err error
	if p.sms, err = nuntium.New(sms); err != nil {
		w.Fatal(err)
	}
	if p.voice, err = verboice.New(voice); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(network.Serve("weir.test", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.handler.ServeHTTP(rw, r) })))
	w.Cleanup(network.Host("nuntium.test", p.watched(p.sms), p.sms.Run))
	w.Cleanup(network.Host("verboice.test", p.watched(p.voice), p.voice.Run))
	w.Cleanup(func() {
		outgoing.CloseIdleConnections()
		incoming.CloseIdleConnections()
	})
	w.restart() // so that the drivers use the new transport
	return p
}

// watched records each request and lets the test answer it.
func (p *providers) watched(provider http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.requests = append(p.requests, r.URL.Path)
		meddle := p.meddle
		p.mu.Unlock()
		if meddle != nil && meddle(w, r) {
			return
		}
		provider.ServeHTTP(w, r)
	})
}

// meddles sets the handler that answers instead of the providers; nil: none.
func (p *providers) meddles(f func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meddle = f
}

// fails answers every request with a status.
func (p *providers) fails(status int) {
	p.meddles(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true })
}

// asked returns the number of requests so far.
func (p *providers) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

// smsChannel makes a channel of type nuntium.
func (p *providers) smsChannel(name string, capacity int, settings ...fields) {
	p.Helper()
	all := fields{"base_url": "http://nuntium.test", "account": "demo", "application": "weir", "token": "token", "channel": "sms"}
	for _, s := range settings {
		maps.Copy(all, s)
	}
	p.channel(name, capacity, fields{"type": "nuntium", "settings": all})
}

// callChannel makes a channel of type verboice.
func (p *providers) callChannel(name string, capacity int) {
	p.Helper()
	p.channel(name, capacity, fields{"type": "verboice", "settings": fields{
		"base_url": "http://verboice.test", "username": "u", "password": "p", "channel": "main",
	}})
}

// outcomes counts the finished contacts of a channel by outcome.
func (w *world) outcomes(channel string) map[string]int {
	w.Helper()
	counts := map[string]int{}
	cursor := ""
	for {
		a := w.want(200, "GET", "/v1/contacts?limit=1000&channel="+channel+cursor, nil)
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

// at formats an instant d from now as the API takes it.
func at(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
