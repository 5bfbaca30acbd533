package simulator

import (
	"net/http"
	"strings"

	"weir/channels/simulation"
)

// SendPath is where the simulated smsbox takes messages.
const SendPath = "/cgi-bin/sendsms"

// Server is a simulated Kannel. It is safe for concurrent use; messages advance and
// callbacks are sent only while Run runs.
type Server struct {
	*simulation.Engine
	options Options
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
	s := &Server{options: o}
	s.Engine, err = simulation.NewEngine(simulation.Options{
		Seed: o.Seed, Outcomes: o.Outcomes, Faults: o.Faults, Callbacks: o.Callbacks, Client: o.Client,
		Outcome: simulation.OneOf(Delivered, Sent, Failed, Expired, Buffered, Refused, Reversed, Silent),
		Name:    "kannel", Records: func() any { return s.Records() }, Reset: s.reset,
	})
	if err != nil {
		return nil, err
	}
	for _, l := range o.Links {
		s.links = append(s.links, &link{Link: l})
	}
	s.Mux.HandleFunc("POST "+simulation.ControlPath+"incoming", simulation.Posted(s.Receive))
	s.Mux.HandleFunc("POST "+simulation.ControlPath+"links", s.postLink)
	s.Mux.HandleFunc(SendPath, s.sendsms)
	s.Mux.HandleFunc("GET /status.xml", s.status)
	s.Mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusNotFound, "Unknown request.") })
	return s, nil
}

// Records returns the counts so far.
func (s *Server) Records() Records {
	s.Lock()
	defer s.Unlock()
	r := s.records
	r.Messages = append([]Message{}, r.Messages...)
	return r
}

// reset drops all messages and counts. It keeps the links, their states and the
// rules.
func (s *Server) reset() {
	for _, l := range s.links {
		l.waiting = nil
	}
	s.records = Records{}
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
