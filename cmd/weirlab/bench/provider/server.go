package provider

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/machine"
)

// Run describes a run to the provider, before it begins.
type Run struct {
	judge.Expectation
	Delay  time.Duration `json:"delay"`  // from the answer to the report of the end
	Answer time.Duration `json:"answer"` // from a request to its answer
	Fails  bool          `json:"fails"`  // messages fail, instead of being delivered
	// Questions is how many questions each person is asked, whose messages begin with the numbers of person and question.
	// Each is answered when its end is reported; 0: messages are no questions.
	Questions int `json:"questions,omitempty"`
	// Spread are base URLs of processes of a broker that get the reports in turn, instead of
	// the address that the broker has given.
	Spread []string `json:"spread,omitempty"`
}

// server is the provider.
type server struct {
	record  *judge.Record
	reports *reports

	mu    sync.Mutex
	run   Run
	acks  map[string]target // by application: where its delivery reports go
	inbox map[string]target // by application: where messages of people go
	said  map[int]time.Time // by person: when the latest answer was sent
	turn  []target          // of the run's Spread; the first is next
	known map[string]state  // by token or number of a call
	calls int64             // number of the latest call
	hooks int               // events that came by webhook
}

// state is the state of an accepted contact, for brokers that ask.
type state struct {
	guid string
	done bool
}

// Serve runs the provider until ctx ends, and writes its URL to out.
func Serve(ctx context.Context, addr string, out io.Writer) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	return newServer().serve(ctx, l)
}

func newServer() *server {
	s := &server{record: judge.NewRecord(), acks: map[string]target{}, inbox: map[string]target{}, known: map[string]state{}}
	s.reports = newReports(s)
	return s
}

// serve answers until ctx ends.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	stampArrivals(l)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.reports.run(ctx) })
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		all.Go(func() {
			end := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer end()
			defer func() { _ = c.Close() }()
			s.answer(ctx, c)
		})
	}
}

// answer answers the requests of a connection.
func (s *server) answer(ctx context.Context, c net.Conn) {
	r := &reader{conn: c, stamped: newStamped(c)}
	var out []byte
	for {
		m, err := r.next(false)
		if err != nil {
			return
		}
		a := s.handle(ctx, &m)
		out = a.append(out[:0])
		if _, err := c.Write(out); err != nil || m.closing {
			return
		}
	}
}

// answer is the answer to a request.
type answer struct {
	status string // empty: 200
	fields string // further header lines
	body   []byte
}

func (a answer) append(out []byte) []byte {
	if a.status == "" {
		a.status = "200 OK"
	}
	out = append(append(append(out, "HTTP/1.1 "...), a.status...), "\r\n"...)
	out = append(append(out, a.fields...), "Content-Length: "...)
	out = append(strconv.AppendInt(out, int64(len(a.body)), 10), "\r\n\r\n"...)
	return append(out, a.body...)
}

func jsonAnswer(v any) answer {
	body, err := json.Marshal(v)
	if err != nil {
		return answer{status: "500 Internal Server Error"}
	}
	return answer{fields: "Content-Type: application/json\r\n", body: body}
}

// settings returns the settings of the run.
func (s *server) settings() Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// remember records the state of a contact for brokers that ask.
func (s *server) remember(key string, st state) {
	s.mu.Lock()
	s.known[key] = st
	s.mu.Unlock()
}

// recall returns the state of a contact.
func (s *server) recall(key string) (state, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.known[key]
	return st, ok
}

// reset prepares the next run.
func (s *server) reset(body []byte) answer {
	var run Run
	if json.Unmarshal(body, &run) != nil {
		return answer{status: "400 Bad Request"}
	}
	turn := make([]target, len(run.Spread))
	for i, base := range run.Spread {
		var err error
		if turn[i], err = newTarget(base); err != nil {
			return answer{status: "400 Bad Request"}
		}
	}
	s.mu.Lock()
	s.run, s.known, s.hooks, s.turn, s.said = run, map[string]state{}, 0, turn, map[int]time.Time{}
	s.mu.Unlock()
	s.reports.drop()
	s.record.Reset(run.Expectation)
	return answer{}
}

// spread returns where the next report goes that the broker wants at an address.
// The caller holds mu.
func (s *server) spread(to target) target {
	if len(s.turn) == 0 {
		return to
	}
	next := s.turn[0]
	copy(s.turn, s.turn[1:])
	s.turn[len(s.turn)-1] = next
	next.path = to.path
	return next
}

// seen returns what the provider saw, with what it cost.
func (s *server) seen() answer {
	seen := s.record.Seen()
	seen.CPU = int64(machine.Own().CPU)
	s.mu.Lock()
	seen.Hooks = s.hooks
	s.mu.Unlock()
	return jsonAnswer(seen)
}

// HookPath is the path at which events of contacts arrive by webhook.
const HookPath = "/hook"

// hook counts an event.
func (s *server) hook() answer {
	s.mu.Lock()
	s.hooks++
	s.mu.Unlock()
	return answer{}
}

// Account is the account of every application.
const Account = "bench"

