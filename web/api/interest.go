package api

import (
	"sync"
	"time"

	"weir/web/route"
)

// interestLasts is how long events of contacts are written after a client asked for them
// last, so that one that reconnects in that time misses none. It is renewed half-way.
const interestLasts = 10 * time.Minute

// interestOfReaders names all clients of GET /v1/events.
const interestOfReaders = "readers"

// readers remembers until when the clients of this process want events of contacts.
type readers struct {
	mu    sync.Mutex
	until time.Time
}

// wantContacts has events of contacts written. All that is committed once it has returned
// is in the log.
func (s *Service) wantContacts(c *route.Call) error {
	now := s.Now()
	if s.Interest == nil || s.readers.lasts(now) {
		return nil
	}
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	until := now.Add(interestLasts)
	if err := s.Interest.WantContactEvents(ctx, interestOfReaders, until); err != nil {
		return err
	}
	s.readers.wantUntil(until)
	return nil
}

// lasts reports whether there is more than half of the time left.
func (r *readers) lasts(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until.Sub(now) > interestLasts/2
}

func (r *readers) wantUntil(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = until
}
