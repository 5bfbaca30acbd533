package simulator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
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
	messages []*Message
	calls    simulation.CallCount
}

// Line is the line of the tally.
const Line = "gateway"

const (
	opSend   = "send"
	opAsk    = "ask"
	opReport = "report"

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
	s := &Server{options: o, vendor: v}
	var err error
	s.Engine, err = simulation.NewEngine(simulation.Options{
		Seed: o.Seed, Outcomes: o.Outcomes, Outcome: simulation.OneOf(Delivered, Failed, Silent, Refused), Faults: o.Faults, Client: o.Client,
		Name: "messages", Records: s.records, Reset: func() { s.messages, s.calls = nil, simulation.CallCount{} },
	})
	if err != nil {
		return nil, err
	}
	s.Mux.HandleFunc("/", s.serve)
	return s, nil
}

func (s *Server) records() any {
	s.Lock()
	calls := s.calls
	s.Unlock()
	return object{"messages": s.Messages(), "callbacks": calls}
}

// Messages returns the accepted messages in their order.
func (s *Server) Messages() []Message {
	s.Lock()
	defer s.Unlock()
	out := []Message{}
	for _, m := range s.messages {
		out = append(out, *m)
	}
	return out
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
	rule, _ := s.Outcomes.Pick("", m.To)
	if m.Text == "" || m.To == "" {
		return s.vendor.refused("")
	}
	if rule.What == Refused {
		s.Tally().Refuse(Line)
		return s.vendor.refused(Refused)
	}
	s.Lock()
	defer s.Unlock()
	m.serial, m.state = len(s.messages)+1, waiting
	m.ID = cmp.Or(m.ID, fmt.Sprintf("m-%d", m.serial))
	s.messages = append(s.messages, m)
	key := simulation.TextKey(m.To, m.Text) // not every gateway takes an id of the client
	s.Tally().Begin(Line, key, m.To, 1)
	outcome := cmp.Or(rule.What, Delivered)
	s.Later(s.options.SendTime, func() {
		if outcome != Silent {
			s.report(m)
		}
		s.Later(s.options.DeliverTime, func() {
			m.state = Delivered
			if outcome == Failed {
				m.state = Failed
			}
			s.Tally().End(Line, key)
			if outcome != Silent {
				s.report(m)
			}
		})
	})
	return s.vendor.accepted(m)
}

// report posts the state of a message, and again until it is answered 2xx. The caller
// holds the lock.
func (s *Server) report(m *Message) {
	if m.callback == "" || s.vendor.report == nil {
		return
	}
	body, err := json.Marshal(s.vendor.report(m, s.vendor.states[m.state]))
	if err != nil {
		return
	}
	s.Repeat(simulation.Repeated{
		Callback: simulation.Callback{Subject: m.To, Kind: opReport, Request: func(ctx context.Context) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.callback, bytes.NewReader(body))
			if err == nil {
				r.Header.Set("Content-Type", "application/json")
			}
			return r, err
		}},
		Count: &s.calls, Taken: func(status int) bool { return status >= 200 && status < 300 },
		Again: func(failures, _ int, _ error) (time.Duration, bool) {
			return s.options.RetryDelay << (failures - 1), failures < maxTries
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
	s.Lock()
	for _, m := range s.messages {
		if m.ID == id {
			found = append(found, s.vendor.found(m, s.vendor.states[m.state]))
		}
	}
	s.Unlock()
	if !fault.After(w, r) {
		simulation.WriteJSON(w, http.StatusOK, object{"results": found})
	}
}
