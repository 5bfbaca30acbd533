package simulator

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"weir/channels/simulation"
)

// It is that of Nuntium: a client that reads the first page only misses the rest of a long
// contact.
const pageSize = 50

// sendOne accepts one message as parameters and returns its id and guid in
// headers.
func (s *Server) sendOne(w http.ResponseWriter, r *http.Request) {
	app, ok := s.inPath(w, r)
	if !ok || r.ParseForm() != nil {
		return
	}
	attributes := map[string]any{}
	for key := range r.Form {
		attributes[key] = r.Form.Get(key)
	}
	m := newMessage(attributes)
	s.act(w, r, app, []*message{m}, func() {
		w.Header().Set("X-Nuntium-Id", strconv.Itoa(m.id))
		w.Header().Set("X-Nuntium-Guid", m.guid)
	})
}

// sendMany accepts a JSON document with an application's own credentials.
func (s *Server) sendMany(w http.ResponseWriter, r *http.Request) {
	if app, ok := s.inPath(w, r); ok {
		s.sendJSON(w, r, app)
	}
}

// apiSend accepts the same document under /api.
func (s *Server) apiSend(w http.ResponseWriter, r *http.Request) {
	app, ok := s.inAPI(w, r)
	switch {
	case !ok:
	case app == nil:
		w.WriteHeader(http.StatusUnauthorized)
	default:
		s.sendJSON(w, r, app)
	}
}

func (s *Server) sendJSON(w http.ResponseWriter, r *http.Request, app *application) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	many, err := parseMessages(body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError) // Nuntium does not handle this error
		return
	}
	batch := make([]*message, len(many))
	for i, attributes := range many {
		batch[i] = newMessage(attributes)
	}
	s.act(w, r, app, batch, func() {})
}

// act stores a batch, with the fault that the script has for the request. It
// answers 200 even if no message was kept, unless the batch crashed.
func (s *Server) act(w http.ResponseWriter, r *http.Request, app *application, batch []*message, name func()) {
	subject := ""
	if len(batch) > 0 {
		subject = batch[0].to
	}
	fault := s.Faults().Request(opSend, subject)
	if fault.Before(w, r) {
		return
	}
	token, err := s.take(app, batch)
	if fault.After(w, r) {
		return
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	name()
	w.Header().Set("X-Nuntium-Token", token)
	w.WriteHeader(http.StatusOK)
}

// listAll answers with all messages of a token.
func (s *Server) listAll(w http.ResponseWriter, r *http.Request) {
	app, ok := s.inPath(w, r)
	if !ok {
		return
	}
	token := r.URL.Query().Get("token")
	s.query(w, r, token, func() { simulation.WriteJSON(w, http.StatusOK, s.find(app, token)) })
}

// apiList answers with one page of the messages of a token.
func (s *Server) apiList(w http.ResponseWriter, r *http.Request) {
	app, ok := s.inAPI(w, r)
	if !ok {
		return
	}
	token := r.URL.Query().Get("token")
	if token == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	s.query(w, r, token, func() {
		all := s.find(app, token)
		from := min((page-1)*pageSize, len(all))
		to := min(from+pageSize, len(all))
		if to < len(all) {
			next := *r.URL
			next.Scheme, next.Host = "http", r.Host
			q := next.Query()
			q.Set("page", strconv.Itoa(page+1))
			next.RawQuery = q.Encode()
			w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, next.String()))
		}
		simulation.WriteJSON(w, http.StatusOK, all[from:to])
	})
}

func (s *Server) query(w http.ResponseWriter, r *http.Request, token string, answer func()) {
	fault := s.Faults().Request(opQuery, token)
	if fault.Before(w, r) || fault.After(w, r) {
		return
	}
	answer()
}

// find returns the messages of a token, of one application or, at account
// level, of all. An unknown token has none.
func (s *Server) find(app *application, token string) []map[string]any {
	s.Lock()
	defer s.Unlock()
	out := []map[string]any{}
	for _, a := range s.apps {
		if app != nil && a.Name != app.Name {
			continue
		}
		for _, m := range a.byToken[token] {
			out = append(out, m.document())
		}
	}
	return out
}
