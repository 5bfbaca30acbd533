package simulator

import (
	"crypto/subtle"
	"net/http"
	"strconv"
	"sync"

	"weir/channels/simulation"
)

const maxBody = 1 << 20

// Server is a simulated Twilio. It is safe for concurrent use; messages and calls
// advance and callbacks are sent only while Run runs.
type Server struct {
	*simulation.Engine
	options  Options
	mux      *http.ServeMux
	outcomes *simulation.Script

	mu        sync.Mutex
	life      int // counts the resets; steps and callbacks planned before a reset are void
	serial    int
	resources []*resource // in the order of their requests
	bySID     map[string]*resource
	records   Records
}

// Records holds what Twilio knows in addition to the tally.
type Records struct {
	Requests []Request            `json:"requests"` // that made a message or call, in that order
	Status   simulation.CallCount `json:"status"`
	Incoming simulation.CallCount `json:"incoming"`
	// Answered counts bodies that answered a message from a person: Twilio would
	// read them as TwiML.
	Answered int `json:"answered"`
}

// Request is a request that made a message or call.
type Request struct {
	SID  string              `json:"sid"`
	Form map[string][]string `json:"form"`
}

// New returns a simulator, or an error if an option is invalid.
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
		mux: http.NewServeMux(), bySID: map[string]*resource{},
	}
	s.mux.Handle(simulation.ControlPath, simulation.Control(s.Tally(), s.Faults(), s.Reset))
	s.mux.HandleFunc("GET "+simulation.ControlPath+"twilio", func(w http.ResponseWriter, _ *http.Request) {
		simulation.WriteJSON(w, http.StatusOK, s.Records())
	})
	s.mux.HandleFunc("POST "+simulation.ControlPath+"incoming", simulation.Posted(s.Receive))
	const root = "/2010-04-01/Accounts/{account}"
	s.mux.HandleFunc("GET /2010-04-01/Accounts/{file}", s.authorized(s.account))
	s.mux.HandleFunc("POST "+root+"/{list}", s.authorized(s.create))
	s.mux.HandleFunc("GET "+root+"/{list}", s.authorized(s.list))
	s.mux.HandleFunc("GET "+root+"/{kind}/{file}", s.authorized(s.get))
	s.mux.HandleFunc("POST "+root+"/{kind}/{file}", s.authorized(s.update))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, 20404) })
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// Records returns the counts so far.
func (s *Server) Records() Records {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records
	r.Requests = append([]Request{}, r.Requests...)
	return r
}

// Reset drops all messages, calls and counts. It keeps the rules.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.Agenda.Clear()
	s.resources, s.bySID, s.records = nil, map[string]*resource{}, Records{}
	s.Tally().Reset()
}

// authorized checks the credentials and the account of a request.
func (s *Server) authorized(next http.HandlerFunc) http.HandlerFunc {
	equal := func(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	return func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		o := s.options
		token := equal(user, o.AccountSID) && equal(password, o.AuthToken)
		key := o.APIKey != "" && equal(user, o.APIKey) && equal(password, o.APISecret)
		account := r.PathValue("account")
		switch {
		case !token && !key:
			w.Header().Set("WWW-Authenticate", `Basic realm="Twilio API"`)
			refuse(w, http.StatusUnauthorized, 20003)
		case account != "" && account != o.AccountSID, r.ParseForm() != nil:
			refuse(w, http.StatusNotFound, 20404)
		default:
			next(w, r)
		}
	}
}

func (s *Server) account(w http.ResponseWriter, r *http.Request) {
	fault := s.Faults().Request(opAccount, "")
	if fault.Before(w, r) || fault.After(w, r) {
		return
	}
	if r.PathValue("file") != s.options.AccountSID+".json" {
		refuse(w, http.StatusNotFound, 20404)
		return
	}
	simulation.WriteJSON(w, http.StatusOK, map[string]any{
		"sid": s.options.AccountSID, "status": "active", "type": "Full", "friendly_name": "simulated",
		"uri": "/2010-04-01/Accounts/" + s.options.AccountSID + ".json",
	})
}

// refuse answers with Twilio's error document.
func refuse(w http.ResponseWriter, status, code int) {
	simulation.WriteJSON(w, status, map[string]any{
		"code": code, "message": "refused by the simulator", "status": status,
		"more_info": "https://www.twilio.com/docs/errors/" + strconv.Itoa(code),
	})
}
