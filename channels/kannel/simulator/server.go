package simulator

import (
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
	*simulation.Engine
	options  Options
	mux      *http.ServeMux
	outcomes *simulation.Script

	mu      sync.Mutex
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
	Messages []Message            `json:"messages"` // accepted, in that order
	Reports  simulation.CallCount `json:"reports"`
	Incoming simulation.CallCount `json:"incoming"`
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
	engine, err := simulation.NewEngine(o.Seed, o.Faults, simulation.SenderOptions{Client: o.Client, Workers: o.Callbacks})
	if err != nil {
		return nil, err
	}
	s := &Server{
		Engine: engine, options: o, outcomes: outcomes,
		mux: http.NewServeMux(),
	}
	for _, l := range o.Links {
		s.links = append(s.links, &link{Link: l})
	}
	s.mux.Handle(simulation.ControlPath, simulation.Control(s.Tally(), s.Faults(), s.Reset))
	s.mux.HandleFunc("GET "+simulation.ControlPath+"kannel", func(w http.ResponseWriter, _ *http.Request) {
		simulation.WriteJSON(w, http.StatusOK, s.Records())
	})
	s.mux.HandleFunc("POST "+simulation.ControlPath+"incoming", simulation.Posted(s.Receive))
	s.mux.HandleFunc("POST "+simulation.ControlPath+"links", s.postLink)
	s.mux.HandleFunc(SendPath, s.sendsms)
	s.mux.HandleFunc("GET /status.xml", s.status)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusNotFound, "Unknown request.") })
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
	r.Messages = append([]Message{}, r.Messages...)
	return r
}

// Reset drops all messages and counts. It keeps the links, their states and the
// rules.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.Agenda.Clear()
	for _, l := range s.links {
		l.waiting = nil
	}
	s.records = Records{}
	s.Tally().Reset()
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
