package web

import (
	"net"
	"net/http"
	"sync"
)

// silent are the connections on which nothing has been asked yet. Clients open
// them in reserve. http.Server.Shutdown waits five seconds for them as if a
// request were under way; they are closed instead, so that a server without
// requests ends at once.
type silent struct {
	mu    sync.Mutex
	over  bool
	conns map[net.Conn]struct{}
}

// track is a http.Server's ConnState.
func (s *silent) track(c net.Conn, state http.ConnState) {
	if state == http.StateIdle { // it was active before
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, c)
	case s.over:
		_ = c.Close()
	default:
		s.conns[c] = struct{}{}
	}
}

// close ends those that there are and those that were just being accepted.
func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for c := range s.conns {
		_ = c.Close()
	}
}
