package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// stub is the provider: it accepts every message immediately and reports its delivery
// after a delay.
type stub struct {
	delay   time.Duration
	tally   *tally
	client  *http.Client
	calls   chan pending // in the order in which they are due, because the delay is the same for all
	callers sync.WaitGroup

	mu   sync.RWMutex
	acks map[string]string // by application: where its acks go

	known sync.Map // by token: *message
}

// message is an accepted message.
type message struct {
	guid string
	over atomic.Bool
}

// pending is an ack to be sent.
type pending struct {
	at      time.Time
	channel string // the application's name
	guid    string
	id      int
	message *message
}

const (
	callers   = 64 // concurrent callbacks
	mostTries = 5
	// account is the account of every application at the stub.
	account = "bench"
	// mostSend is the max size of a request in bytes.
	mostSend = 64 << 10
)

func newStub(delay time.Duration) *stub {
	return &stub{
		delay: delay, tally: newTally(), acks: map[string]string{},
		calls: make(chan pending, 1<<20),
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
			MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers, DisableCompression: true,
		}},
	}
}

// serve answers until ctx ends.
func (s *stub) serve(ctx context.Context, l net.Listener) error {
	for range callers {
		s.callers.Go(func() { s.call(ctx) })
	}
	defer s.callers.Wait()
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ConnContext: withConnection}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(newArrivals(l)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP implements the part of Nuntium that the workload needs, and the stub's own
// pages.
func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer answering(r)
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch last := parts[len(parts)-1]; {
	case last == "send_ao.json" && len(parts) == 3:
		s.send(w, r, parts[1])
	case last == "me" && r.Method == http.MethodPut:
		s.application(w, r)
	case len(parts) == 3 && parts[1] == "channels":
		writeJSON(w, map[string]any{"name": strings.TrimSuffix(last, ".json"), "enabled": true})
	case last == "get_ao.json":
		s.list(w, r.URL.Query().Get("token"))
	case last == "figures":
		writeJSON(w, s.tally.figures())
	case last == "arrived":
		writeJSON(w, s.tally.arrivedInOrder())
	case last == "reset" && r.Method == http.MethodPost:
		var e expectation
		if json.NewDecoder(r.Body).Decode(&e) != nil {
			http.Error(w, "no expectation", http.StatusBadRequest)
			return
		}
		s.known.Clear()
		s.tally.reset(e)
	case last == "mark" && r.Method == http.MethodPost:
		s.tally.mark(time.Now())
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has disconnected does not matter
}

// list answers a broker that asks for the state of a message of unknown outcome.
func (s *stub) list(w http.ResponseWriter, token string) {
	v, ok := s.known.Load(token)
	if !ok {
		writeJSON(w, []any{})
		return
	}
	m, state := v.(*message), "queued" //nolint:forcetypeassert // nothing else is in it
	if m.over.Load() {
		state = "delivered"
	}
	writeJSON(w, []map[string]string{{"guid": m.guid, "state": state}})
}

// application records where the acks of an application go.
func (s *stub) application(w http.ResponseWriter, r *http.Request) {
	user, _, _ := r.BasicAuth()
	_, name, ok := strings.Cut(user, "/")
	var body struct {
		DeliveryAck struct {
			URL string `json:"url"`
		} `json:"delivery_ack"`
	}
	if json.NewDecoder(io.LimitReader(r.Body, mostSend)).Decode(&body) != nil || !ok {
		http.Error(w, "no application", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.acks[name] = body.DeliveryAck.URL
	s.mu.Unlock()
	writeJSON(w, map[string]any{"name": name})
}

// send accepts a batch of messages and schedules their acks.
func (s *stub) send(w http.ResponseWriter, r *http.Request, application string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, mostSend))
	now := time.Now()
	var list []struct {
		Body  string `json:"body"`
		GUID  string `json:"guid"`
		Token string `json:"token"`
	}
	if err != nil || json.Unmarshal(body, &list) != nil {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	for _, m := range list {
		id := s.tally.arrived(application, m.Body, now, arrivedAt(r))
		taken := &message{guid: m.GUID}
		s.known.Store(m.Token, taken)
		select {
		case s.calls <- pending{now.Add(s.delay), application, m.GUID, id, taken}:
		default: // the ack is dropped; the run will report it missing
		}
	}
	w.Header().Set("X-Nuntium-Token", "1")
}

// call sends acks when they are due.
func (s *stub) call(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-s.calls:
			if !sleep(ctx, time.Until(p.at)) {
				return
			}
			s.ack(ctx, p)
		}
	}
}

func (s *stub) ack(ctx context.Context, p pending) {
	s.mu.RLock()
	target := s.acks[p.channel]
	s.mu.RUnlock()
	form := url.Values{"guid": {p.guid}, "channel": {p.channel}, "state": {"delivered"}}.Encode()
	p.message.over.Store(true)
	s.tally.leaving(p.channel, time.Now())
	for try := range mostTries {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(form))
		if err != nil {
			break
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := s.client.Do(r)
		if err == nil && drained(answer) {
			s.tally.over(p.id)
			return
		}
		if !sleep(ctx, 100*time.Millisecond<<try) {
			return
		}
	}
	s.tally.refused()
}

// drained reads an answer to its end, so that the connection is reused, and
// reports whether it was successful.
func drained(r *http.Response) bool {
	var b bytes.Buffer
	_, err := io.Copy(&b, io.LimitReader(r.Body, mostSend))
	_ = r.Body.Close()
	return err == nil && r.StatusCode/100 == 2
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
