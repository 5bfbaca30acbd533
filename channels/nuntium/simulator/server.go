package simulator

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"weir/channels/simulation"
)

const maxBody = 8 << 20

// Server is a simulated Nuntium. It is safe for concurrent use; messages change
// state and callbacks are sent only while Run runs.
type Server struct {
	options  Options
	control  *http.ServeMux
	api      *http.ServeMux
	paths    *http.ServeMux // paths that begin with an account
	tally    *simulation.Tally
	faults   *simulation.Faults
	outcomes *simulation.Script
	sender   *simulation.Sender

	mu       sync.Mutex
	agenda   *simulation.Agenda
	life     int // counts the resets; steps and callbacks planned before a reset are void
	apps     map[string]*application
	channels map[string]*Channel
	serial   int
	records  Records
}

// application is an Application and the messages that it has sent and received.
type application struct {
	Application
	messages []*message
	byGUID   map[string]*message
	byToken  map[string][]*message
	texts    map[uint64]bool // hashes of the addresses and texts seen
	incoming map[string]bool
}

// New returns a simulator, or an error if a rule is invalid.
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
		options: o, tally: simulation.NewTally(), faults: faults,
		outcomes: outcomes, agenda: simulation.NewAgenda(),
		sender: simulation.NewSender(simulation.SenderOptions{Client: o.Client, Workers: o.Callbacks, Faults: faults}),
		apps:   map[string]*application{}, channels: map[string]*Channel{},
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

func newApplication(a Application) *application {
	return &application{
		Application: a, byGUID: map[string]*message{}, byToken: map[string][]*message{},
		texts: map[uint64]bool{}, incoming: map[string]bool{},
	}
}

func newChannel(c Channel, account string) *Channel {
	c.Account = account
	if c.Kind == "" {
		c.Kind = "qst_server"
	}
	if c.Protocol == "" {
		c.Protocol = "sms"
	}
	if c.Direction == "" {
		c.Direction = "bidirectional"
	}
	return &c
}

// Run advances messages and sends callbacks until the context ends.
func (s *Server) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.agenda.Run(ctx) })
	all.Go(func() { s.sender.Run(ctx) })
	all.Wait()
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

// Tally returns the simulator's own count.
func (s *Server) Tally() *simulation.Tally { return s.tally }

// Faults returns the script of faults.
func (s *Server) Faults() *simulation.Faults { return s.faults }

// Reset drops all messages and counts. It keeps accounts, applications,
// channels and rules.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.agenda.Clear()
	for _, a := range s.apps {
		a.messages = nil
		clear(a.byGUID)
		clear(a.byToken)
		clear(a.texts)
		clear(a.incoming)
	}
	s.records = Records{}
	s.tally.Reset()
}

func (s *Server) routes() {
	s.control, s.api, s.paths = http.NewServeMux(), http.NewServeMux(), http.NewServeMux()

	s.control.Handle(simulation.ControlPath, simulation.Control(s.tally, s.faults, s.Reset))
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

// inPath authenticates a request whose path names the account and the
// application: the credentials must be those of that application. Otherwise it
// answers the request itself.
func (s *Server) inPath(w http.ResponseWriter, r *http.Request) (*application, bool) {
	app, _, ok := s.basic(r)
	if !ok || app == nil || r.PathValue("account") != s.options.Account || r.PathValue("application") != app.Name {
		challenge(w)
		return nil, false
	}
	return app, true
}

// inAPI authenticates a request to /api: by bearer token, as an application or
// as the account. The application is nil at account level.
func (s *Server) inAPI(w http.ResponseWriter, r *http.Request) (*application, bool) {
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if isBearer {
		if app := s.bearer(token); app != nil {
			switch {
			case r.URL.Query().Get("account") != s.options.Account:
				w.WriteHeader(http.StatusUnauthorized)
				return nil, false
			case r.URL.Query().Get("application") == "-":
				return nil, true
			}
			return app, true
		}
	}
	app, account, ok := s.basic(r)
	if !ok || !account && app == nil {
		challenge(w)
		return nil, false
	}
	return app, true
}

// bearer returns the application of a token.
func (s *Server) bearer(token string) *application {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.apps {
		for _, t := range a.Tokens {
			if t == token {
				return a
			}
		}
	}
	return nil
}

// basic checks Basic credentials: account/application, application@account or,
// for the account itself, account.
func (s *Server) basic(r *http.Request) (app *application, account, ok bool) {
	user, password, given := r.BasicAuth()
	if !given {
		return nil, false, false
	}
	accountName, appName, named := strings.Cut(user, "/")
	if !named {
		appName, accountName, named = strings.Cut(user, "@")
	}
	if !named {
		ok = user == s.options.Account && s.options.Password != "" && password == s.options.Password
		return nil, true, ok
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	app = s.apps[appName]
	ok = accountName == s.options.Account && app != nil && app.Password != "" && app.Password == password
	return app, false, ok
}

func challenge(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="Application"`)
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = fmt.Fprintln(w, "HTTP Basic: Access denied.")
}
