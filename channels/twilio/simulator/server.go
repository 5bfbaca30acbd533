package simulator

import (
	"context"
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
	options  Options
	mux      *http.ServeMux
	tally    *simulation.Tally
	faults   *simulation.Faults
	outcomes *simulation.Script
	sender   *simulation.Sender

	mu        sync.Mutex
	agenda    *simulation.Agenda
	life      int // counts the resets; steps and callbacks planned before a reset are void
	serial    int
	resources []*resource // in the order of their requests
	bySID     map[string]*resource
	records   Records
}

// Records holds what Twilio knows in addition to the tally.
type Records struct {
	Requests []Request `json:"requests"` // that made a message or call, in that order
	Status   CallCount `json:"status"`
	Incoming CallCount `json:"incoming"`
	// Answered counts bodies that answered a message from a person: Twilio would
	// read them as TwiML.
	Answered int `json:"answered"`
}

// Request is a request that made a message or call.
type Request struct {
	SID  string              `json:"sid"`
	Form map[string][]string `json:"form"`
}

// CallCount counts callbacks.
type CallCount struct {
	Sent    int `json:"sent"`    // includes repetitions
	Taken   int `json:"taken"`   // answered 2xx
	Lost    int `json:"lost"`    // answered otherwise or not at all, and given up
	Dropped int `json:"dropped"` // by a fault
}

// New returns a simulator, or an error if an option is invalid.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	outcomes, err := o.outcomes()
	if err != nil {
		return nil, err
	}
	faults, err := simulation.NewFaults(o.Seed, o.Faults...)
	if err != nil {
		return nil, err
	}
	s := &Server{
		options: o, tally: simulation.NewTally(), faults: faults, outcomes: outcomes, agenda: simulation.NewAgenda(),
		sender: simulation.NewSender(simulation.SenderOptions{Client: o.Client, Workers: o.Callbacks, Faults: faults}),
		mux:    http.NewServeMux(), bySID: map[string]*resource{},
	}
	s.mux.Handle(simulation.ControlPath, simulation.Control(s.tally, s.faults, s.Reset))
	s.mux.HandleFunc("GET "+simulation.ControlPath+"twilio", func(w http.ResponseWriter, _ *http.Request) {
		simulation.WriteJSON(w, http.StatusOK, s.Records())
	})
	s.mux.HandleFunc("POST "+simulation.ControlPath+"incoming", s.postIncoming)
	const root = "/2010-04-01/Accounts/{account}"
	s.mux.HandleFunc("GET /2010-04-01/Accounts/{file}", s.authorized(s.account))
	s.mux.HandleFunc("POST "+root+"/{list}", s.authorized(s.create))
	s.mux.HandleFunc("GET "+root+"/{list}", s.authorized(s.list))
	s.mux.HandleFunc("GET "+root+"/{kind}/{file}", s.authorized(s.get))
	s.mux.HandleFunc("POST "+root+"/{kind}/{file}", s.authorized(s.update))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, 20404) })
	return s, nil
}

// Run advances messages and calls and sends callbacks until the context ends.
func (s *Server) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.agenda.Run(ctx) })
	all.Go(func() { s.sender.Run(ctx) })
	all.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// Tally returns the simulator's own count.
func (s *Server) Tally() *simulation.Tally { return s.tally }

// Faults returns the script of faults.
func (s *Server) Faults() *simulation.Faults { return s.faults }

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
	s.agenda.Clear()
	s.resources, s.bySID, s.records = nil, map[string]*resource{}, Records{}
	s.tally.Reset()
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
	fault := s.faults.Request(opAccount, "")
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
