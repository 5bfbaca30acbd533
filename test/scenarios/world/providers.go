package world

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"weir"
	nuntium "weir/channels/nuntium/simulator"
	"weir/channels/simulation/memnet"
	verboice "weir/channels/verboice/simulator"
	"weir/internal/httponce"
)

// providers are the simulated providers, behind the real drivers and an in-memory
// network: for scenarios that depend on a provider's real answers.
type providers struct {
	*World
	SMS   *nuntium.Server
	Voice *verboice.Server

	mu       sync.Mutex
	requests []string                                          // paths, in order
	meddle   func(w http.ResponseWriter, r *http.Request) bool // answers instead of a provider
}

// WithProviders connects a world to simulated providers. Virtual time only.
func WithProviders(w *World, sms nuntium.Options, voice verboice.Options) *providers {
	w.Helper()
	p := &providers{World: w}
	var network memnet.Network
	outgoing, incoming := httponce.New(httponce.Options{Dial: network.Dial}), network.Transport()
	w.Transport = func(weir.Channel) http.RoundTripper { return outgoing }
	sms.Client, voice.Client = &http.Client{Transport: incoming}, &http.Client{Transport: incoming}
	voice.SkipFlows = true
	var err error
	if p.SMS, err = nuntium.New(sms); err != nil {
		w.Fatal(err)
	}
	if p.Voice, err = verboice.New(voice); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(network.Serve("weir.test", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.Handler.ServeHTTP(rw, r) })))
	w.Cleanup(network.Host("nuntium.test", p.watched(p.SMS), p.SMS.Run))
	w.Cleanup(network.Host("verboice.test", p.watched(p.Voice), p.Voice.Run))
	w.Cleanup(func() {
		outgoing.CloseIdleConnections()
		incoming.CloseIdleConnections()
	})
	w.Restart() // so that the drivers use the new transport
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

// Meddles sets the handler that answers instead of the providers; nil: none.
func (p *providers) Meddles(f func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meddle = f
}

// Fails answers every request with a status.
func (p *providers) Fails(status int) {
	p.Meddles(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(status); return true })
}

// Asked returns the number of requests so far.
func (p *providers) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

// SmsChannel makes a channel of type nuntium.
func (p *providers) SmsChannel(name string, capacity int, settings ...Fields) {
	p.Helper()
	all := Fields{"base_url": "http://nuntium.test", "account": "demo", "application": "weir", "token": "token", "channel": "sms"}
	for _, s := range settings {
		maps.Copy(all, s)
	}
	p.Channel(name, capacity, Fields{"type": "nuntium", "settings": all})
}

// CallChannel makes a channel of type verboice.
func (p *providers) CallChannel(name string, capacity int) {
	p.Helper()
	p.Channel(name, capacity, Fields{"type": "verboice", "settings": Fields{
		"base_url": "http://verboice.test", "username": "u", "password": "p", "channel": "main",
	}})
}

// At formats an instant d from now as the API takes it.
func At(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
