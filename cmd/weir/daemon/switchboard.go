package daemon

import (
	"context"
	"net/http"
	"sync"
)

// switchboard serves requests itself while this process owns the database, and passes them
// on otherwise.
type switchboard struct {
	pass http.Handler // nil: there is no other process

	mu      sync.Mutex
	own     http.Handler // nil: requests are passed on
	running int          // requests that own serves
	idle    chan struct{}
}

// ServeHTTP implements http.Handler.
func (b *switchboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !b.serveOwn(w, r) {
		b.pass.ServeHTTP(w, r)
	}
}

// serveOwn serves a request, unless this process does not own the database: then it does
// nothing, and returns false.
func (b *switchboard) serveOwn(w http.ResponseWriter, r *http.Request) bool {
	b.mu.Lock()
	h := b.own
	if h != nil {
		b.running++
	}
	b.mu.Unlock()
	if h == nil {
		return false
	}
	defer b.served()
	h.ServeHTTP(w, r)
	return true
}

func (b *switchboard) served() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	if b.running == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// serve makes this process serve requests.
func (b *switchboard) serve(h http.Handler) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.own = h
}

// stop passes new requests on, and waits until running ones have ended.
func (b *switchboard) stop(ctx context.Context) error {
	b.mu.Lock()
	b.own = nil
	idle := make(chan struct{})
	if b.idle = idle; b.running == 0 {
		close(idle)
		b.idle = nil
	}
	b.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
