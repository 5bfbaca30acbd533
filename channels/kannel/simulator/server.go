package simulator

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"weir/channels/simulation"
)

const maxBody = 1 << 20

// SendPath is where the simulated smsbox takes messages.
const SendPath = "/cgi-bin/sendsms"

// Server is a simulated Kannel. It is safe for concurrent use; messages advance and
// callbacks are sent only while Run runs.
type Server struct {
	options  Options
	mux      *http.ServeMux
	tally    *simulation.Tally
	faults   *simulation.Faults
	outcomes *simulation.Script
	sender   *simulation.Sender

	mu      sync.Mutex
	agenda  *simulation.Agenda
	life    int // counts the resets; steps and callbacks planned before a reset are void
	links   []*link
	serial  int
	records Records
}

// link is a Link with the messages that wait for it.
type link struct {
	Link
	waiting []*message
}

// Records counts what Kannel knows in addition to the tally.
type Records struct {
	Messages []Message `json:"messages"` // accepted, in that order
	Reports  CallCount `json:"reports"`
	Incoming CallCount `json:"incoming"`
	// Texted counts bodies that answered a message from a person: Kannel would text
	// them to the person.
	Texted int `json:"texted"`
}

// Message is the part of a request that Kannel keeps.
type Message struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Text     string `json:"text"`
	Coding   int    `json:"coding"`
	Validity int    `json:"validity,omitempty"` // minutes; 0: none
	Link     string `json:"link"`
}

// CallCount counts callbacks.
type CallCount struct {
	Sent    int `json:"sent"`    // includes repetitions
	Taken   int `json:"taken"`   // answered 200 or 202
	Lost    int `json:"lost"`    // answered otherwise or not at all, and given up
	Dropped int `json:"dropped"` // by a fault
}

// New returns a simulator, or an error if an option is invalid.
func New(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
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
		mux:    http.NewServeMux(),
	}
	for _, l := range o.Links {
		s.links = append(s.links, &link{Link: l})
	}
	s.mux.Handle(simulation.ControlPath, simulation.Control(s.tally, s.faults, s.Reset))
	s.mux.HandleFunc("GET "+simulation.ControlPath+"kannel", func(w http.ResponseWriter, _ *http.Request) {
		simulation.WriteJSON(w, http.StatusOK, s.Records())
	})
	s.mux.HandleFunc("POST "+simulation.ControlPath+"incoming", s.postIncoming)
	s.mux.HandleFunc("POST "+simulation.ControlPath+"links", s.postLink)
	s.mux.HandleFunc(SendPath, s.sendsms)
	s.mux.HandleFunc("GET /status.xml", s.status)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusNotFound, "Unknown request.") })
	return s, nil
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
	r.Messages = append([]Message{}, r.Messages...)
	return r
}

// Reset drops all messages and counts. It keeps the links, their states and the
// rules.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.agenda.Clear()
	for _, l := range s.links {
		l.waiting = nil
	}
	s.records = Records{}
	s.tally.Reset()
}

// route returns the link for a message; nil if no link takes it. The name of a link
// that a request asks for matters only to links that take no others.
func (s *Server) route(to, smsc string) *link {
	var found *link
	for _, l := range s.links {
		if l.NamedOnly && l.ID != smsc || l.State == Dead || !l.takes(to) {
			continue
		}
		if found == nil || found.State != Online && l.State == Online {
			found = l
		}
	}
	return found
}

func (l *link) takes(to string) bool {
	for _, p := range l.Prefixes {
		if strings.HasPrefix(to, p) {
			return true
		}
	}
	return len(l.Prefixes) == 0
}

// answer writes a response as smsbox does.
func answer(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Server", "Kannel/1.4.5")
	h.Set("Content-Type", "text/html")
	h.Set("Pragma", "no-cache")
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
