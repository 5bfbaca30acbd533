package simulator

import (
	"net/http"
	"strings"

	"weir/channels/simulation"
)

const maxBody = 8 << 20

// New returns a simulator, or an error if a rule is invalid.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	outcomes, err := o.outcomes()
	if err != nil {
		return nil, err
	}
	engine, err := simulation.NewEngine(o.Seed, o.Faults, simulation.SenderOptions{Client: o.Client, Workers: o.Callbacks})
	if err != nil {
		return nil, err
	}
	s := &Server{
		Engine: engine, options: o, outcomes: outcomes,
		apps: map[string]*application{}, channels: map[string]*Channel{},
	}
	for _, a := range o.Applications {
		s.apps[a.Name] = newApplication(a)
	}
	for _, c := range o.Channels {
		s.channels[c.Name] = newChannel(c, o.Account)
	}
	s.routes()
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	switch {
	case strings.HasPrefix(r.URL.Path, simulation.ControlPath):
		s.control.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, "/api/"):
		s.api.ServeHTTP(w, r)
	default:
		s.paths.ServeHTTP(w, r)
	}
}

// Reset drops all messages and counts. It keeps accounts, applications,
// channels and rules.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.Agenda.Clear()
	for _, a := range s.apps {
		a.messages = nil
		clear(a.byGUID)
		clear(a.byToken)
		clear(a.texts)
		clear(a.incoming)
	}
	s.records = Records{}
	s.Tally().Reset()
}

func (s *Server) routes() {
	// Three muxes, because /api/channels/{file} and /{account}/{application}/send_ao overlap and
	// neither is more specific, which one mux refuses.
	s.control, s.api, s.paths = http.NewServeMux(), http.NewServeMux(), http.NewServeMux()

	s.control.Handle(simulation.ControlPath, simulation.Control(s.Tally(), s.Faults(), s.Reset))
	s.control.HandleFunc("GET "+simulation.ControlPath+"nuntium", s.showRecords)
	s.control.HandleFunc("POST "+simulation.ControlPath+"incoming", s.postIncoming)

	s.paths.HandleFunc("GET /{account}/{application}/send_ao", s.sendOne)
	s.paths.HandleFunc("POST /{account}/{application}/send_ao", s.sendOne)
	s.paths.HandleFunc("POST /{account}/{application}/send_ao.json", s.sendMany)
	s.paths.HandleFunc("POST /{account}/{application}/send_ao.xml", s.sendXML)
	s.paths.HandleFunc("GET /{account}/{application}/get_ao.json", s.listAll)

	s.api.HandleFunc("POST /api/ao_messages.json", s.apiSend)
	s.api.HandleFunc("GET /api/ao_messages.json", s.apiList)
	s.api.HandleFunc("GET /api/accounts.json", s.listAccounts)
	s.api.HandleFunc("GET /api/channels.json", s.listChannels)
	s.api.HandleFunc("GET /api/channels/{file}", s.showChannel)
	s.api.HandleFunc("PUT /api/channels/{file}", s.putChannel)
	s.api.HandleFunc("GET /api/applications/{id}", s.showApplication)
	s.api.HandleFunc("PUT /api/applications/{id}", s.putApplication)
}
