package api

import (
	"time"

	"weir/web/route"
)

// interestLasts is how long events of contacts are written after a client asked for them
// last, so that one that reconnects in that time misses none. It is renewed half-way.
const interestLasts = 10 * time.Minute

// interestOfReaders names all clients of GET /v1/events.
const interestOfReaders = "readers"

// wantContacts has events of contacts written. All that is committed once it has returned
// is in the log.
func (s *Service) wantContacts(c *route.Call) error {
	now := s.Now()
	if s.Interest == nil || time.UnixMicro(s.interestUntil.Load()).Sub(now) > interestLasts/2 {
		return nil
	}
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	until := now.Add(interestLasts)
	if err := s.Interest.WantContactEvents(ctx, interestOfReaders, until); err != nil {
		return err
	}
	s.interestUntil.Store(until.UnixMicro())
	return nil
}
