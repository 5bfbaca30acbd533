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
	s := &Server{options: o, apps: map[string]*application{}, channels: map[string]*Channel{}}
	var err error
	s.Engine, err = simulation.NewEngine(simulation.Options{
		Seed: o.Seed, Outcomes: o.Outcomes, Outcome: simulation.OneOf(outcomeNames()...), Faults: o.Faults, Callbacks: o.Callbacks, Client: o.Client,
		Name: "nuntium", Records: func() any { return s.Records() }, Reset: s.reset,
	})
	if err != nil {
		return nil, err
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
		s.Mux.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, "/api/"):
		s.api.ServeHTTP(w, r)
	default:
		s.paths.ServeHTTP(w, r)
	}
}

// reset drops all messages and counts. It keeps accounts, applications,
// channels and rules.
func (s *Server) reset() {
	for _, a := range s.apps {
		a.messages = nil
		clear(a.byGUID)
		clear(a.byToken)
		clear(a.texts)
		clear(a.incoming)
	}
	s.records = Records{}
}

func (s *Server) routes() {
	// Three muxes, because /api/channels/{file} and /{account}/{application}/send_ao overlap and
	// neither is more specific, which one mux refuses.
	s.api, s.paths = http.NewServeMux(), http.NewServeMux()

	s.Mux.HandleFunc("POST "+simulation.ControlPath+"incoming", s.postIncoming)

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
