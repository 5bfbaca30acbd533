package simulator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/channels/simulation"
)

// Options configures the simulated gateway. Only Vendor is required.
type Options struct {
	Vendor   string // see Vendors
	Secret   string // key, token or password; default "secret"
	Outcomes []string
	Faults   []string // of the operations send and ask, and of callbacks; see simulation.Faults
	Seed     uint64

	SendTime, DeliverTime time.Duration // until the first and the final report
	RetryDelay            time.Duration // before a callback is repeated; default 5 s
	Client                *http.Client  // for callbacks; nil: its own
}

// Server is a simulated gateway. It is safe for concurrent use; messages advance and
// callbacks are sent only while Run runs.
type Server struct {
	*simulation.Engine
	options  Options
	vendor   vendor
	outcomes *simulation.Script
	mux      *http.ServeMux

	mu       sync.Mutex
	life     int
	messages []*Message
	calls    simulation.CallCount
}

// Line is the line of the tally.
const Line = "gateway"

const (
	opSend   = "send"
	opAsk    = "ask"
	opReport = "report"

	maxBody  = 1 << 20
	maxTries = 5
)

// Vendors lists the vendors.
func Vendors() []string { return slices.Sorted(maps.Keys(vendors())) }

// New returns a simulator, or an error if an option is invalid.
func New(o Options) (*Server, error) {
	v, ok := vendors()[o.Vendor]
	if !ok {
		return nil, fmt.Errorf("vendor %q: want one of %s", o.Vendor, strings.Join(Vendors(), ", "))
	}
	o.Secret, o.RetryDelay = cmp.Or(o.Secret, "secret"), cmp.Or(o.RetryDelay, 5*time.Second)
	rules, err := simulation.ParseRules(o.Outcomes...)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if !slices.Contains([]string{Delivered, Failed, Silent, Refused}, r.What) || r.Value != "" || r.Operation != "" {
			return nil, fmt.Errorf("outcome %q: want delivered, failed, silent or refused, with :when if need be", r)
		}
	}
	engine, err := simulation.NewEngine(o.Seed, o.Faults, simulation.SenderOptions{Client: o.Client})
	if err != nil {
		return nil, err
	}
	s := &Server{Engine: engine, options: o, vendor: v, outcomes: simulation.NewScript(o.Seed, rules...), mux: http.NewServeMux()}
	s.mux.Handle(simulation.ControlPath, simulation.Control(s.Tally(), s.Faults(), s.Reset))
	s.mux.HandleFunc("GET "+simulation.ControlPath+"messages", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		calls := s.calls
		s.mu.Unlock()
		simulation.WriteJSON(w, http.StatusOK, object{"messages": s.Messages(), "callbacks": calls})
	})
	s.mux.HandleFunc("/", s.serve)
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// Messages returns the accepted messages in their order.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Message{}
	for _, m := range s.messages {
		out = append(out, *m)
	}
	return out
}

// Reset drops all messages and counts.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.Agenda.Clear()
	s.messages, s.calls = nil, simulation.CallCount{}
	s.Tally().Reset()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // a request without its end is none
		panic(http.ErrAbortHandler)
	}
	switch {
	// A suffix, because Telegram's paths begin with the secret.
	case strings.HasSuffix(r.URL.Path, s.vendor.send) && r.Method == http.MethodPost:
		s.send(w, r, body)
	case s.vendor.logs != "" && r.URL.Path == s.vendor.logs:
		s.ask(w, r)
	case strings.HasSuffix(r.URL.Path, s.vendor.status):
		if !s.vendor.allowed(s.options.Secret, r) {
			simulation.WriteJSON(w, http.StatusUnauthorized, object{})
			return
		}
		simulation.WriteJSON(w, http.StatusOK, s.vendor.up)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, body []byte) {
	m, authorized := s.vendor.read(s.options.Secret, r, body)
	fault := s.Faults().Request(opSend, m.To)
	if fault.Before(w, r) {
		return
	}
	reply := s.take(&m, authorized)
	if !fault.After(w, r) {
		simulation.WriteJSON(w, reply.status, reply.body)
	}
}

// take accepts a message, or does not.
func (s *Server) take(m *Message, authorized bool) answer {
	if !authorized {
		return s.vendor.unauthorized
	}
	rule, _ := s.outcomes.Pick("", m.To)
	if m.Text == "" || m.To == "" {
		return s.vendor.refused("")
	}
	if rule.What == Refused {
		s.Tally().Refuse(Line)
		return s.vendor.refused(Refused)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.serial, m.state, m.life = len(s.messages)+1, waiting, s.life
	m.ID = cmp.Or(m.ID, fmt.Sprintf("m-%d", m.serial))
	s.messages = append(s.messages, m)
	s.Tally().Begin(Line, m.tallyKey(), m.To, 1)
	outcome := cmp.Or(rule.What, Delivered)
	s.later(s.options.SendTime, m, func() {
		if outcome != Silent {
			s.report(m, 0)
		}
		s.later(s.options.DeliverTime, m, func() {
			m.state = Delivered
			if outcome == Failed {
				m.state = Failed
			}
			s.Tally().End(Line, m.tallyKey())
			if outcome != Silent {
				s.report(m, 0)
			}
		})
	})
	return s.vendor.accepted(m)
}

// tallyKey identifies a message by number and text: gateways without an id of the client have
// nothing else by which a doubled message shows.
func (m *Message) tallyKey() string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, m.Text)
	return fmt.Sprintf("%s %x", m.To, h.Sum64())
}

// later runs do with the lock, unless everything was reset by then.
func (s *Server) later(wait time.Duration, m *Message, do func()) {
	s.Agenda.After(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m.life == s.life {
			do()
		}
	})
}

// report posts the state of a message, and again until it is answered 2xx. The caller
// holds the lock.
func (s *Server) report(m *Message, failures int) {
	if m.callback == "" || s.vendor.report == nil {
		return
	}
	body, err := json.Marshal(s.vendor.report(m, s.vendor.states[m.state]))
	if err != nil {
		return
	}
	s.post(m, body, failures)
}

func (s *Server) post(m *Message, body []byte, failures int) {
	s.Sender.Send(simulation.Callback{
		Subject: m.To, Kind: opReport,
		Request: func(ctx context.Context) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.callback, bytes.NewReader(body))
			if err == nil {
				r.Header.Set("Content-Type", "application/json")
			}
			return r, err
		},
		Done: func(status int, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if m.life != s.life || !s.calls.Add(status >= 200 && status < 300, err) {
				return
			}
			if failures+1 >= maxTries {
				s.calls.Lost++
				return
			}
			s.later(s.options.RetryDelay<<failures, m, func() { s.post(m, body, failures+1) })
		},
	})
}

// ask answers what is known of a message by the client's id for it.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("messageId")
	fault := s.Faults().Request(opAsk, id)
	if fault.Before(w, r) {
		return
	}
	if !s.vendor.allowed(s.options.Secret, r) {
		simulation.WriteJSON(w, s.vendor.unauthorized.status, s.vendor.unauthorized.body)
		return
	}
	found := []object{}
	s.mu.Lock()
	for _, m := range s.messages {
		if m.ID == id {
			found = append(found, s.vendor.found(m, s.vendor.states[m.state]))
		}
	}
	s.mu.Unlock()
	if !fault.After(w, r) {
		simulation.WriteJSON(w, http.StatusOK, object{"results": found})
	}
}
