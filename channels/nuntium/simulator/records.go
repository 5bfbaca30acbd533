package simulator

import (
	"maps"
	"slices"
)

// Records returns the counts so far.
func (s *Server) Records() Records {
	s.Lock()
	defer s.Unlock()
	r := s.records
	r.Incoming = append([]IncomingRecord{}, r.Incoming...)
	for _, a := range s.apps {
		r.Stored += len(a.messages)
	}
	return r
}

// first returns the first name of a map; empty if it has none.
func first[V any](m map[string]V) string {
	names := slices.Sorted(maps.Keys(m))
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
