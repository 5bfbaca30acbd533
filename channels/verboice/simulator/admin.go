package simulator

import (
	"encoding/json"
	"net/http"
	"path"
	"strconv"

	"weir/channels/simulation"
)

// channelDocument is a channel as the API shows it.
type channelDocument struct {
	ID      int64          `json:"id"`
	Name    string         `json:"name"`
	Kind    string         `json:"kind"`
	Config  map[string]int `json:"config"`
	Enabled bool           `json:"enabled"`
	Status  statusDocument `json:"status"`
}

type statusDocument struct {
	OK       bool     `json:"ok"`
	Messages []string `json:"messages"`
}

func (l *line) document() channelDocument {
	return channelDocument{
		ID: l.ID, Name: l.Name, Kind: "custom", Config: map[string]int{"limit": l.Limit}, Enabled: !l.Disabled,
		Status: statusDocument{OK: len(l.Problems) == 0, Messages: append([]string{}, l.Problems...)},
	}
}

func (s *Server) listNames(w http.ResponseWriter, _ *http.Request) {
	s.Lock()
	names := make([]string, len(s.lines))
	for i, l := range s.lines {
		names[i] = l.Name
	}
	s.Unlock()
	simulation.WriteJSON(w, http.StatusOK, names)
}

func (s *Server) listChannels(w http.ResponseWriter, _ *http.Request) {
	s.Lock()
	all := make([]channelDocument, len(s.lines))
	for i, l := range s.lines {
		all[i] = l.document()
	}
	s.Unlock()
	simulation.WriteJSON(w, http.StatusOK, all)
}

func (s *Server) showChannel(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	l := s.addressed(r)
	if l == nil {
		s.Unlock()
		w.WriteHeader(http.StatusNotFound)
		return
	}
	document := l.document()
	s.Unlock()
	simulation.WriteJSON(w, http.StatusOK, document)
}

// addressed finds the channel that a path names by number or by name.
func (s *Server) addressed(r *http.Request) *line {
	return s.lookUp(func(l *line) bool {
		if name := r.PathValue("name"); name != "" {
			return l.Name == name
		}
		return strconv.FormatInt(l.ID, 10) == r.PathValue("id")
	})
}

// enableChannel enables or disables a channel. Disabling cancels all waiting
// calls, silently.
func (s *Server) enableChannel(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	l := s.addressed(r)
	if l == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	l.Disabled = path.Base(r.URL.Path) == "disable"
	if l.Disabled {
		for _, c := range s.calls {
			if c.line == l && c.waiting {
				s.takeBack(c)
			}
		}
	}
	w.WriteHeader(http.StatusOK)
}

// channelInput is the body of requests that create or update a channel.
type channelInput struct {
	Name    string `json:"name"`
	Limit   *int   `json:"limit"`
	Enabled *bool  `json:"enabled"`
}

func readChannel(w http.ResponseWriter, r *http.Request) (channelInput, bool) {
	var in struct {
		channelInput
		Channel *channelInput `json:"channel"` // Rails' parameter wrapping
	}
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return channelInput{}, false
	}
	if in.Channel != nil {
		return *in.Channel, true
	}
	return in.channelInput, true
}

// createChannel adds a channel. Like the real server, it reports errors with
// status 200.
func (s *Server) createChannel(w http.ResponseWriter, r *http.Request) {
	in, ok := readChannel(w, r)
	if !ok {
		return
	}
	s.Lock()
	defer s.Unlock()
	problem := map[string]string{}
	if in.Name == "" {
		problem["name"] = "can't be blank"
	} else if s.lookUp(func(l *line) bool { return l.Name == in.Name }) != nil {
		problem["name"] = "has already been taken"
	}
	if in.Limit != nil && *in.Limit < 1 {
		problem["limit"] = "must be greater than 0"
	}
	if refuseChannel(w, "creating", problem) {
		return
	}
	l := newLine(Channel{Name: in.Name})
	for _, other := range s.lines {
		l.ID = max(l.ID, other.ID)
	}
	l.ID++
	l.change(in)
	s.lines = append(s.lines, l)
	simulation.WriteJSON(w, http.StatusOK, l.document())
}

// updateChannel changes a channel, with the same quirk.
func (s *Server) updateChannel(w http.ResponseWriter, r *http.Request) {
	in, ok := readChannel(w, r)
	if !ok {
		return
	}
	s.Lock()
	defer s.Unlock()
	l := s.addressed(r)
	if l == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	problem := map[string]string{}
	if in.Limit != nil && *in.Limit < 1 {
		problem["limit"] = "must be greater than 0"
	}
	if refuseChannel(w, "updating", problem) {
		return
	}
	l.change(in)
	s.Later(0, func() { s.dispatch(l) }) // the limit may have grown
	simulation.WriteJSON(w, http.StatusOK, l.document())
}

func (l *line) change(in channelInput) {
	if in.Limit != nil {
		l.Limit = *in.Limit
	}
	if in.Enabled != nil {
		l.Disabled = !*in.Enabled
	}
}

func refuseChannel(w http.ResponseWriter, doing string, problem map[string]string) (refused bool) {
	if len(problem) == 0 {
		return false
	}
	properties := []map[string]string{}
	for field, text := range problem {
		properties = append(properties, map[string]string{field: text})
	}
	simulation.WriteJSON(w, http.StatusOK, map[string]any{
		"summary": "There were problems " + doing + " the Channel", "properties": properties,
	})
	return true
}