// handle answers a request: those of a workload first.
func (s *server) handle(ctx context.Context, m *message) answer {
	method, target := m.request()
	path, query, _ := bytes.Cut(target, []byte("?"))
	switch {
	case bytes.HasSuffix(path, []byte("/send_ao.json")):
		return s.messages(ctx, m, path)
	case bytes.Equal(path, []byte("/api/call")):
		return s.call(ctx, m, query)
	case bytes.Equal(path, []byte(HookPath)):
		return s.hook()
	}
	switch name := string(path); {
	case name == "/api/applications/me" && string(method) == "PUT":
		return s.application(m)
	case strings.HasSuffix(name, "/get_ao.json"):
		return s.askMessage(query)
	case strings.HasPrefix(name, "/api/calls/"):
		return s.askCall(name)
	case strings.HasPrefix(name, "/api/channels/"):
		return jsonAnswer(map[string]any{"id": 1, "name": strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ".json"), "enabled": true})
	case name == "/seen":
		return s.seen()
	case name == "/arrived":
		return jsonAnswer(s.record.InOrder())
	case name == "/reset":
		return s.reset(m.body)
	case name == "/mark":
		s.record.Mark(time.Now())
		return answer{}
	}
	return answer{status: "404 Not Found"}
}

// application records where the delivery reports of a Nuntium application go.
func (s *server) application(m *message) answer {
	credentials, _ := base64.StdEncoding.DecodeString(string(m.basic))
	user, _, _ := strings.Cut(string(credentials), ":")
	_, name, ok := strings.Cut(user, "/")
	var body struct {
		DeliveryAck struct {
			URL string `json:"url"`
		} `json:"delivery_ack"`
		Interface struct {
			URL string `json:"url"`
		} `json:"interface"`
	}
	if json.Unmarshal(m.body, &body) != nil || !ok {
		return answer{status: "400 Bad Request"}
	}
	to, err := newTarget(body.DeliveryAck.URL)
	if err != nil {
		return answer{status: "400 Bad Request"}
	}
	in, _ := newTarget(body.Interface.URL) // no broker but Weir has one
	s.mu.Lock()
	s.acks[name], s.inbox[name] = to, in
	s.mu.Unlock()
	return jsonAnswer(map[string]any{"name": name})
}

// messages accepts a batch of Nuntium's messages: POST /account/application/send_ao.json.
func (s *server) messages(ctx context.Context, m *message, path []byte) answer {
	parts := bytes.Split(path, []byte("/"))
	list, ok := parseMessages(m.body)
	if len(parts) != 4 || !ok {
		return answer{status: "400 Bad Request"}
	}
	run, now, channel := s.settings(), time.Now(), s.record.Channel(parts[2])
	ids := make([]int, len(list))
	for i, t := range list {
		if run.Questions > 0 {
			ids[i] = s.asked(run, channel, t.body, now, m.arrived)
		} else {
			ids[i] = s.record.Arrived(channel, t.body, ' ', now, m.arrived)
		}
	}
	if run.Answer > 0 && !machine.Sleep(ctx, run.Answer) {
		return answer{status: "503 Service Unavailable"}
	}
	s.mu.Lock()
	to := s.acks[channel.Name]
	due := now.Add(run.Answer + run.Delay)
	for i, t := range list {
		guid, token := string(t.guid), string(t.token)
		s.known[token] = state{guid: guid}
		s.reports.add(report{due: due, channel: channel, id: ids[i], key: token, target: s.spread(to), guid: guid, failed: run.Fails})
		if run.Questions > 0 && ids[i] != notQuestion {
			s.reports.add(report{due: due, channel: channel, id: ids[i], target: s.spread(s.inbox[channel.Name]), guid: "answer-" + guid, from: string(t.to)})
		}
	}
	s.mu.Unlock()
	return answer{fields: "X-Nuntium-Token: 1\r\n"}
}

// askMessage answers a broker that asks for the state of a message.
func (s *server) askMessage(query []byte) answer {
	values, err := url.ParseQuery(string(query))
	st, ok := s.recall(values.Get("token"))
	if err != nil || !ok {
		return jsonAnswer([]any{})
	}
	name := "queued"
	if st.done {
		name = "delivered"
	}
	return jsonAnswer([]map[string]string{{"guid": st.guid, "state": name}})
}

// call accepts a call for Verboice: GET /api/call. The values of the contact are the
// path of the URL of its flow, and its report goes to the URL in the request.
func (s *server) call(ctx context.Context, m *message, query []byte) answer {
	values, err := url.ParseQuery(string(query))
	if err != nil {
		return answer{status: "400 Bad Request"}
	}
	to, err := newTarget(values.Get("status_callback_url"))
	if err != nil {
		return answer{status: "400 Bad Request"}
	}
	flow := values.Get("callback_url")
	run, now, channel := s.settings(), time.Now(), s.record.Channel([]byte(values.Get("channel")))
	id := s.record.Arrived(channel, []byte(flow[strings.LastIndexByte(flow, '/')+1:]), '-', now, m.arrived)
	if run.Answer > 0 && !machine.Sleep(ctx, run.Answer) {
		return answer{status: "503 Service Unavailable"}
	}
	s.mu.Lock()
	s.calls++
	number := strconv.FormatInt(s.calls, 10)
	s.known[number] = state{}
	s.reports.add(report{due: now.Add(run.Answer + run.Delay), channel: channel, id: id, key: number, target: s.spread(to)})
	s.mu.Unlock()
	return answer{fields: "Content-Type: application/json\r\n", body: []byte(`{"call_id":` + number + `,"state":"queued"}`)}
}

// askCall answers a broker that asks for the state of a call: GET /api/calls/1/state.json.
func (s *server) askCall(path string) answer {
	number, _, _ := strings.Cut(strings.TrimPrefix(path, "/api/calls/"), "/")
	st, ok := s.recall(number)
	if !ok {
		return answer{status: "404 Not Found"}
	}
	name := "active"
	if st.done {
		name = "completed"
	}
	return answer{fields: "Content-Type: application/json\r\n", body: []byte(`{"call_id":` + number + `,"state":"` + name + `"}`)}
}
