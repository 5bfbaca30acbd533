package simulator

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"weir/channels/simulation"
)

// OperationHelp lists the operations, for authors of fault rules.
const OperationHelp = `Operations that a fault may name: send, state, cancel and channels for requests;
for callbacks their CallStatus, such as completed.
`

// New returns a server, or an error if the options are invalid.
func New(o Options) (*Server, error) {
	o, script, faults, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		options: o, script: script, faults: faults,
		tally: simulation.NewTally(), agenda: simulation.NewAgenda(),
		calls: map[int64]*call{}, revoked: map[string]bool{},
	}
	if s.options.Client == nil {
		s.options.Client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}}
	}
	s.sender = simulation.NewSender(simulation.SenderOptions{
		Client: s.options.Client, Workers: o.Workers, Faults: faults,
	})
	s.life, s.end = context.WithCancel(context.Background())
	for _, c := range o.Channels {
		s.lines = append(s.lines, newLine(c))
	}
	s.handler = s.routes()
	return s, nil
}

// Tally returns the server's own count, which is the truth.
func (s *Server) Tally() *simulation.Tally { return s.tally }

// Faults returns the script of faults, which may be changed at any time.
func (s *Server) Faults() *simulation.Faults { return s.faults }

// Revoke makes a token invalid.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked[token] = true
}

// Run dials and reports until the context ends. It must be called only once.
func (s *Server) Run(ctx context.Context) {
	defer s.options.Client.CloseIdleConnections()
	defer s.flowJobs.Wait() // only the agenda starts flow jobs, and it has ended by then
	defer s.end()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.sender.Run(ctx) })
	s.agenda.Run(ctx)
	s.end()
}

// Reset drops all calls, silently.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agenda.Clear()
	clear(s.calls)
	for _, l := range s.lines {
		l.queue, l.busy = nil, 0
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	s.handler.ServeHTTP(w, r.WithContext(ctx))
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(simulation.ControlPath, simulation.Control(s.tally, s.faults, s.Reset))
	api := func(pattern string, h func(http.ResponseWriter, *http.Request, string)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			account, ok := s.authenticate(r)
			if !ok {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h(w, r, account)
		})
	}
	api("/api/call", s.enqueue)
	api("/api/calls/{id}/state", s.state)
	api("/api/calls/{id}/state.json", s.state)
	api("/api/calls/{id}/cancel", s.cancel)
	api("/api/calls/{id}/cancel.json", s.cancel)
	api("/api/calls/{id}/redirect", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusInternalServerError) // routed, but not implemented
	})
	api("GET /api/channels", s.listNames)
	api("POST /api/channels", s.createChannel)
	api("GET /api/channels/all", s.listChannels)
	api("GET /api/channels/all/{id}", s.showChannel)
	api("GET /api/channels/{name}", s.showChannel)
	api("PUT /api/channels/{name}", s.updateChannel)
	api("POST /api/channels/{id}/enable", s.enableChannel)
	api("POST /api/channels/{id}/disable", s.enableChannel)
	return mux
}

// state answers with the state of a call.
func (s *Server) state(w http.ResponseWriter, r *http.Request, account string) {
	c, fault, handled := s.find(w, r, account, opState)
	if handled {
		return
	}
	if c == nil {
		answer(w, r, fault, http.StatusNotFound, nil)
		return
	}
	s.mu.Lock()
	document := callDocument{c.id, c.state}
	s.mu.Unlock()
	answer(w, r, fault, http.StatusOK, document)
}

// cancel takes a waiting call out of the queue. For any other call it only
// overwrites the state: an active call continues.
func (s *Server) cancel(w http.ResponseWriter, r *http.Request, account string) {
	c, fault, handled := s.find(w, r, account, opCancel)
	if handled {
		return
	}
	if c == nil {
		answer(w, r, fault, http.StatusNotFound, nil)
		return
	}
	s.mu.Lock()
	s.takeBack(c)
	s.mu.Unlock()
	answer(w, r, fault, http.StatusOK, callDocument{c.id, stateCancelled})
}

// find returns a call of the account and applies a fault of the operation.
func (s *Server) find(w http.ResponseWriter, r *http.Request, account, operation string) (_ *call, _ simulation.Fault, handled bool) {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	s.mu.Lock()
	c := s.calls[id]
	s.mu.Unlock()
	subject := r.PathValue("id")
	if c != nil {
		subject = c.address
	}
	fault := s.faults.Request(operation, subject)
	if fault.Before(w, r) {
		return nil, fault, true
	}
	// Verboice answers 404 for the call of another account, as for one that it does not have.
	if c != nil && c.account != account {
		c = nil
	}
	return c, fault, false
}
