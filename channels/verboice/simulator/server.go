package simulator

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"weir/channels/simulation"
)

// OperationHelp lists the operations, for authors of fault rules.
const OperationHelp = `Operations that a fault may name: send, state, cancel and channels for requests;
for callbacks their CallStatus, such as completed.
`

// New returns a server, or an error if the options are invalid.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	if o.Client == nil {
		o.Client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}}
	}
	s := &Server{options: o, calls: map[int64]*call{}, revoked: map[string]bool{}}
	var err error
	s.Engine, err = simulation.NewEngine(simulation.Options{
		Seed: o.Seed, Outcomes: o.Outcomes, Outcome: checkOutcome, Faults: o.Faults, Callbacks: o.Workers, Client: o.Client, Reset: s.reset,
	})
	if err := errors.Join(err, checkChannels(o.Channels)); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	for _, c := range o.Channels {
		s.lines = append(s.lines, newLine(c))
	}
	s.routes()
	return s, nil
}

// Revoke makes a token invalid.
func (s *Server) Revoke(token string) {
	s.Lock()
	defer s.Unlock()
	s.revoked[token] = true
}

// Run dials and reports until the context ends. It must be called only once.
func (s *Server) Run(ctx context.Context) {
	defer s.options.Client.CloseIdleConnections()
	defer s.flowJobs.Wait() // only planned actions start flow jobs, and none is performed any more
	defer s.end()
	defer context.AfterFunc(ctx, s.end)()
	s.Engine.Run(ctx)
}

// reset drops all calls, silently.
func (s *Server) reset() {
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
	s.Mux.ServeHTTP(w, r.WithContext(ctx))
}

func (s *Server) routes() {
	api := func(pattern string, h func(http.ResponseWriter, *http.Request, string)) {
		s.Mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			account, ok := s.authenticate(r)
			if !ok {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h(w, r, account)
		})
	}
	api("/api/call", s.enqueue)
	for _, suffix := range []string{"", ".json"} {
		api("/api/calls/{id}/state"+suffix, s.onCall(opState, func(*call) {}))
		api("/api/calls/{id}/cancel"+suffix, s.onCall(opCancel, s.takeBack))
	}
	api("/api/calls/{id}/redirect", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.WriteHeader(http.StatusInternalServerError) // routed, but not implemented
	})
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /api/channels":               s.listNames,
		"POST /api/channels":              s.createChannel,
		"GET /api/channels/all":           s.listChannels,
		"GET /api/channels/all/{id}":      s.showChannel,
		"GET /api/channels/{name}":        s.showChannel,
		"PUT /api/channels/{name}":        s.updateChannel,
		"POST /api/channels/{id}/enable":  s.enableChannel,
		"POST /api/channels/{id}/disable": s.enableChannel,
	} {
		api(pattern, func(w http.ResponseWriter, r *http.Request, _ string) {
			if !s.Faults().Request(opChannels, r.URL.Path).Before(w, r) {
				h(w, r)
			}
		})
	}
}

// onCall returns the handler of an operation on a call, which answers with the state that the
// call has after it.
func (s *Server) onCall(operation string, do func(*call)) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, account string) {
		id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
		s.Lock()
		c := s.calls[id]
		s.Unlock()
		subject := r.PathValue("id")
		if c != nil {
			subject = c.address
		}
		fault := s.Faults().Request(operation, subject)
		if fault.Before(w, r) {
			return
		}
		// Verboice answers 404 for the call of another account, as for one that it does not have.
		if c == nil || c.account != account {
			answer(w, r, fault, http.StatusNotFound, nil)
			return
		}
		s.Lock()
		do(c)
		document := callDocument{c.id, c.state}
		s.Unlock()
		answer(w, r, fault, http.StatusOK, document)
	}
}
