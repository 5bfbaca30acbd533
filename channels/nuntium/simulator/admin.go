package simulator

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"weir/channels/simulation"
)

func (s *Server) listAccounts(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.admin(w, r); ok {
		simulation.WriteJSON(w, http.StatusOK, []string{s.options.Account})
	}
}

func (s *Server) listChannels(w http.ResponseWriter, r *http.Request) {
	app, ok := s.admin(w, r)
	if !ok {
		return
	}
	s.Lock()
	out := []Channel{}
	for _, name := range slices.Sorted(maps.Keys(s.channels)) {
		if c := s.channels[name]; visible(app, c) {
			out = append(out, c.shown())
		}
	}
	s.Unlock()
	simulation.WriteJSON(w, http.StatusOK, out)
}

func (s *Server) showChannel(w http.ResponseWriter, r *http.Request) {
	app, ok := s.admin(w, r)
	if !ok {
		return
	}
	s.Lock()
	c := s.channels[strings.TrimSuffix(r.PathValue("file"), ".json")]
	if c == nil || !visible(app, c) {
		s.Unlock()
		w.WriteHeader(http.StatusNotFound)
		return
	}
	shown := c.shown()
	s.Unlock()
	simulation.WriteJSON(w, http.StatusOK, shown)
}

// putChannel changes a channel: an application only its own, the account any.
func (s *Server) putChannel(w http.ResponseWriter, r *http.Request) {
	app, ok := s.admin(w, r)
	if !ok {
		return
	}
	var update struct {
		Enabled     *bool   `json:"enabled"`
		Application *string `json:"application"`
		Priority    *int    `json:"priority"`
	}
	if !s.decode(w, r, &update) {
		return
	}
	s.Lock()
	defer s.Unlock()
	c := s.channels[strings.TrimSuffix(r.PathValue("file"), ".json")]
	switch {
	case c == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	case app != nil && c.Application != app.Name:
		w.WriteHeader(http.StatusForbidden)
		return
	case update.Application != nil && *update.Application != "" && s.apps[*update.Application] == nil:
		// Unlike Verboice, Nuntium reports mistakes with the right status.
		simulation.WriteJSON(w, http.StatusBadRequest, map[string]any{
			"summary":    "There were problems updating the channel",
			"properties": []map[string]string{{"application": "is not found"}},
		})
		return
	}
	c.Enabled = given(update.Enabled, c.Enabled)
	c.Application = given(update.Application, c.Application)
	c.Priority = given(update.Priority, c.Priority)
	w.WriteHeader(http.StatusOK)
}

// given returns the value of an update, or was if the update omits it.
func given[T any](update *T, was T) T {
	if update != nil {
		return *update
	}
	return was
}

func (s *Server) showApplication(w http.ResponseWriter, r *http.Request) {
	if app, ok := s.me(w, r); ok {
		s.Lock()
		shown := app.Application
		s.Unlock()
		simulation.WriteJSON(w, http.StatusOK, shown)
	}
}

func (s *Server) putApplication(w http.ResponseWriter, r *http.Request) {
	app, ok := s.me(w, r)
	if !ok {
		return
	}
	var update struct {
		Interface *Interface `json:"interface"`
		Ack       *Ack       `json:"delivery_ack"`
	}
	if !s.decode(w, r, &update) {
		return
	}
	s.Lock()
	if update.Interface != nil {
		app.Interface = *update.Interface
	}
	if update.Ack != nil {
		app.Ack = *update.Ack
	}
	shown := app.Application
	s.Unlock()
	simulation.WriteJSON(w, http.StatusOK, shown)
}

// me returns the application that sends the request. Nuntium shows an
// application only to itself.
func (s *Server) me(w http.ResponseWriter, r *http.Request) (*application, bool) {
	app, ok := s.admin(w, r)
	switch {
	case !ok:
		return nil, false
	case app == nil:
		w.WriteHeader(http.StatusUnauthorized)
		return nil, false
	case strings.TrimSuffix(r.PathValue("id"), ".json") != "me":
		w.WriteHeader(http.StatusNotFound)
		return nil, false
	}
	return app, true
}

// admin authenticates an administrative request and applies its fault.
func (s *Server) admin(w http.ResponseWriter, r *http.Request) (*application, bool) {
	app, ok := s.inAPI(w, r)
	if !ok {
		return nil, false
	}
	fault := s.Faults().Request(opAdmin, r.URL.Path)
	if fault.Before(w, r) || fault.After(w, r) {
		return nil, false
	}
	return app, true
}

func (s *Server) decode(w http.ResponseWriter, r *http.Request, into any) bool {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return false
	}
	return true
}

// visible reports whether an application, or the account, sees a channel.
func visible(app *application, c *Channel) bool {
	return app == nil || c.Application == "" || c.Application == app.Name
}

// shown returns a channel as Nuntium shows it: with Connected only for kinds
// that keep a connection.
func (c *Channel) shown() Channel {
	out := *c
	switch out.Kind {
	case "smpp", "xmpp", "multimodem_isms":
	default:
		out.Connected = false
	}
	return out
}
