package simulator

import (
	"maps"
	"net/http"
	"slices"

	"weir/channels/simulation"
)

// Records counts what Nuntium knows in addition to the tally.
type Records struct {
	Stored   int `json:"stored"`   // messages
	Repeated int `json:"repeated"` // messages dropped because their guid was known
	// Alike counts stored messages with the address and text of an earlier one:
	// the client sent something twice under two guids.
	Alike            int              `json:"alike"`
	Vanished         int              `json:"vanished"` // messages lost because their explicit channel could not take them
	Acks             CallCount        `json:"acks"`
	IncomingCalls    CallCount        `json:"incoming_calls"`
	IncomingRepeated int              `json:"incoming_repeated"`
	Incoming         []IncomingRecord `json:"incoming"` // accepted by the application, in that order
}

// CallCount counts callbacks.
type CallCount struct {
	Sent     int `json:"sent"`     // includes repetitions
	Taken    int `json:"taken"`    // answered 2xx or 3xx
	Rejected int `json:"rejected"` // answered 400 and given up
	Retried  int `json:"retried"`  // answered otherwise or not at all
	Dropped  int `json:"dropped"`  // by a fault
}

// Records returns the counts so far.
func (s *Server) Records() Records {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records
	r.Incoming = append([]IncomingRecord{}, r.Incoming...)
	for _, a := range s.apps {
		r.Stored += len(a.messages)
	}
	return r
}

func (s *Server) showRecords(w http.ResponseWriter, _ *http.Request) {
	simulation.WriteJSON(w, http.StatusOK, s.Records())
}

// first returns the first name of a map; empty if it has none.
func first[V any](m map[string]V) string {
	names := slices.Sorted(maps.Keys(m))
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
