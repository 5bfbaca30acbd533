package simulator

import (
	"crypto/subtle"
	"net/http"
	"strconv"

	"weir/channels/simulation"
)

// Server is a simulated Twilio. It is safe for concurrent use; messages and calls
// advance and callbacks are sent only while Run runs.
type Server struct {
	*simulation.Engine
	options   Options
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
	s := &Server{options: o, bySID: map[string]*resource{}}
	var err error
	s.Engine, err = simulation.NewEngine(simulation.Options{
		Seed: o.Seed, Outcomes: o.Outcomes, Outcome: checkOutcome, Faults: o.Faults, Callbacks: o.Callbacks, Client: o.Client,
		Name: "twilio", Records: func() any { return s.Records() },
		// It keeps the rules.
		Reset: func() { s.resources, s.bySID, s.records = nil, map[string]*resource{}, Records{} },
	})
	if err != nil {
		return nil, err
	}
	s.Mux.HandleFunc("POST "+simulation.ControlPath+"incoming", simulation.Posted(s.Receive))
	const root = "/2010-04-01/Accounts/{account}"
	s.Mux.HandleFunc("GET /2010-04-01/Accounts/{file}", s.authorized(s.account))
	s.Mux.HandleFunc("POST "+root+"/{list}", s.authorized(s.create))
	s.Mux.HandleFunc("GET "+root+"/{list}", s.authorized(s.list))
	s.Mux.HandleFunc("GET "+root+"/{kind}/{file}", s.authorized(s.get))
	s.Mux.HandleFunc("POST "+root+"/{kind}/{file}", s.authorized(s.update))
	s.Mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, 20404) })
	return s, nil
}

// Records returns the counts so far.
func (s *Server) Records() Records {
	s.Lock()
	defer s.Unlock()
	r := s.records
	r.Requests = append([]Request{}, r.Requests...)
	return r
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
