package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
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
}

// server is the provider.
type server struct {
	record  *judge.Record
	reports *reports

	mu    sync.Mutex
	run   Run
	acks  map[string]target // by application: where its delivery reports go
	known map[string]state  // by token or number of a call
	calls int64             // number of the latest call
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
	s := &server{record: judge.NewRecord(), acks: map[string]target{}, known: map[string]state{}}
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
	s.mu.Lock()
	s.run, s.known = run, map[string]state{}
	s.mu.Unlock()
	s.reports.drop()
	s.record.Reset(run.Expectation)
	return answer{}
}

// seen returns what the provider saw, with what it cost.
func (s *server) seen() answer {
	seen := s.record.Seen()
	seen.CPU = int64(machine.Own().CPU)
	return jsonAnswer(seen)
}
