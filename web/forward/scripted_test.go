package forward_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"weir/web/forward"
)

// script is a standby in a bubble, with owners that follow a script instead of a network.
type script struct {
	forward.Options
	owners map[int64]roundTripper // by epoch

	mu      sync.Mutex
	owner   forward.Owner
	changed chan struct{}
	asked   []int64
	ends    []end
}

// end is how a request ended.
type end struct {
	Outcome    string
	Held, Took time.Duration
}

func newScript(limits forward.Limits) *script {
	s := &script{changed: make(chan struct{}), owners: map[int64]roundTripper{}}
	s.Options = forward.Options{
		Owners: s, Transports: s, Limits: limits, Logger: slog.New(slog.DiscardHandler),
		Repeatable: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/callbacks/") },
		Result: func(outcome string, held, took time.Duration) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ends = append(s.ends, end{outcome, held, took})
		},
	}
	return s
}

// Owner implements forward.Owners.
func (s *script) Owner() (forward.Owner, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner, s.changed
}

// Refused implements forward.Owners.
func (s *script) Refused(forward.Owner) {}

// owned makes another process the owner; 0: there is none.
func (s *script) owned(epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = forward.Owner{Epoch: epoch, Address: "owner.example"}
	close(s.changed)
	s.changed = make(chan struct{})
}

// To implements forward.Transports.
func (s *script) To(o forward.Owner) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		s.mu.Lock()
		s.asked = append(s.asked, o.Epoch)
		s.mu.Unlock()
		return s.owners[o.Epoch](r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// replies is an owner that replies after a while.
func replies(after time.Duration, status int, header, body string) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(after):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		out := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
		if header != "" {
			out.Header.Set(forward.PeerHeader, header)
		}
		return out, nil
	}
}

// fails is a connection that breaks after a while, and may have carried the request.
func fails(after time.Duration, carried bool) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		if carried {
			httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{Conn: &net.TCPConn{}})
		}
		select {
		case <-time.After(after):
		case <-r.Context().Done():
		}
		return nil, errors.New("broken")
	}
}

// A request waits for an owner for as long as it may in all, however often it was sent in between, and each answer
// that is not about the ownership is the client's.
func TestForwarder_WaitsAsLongAsItMay(t *testing.T) {
	t.Parallel()
	const second = time.Second
	notOwner := replies(0, http.StatusMisdirectedRequest, forward.PeerNotOwner, "not I")
	lost := replies(second, http.StatusServiceUnavailable, forward.PeerLost, "lost")
	fine := replies(second, http.StatusOK, "", "fine")
	large := strings.Repeat("x", 2000)
	type change struct {
		at    time.Duration
		epoch int64
	}
	for _, c := range []struct {
		name         string
		method, body string
		path         string
		first        roundTripper // of owner 1, from the start; nil: there is none then
		changes      []change
		leaves       time.Duration // when the client does; 0: it stays
		want         end
		status       int
		answer       string
		asked        int // how often the first owner was
	}{
		{name: "no owner", want: end{forward.NoOwner, 3 * second, 3 * second}, status: 503, answer: "nothing was done"},
		{name: "an owner in time", changes: []change{{2 * second, 2}}, want: end{forward.Passed, 2 * second, 3 * second}, status: 200, answer: "fine"},
		{name: "an owner at once", first: fine, want: end{forward.Passed, 0, second}, status: 200, answer: "fine", asked: 1},
		{name: "the client leaves while it waits", leaves: second, want: end{forward.ClientGone, second, second}, status: 503},
		{name: "the client leaves while the owner works", first: fine, leaves: second / 2, want: end{forward.ClientGone, 0, second / 2}, status: 503, asked: 1},
		{name: "refused all the time", first: notOwner, want: end{forward.NoOwner, 3 * second, 3 * second}, status: 503, answer: "nothing was done", asked: 31},
		{name: "refused until another owns it", first: notOwner, changes: []change{{450 * time.Millisecond, 2}}, want: end{forward.Passed, 450 * time.Millisecond, 1450 * time.Millisecond}, status: 200, answer: "fine", asked: 5},
		{name: "refused slowly: the time of an answer is no waiting", first: fails(second, false), want: end{forward.NoOwner, 3 * second, 34 * second}, status: 503, answer: "nothing was done", asked: 31},
		{name: "two waits", first: fails(second, false), changes: []change{{second + 50*time.Millisecond, 0}, {3 * second, 2}}, want: end{forward.Passed, 2 * second, 4 * second}, status: 200, answer: "fine", asked: 1},
		{name: "a read that may have been handled", first: fails(second, true), changes: []change{{second, 2}}, want: end{forward.Passed, 0, 2 * second}, status: 200, answer: "fine", asked: 1},
		{name: "HEAD is a read", method: "HEAD", first: fails(second, true), changes: []change{{second, 2}}, want: end{forward.Passed, 0, 2 * second}, status: 200, answer: "fine", asked: 1},
		{name: "a write that may have been handled", method: "POST", first: fails(second, true), want: end{forward.NotKnown, 0, second}, status: 503, answer: "not known", asked: 1},
		{name: "a write that was not handled", method: "POST", first: fails(second, false), changes: []change{{second, 2}}, want: end{forward.Passed, 0, 2 * second}, status: 200, answer: "fine", asked: 1},
		{name: "the owner has lost it, at a read", first: lost, changes: []change{{second, 2}}, want: end{forward.Passed, 0, 2 * second}, status: 200, answer: "fine", asked: 1},
		{name: "the owner has lost it, at a report", method: "POST", path: "/callbacks/a", first: lost, changes: []change{{second, 2}}, want: end{forward.Passed, 0, 2 * second}, status: 200, answer: "fine", asked: 1},
		{name: "the owner has lost it, at a write", method: "POST", first: lost, want: end{forward.Passed, 0, second}, status: 503, answer: "lost", asked: 1},
		{name: "the owner has lost it, at a report that cannot be repeated", method: "POST", path: "/callbacks/a", body: large, first: lost, want: end{forward.Passed, 0, second}, status: 503, answer: "lost", asked: 1},
		{name: "the owner is busy", first: replies(0, 503, "", "busy"), want: end{forward.Passed, 0, 0}, status: 503, answer: "busy", asked: 1},
		{name: "the owner knows nothing of it", first: replies(0, 421, "", "other"), want: end{forward.Passed, 0, 0}, status: 421, answer: "other", asked: 1},
		{name: "a word that belongs to another status", first: replies(0, 200, forward.PeerLost, "fine"), want: end{forward.Passed, 0, 0}, status: 200, answer: "fine", asked: 1},
		{name: "another such word", first: replies(0, 200, forward.PeerNotOwner, "fine"), want: end{forward.Passed, 0, 0}, status: 200, answer: "fine", asked: 1},
		{name: "another word", first: replies(0, 503, "other", "busy"), want: end{forward.Passed, 0, 0}, status: 503, answer: "busy", asked: 1},
		{name: "a large body without an owner", method: "POST", body: large, want: end{forward.Full, 0, 0}, status: 503, answer: "nothing was done"},
		{name: "a large body that was not handled", method: "POST", path: "/callbacks/a", body: large, first: notOwner, want: end{forward.Full, 0, 0}, status: 503, answer: "nothing was done", asked: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScript(forward.Limits{Hold: 3 * second, Body: 1000})
				s.owners[1], s.owners[2] = c.first, fine
				if c.first != nil {
					s.owned(1)
				}
				for _, x := range c.changes {
					time.AfterFunc(x.at, func() { s.owned(x.epoch) })
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.leaves > 0 {
					time.AfterFunc(c.leaves, cancel)
				}
				f := forward.New(s.Options)
				w := httptest.NewRecorder()
				f.ServeHTTP(w, httptest.NewRequestWithContext(ctx, or(c.method, "GET"), or(c.path, "/v1/contacts"), strings.NewReader(c.body)))
				if w.Code != c.status || !strings.Contains(w.Body.String(), c.answer) || w.Header().Get(forward.PeerHeader) != "" {
					t.Errorf("%d %s %v, want %d %q", w.Code, w.Body, w.Header(), c.status, c.answer)
				}
				if diff := cmp.Diff([]end{c.want}, s.ends); diff != "" {
					t.Error(diff)
				}
				first := 0
				for _, epoch := range s.asked {
					if epoch == 1 {
						first++
					}
				}
				if first != c.asked || f.Held() != 0 {
					t.Errorf("the first owner was asked %d times, want %d; %d requests are still held", first, c.asked, f.Held())
				}
			})
		})
	}
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// Unless it is said which requests may be handled twice, only reads are.
func TestForwarder_RepeatsReadsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(forward.Limits{})
		s.Repeatable, s.Result = nil, nil
		s.owners[1] = fails(0, true)
		s.owned(1)
		w := httptest.NewRecorder()
		forward.New(s.Options).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/callbacks/a", http.NoBody))
		if w.Code != 503 || len(s.asked) != 1 {
			t.Errorf("%d after %d tries", w.Code, len(s.asked))
		}
	})
}

// The owner undoes what was done to the headers of a request, so that it gets those that the client sent, whatever of
// them means something between peers.
func TestReceived_UndoesWhatWasDoneToHeaders(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://weir.example/", "https://weir.example/"} {
		s := newScript(forward.Limits{})
		var peer [3]string
		var got http.Header
		s.owners[1] = func(r *http.Request) (*http.Response, error) {
			got = r.Header.Clone()
			peer = [3]string{got.Get(forward.PeerHeader), got.Get(forward.ClientHeader), got.Get(forward.SchemeHeader)}
			forward.Received(got)
			return replies(0, 204, "", "")(r)
		}
		s.owned(1)
		r := httptest.NewRequestWithContext(t.Context(), "GET", url, http.NoBody)
		r.RemoteAddr = "192.0.2.7:9"
		r.Header = http.Header{"X-Two": {"1", "2"}, "Idempotency-Key": {"k"}, "User-Agent": {"a"}}
		want := r.Header.Clone()
		for _, name := range []string{forward.PeerHeader, forward.ClientHeader, forward.SchemeHeader, forward.KeyHeader} {
			r.Header.Set(name, "mine")
		}
		forward.New(s.Options).ServeHTTP(httptest.NewRecorder(), r)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", url, diff)
		}
		if scheme, _, _ := strings.Cut(url, "://"); peer[0] != forward.PeerPass || peer[1] != r.RemoteAddr || (peer[2] == "https") != (scheme == "https") {
			t.Errorf("%s: peers send %q", url, peer)
		}
	}
}

// timed is a client's connection that notes its read deadlines: how long from now, or 0 for none.
type timed struct {
	*httptest.ResponseRecorder
	reads, writes []time.Duration
}

// SetReadDeadline implements what http.ResponseController looks for.
func (c *timed) SetReadDeadline(at time.Time) error { c.reads = append(c.reads, until(at)); return nil }

// SetWriteDeadline implements what http.ResponseController looks for.
func (c *timed) SetWriteDeadline(at time.Time) error {
	c.writes = append(c.writes, until(at))
	return nil
}

func until(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return time.Until(at)
}

// slow is a body whose pieces come two seconds apart; then it ends, or breaks.
type slow struct {
	pieces []string
	err    error
	closed chan struct{} // nil: never
}

func (b *slow) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, b.err
	}
	select {
	case <-time.After(2 * time.Second):
	case <-b.closed:
		return 0, io.ErrClosedPipe
	}
	n := copy(p, b.pieces[0])
	if b.pieces[0] = b.pieces[0][n:]; b.pieces[0] == "" {
		b.pieces = b.pieces[1:]
	}
	return n, nil
}

// While a long body is passed on, its client gets time for each piece; behind each body it has no deadline, so that the
// owner may take its time. What did not arrive whole is not passed on, and takes no room.
func TestForwarder_GivesTimeForEachPieceOfABody(t *testing.T) {
	t.Parallel()
	pieces := func(n int) []string { return strings.Split(strings.Repeat("0123456789,", n-1)+"0123456789", ",") }
	const more = 30 * time.Second
	for _, c := range []struct {
		name   string
		body   io.Reader
		length int64
		reads  []time.Duration
		status int
		end    string
		got    int
	}{
		{"none", http.NoBody, 0, []time.Duration{0}, 200, forward.Passed, 0},
		{"small", &slow{pieces: pieces(2), err: io.EOF}, 20, []time.Duration{0}, 200, forward.Passed, 20},
		{"small, of unknown length", &slow{pieces: pieces(2), err: io.EOF}, -1, []time.Duration{0}, 200, forward.Passed, 20},
		{"as large as fits", &slow{pieces: pieces(3), err: io.EOF}, 30, []time.Duration{0}, 200, forward.Passed, 30},
		{"large", &slow{pieces: pieces(4), err: io.EOF}, 40, []time.Duration{more, more, more, more, more, 0}, 200, forward.Passed, 40},
		{"large, of unknown length", &slow{pieces: pieces(5), err: io.EOF}, -1, []time.Duration{more, more, more, 0}, 200, forward.Passed, 50},
		{"small, broken", &slow{pieces: pieces(2), err: io.ErrUnexpectedEOF}, 30, nil, 503, forward.ClientGone, 0},
		{"of unknown length, broken", &slow{pieces: pieces(2), err: io.ErrUnexpectedEOF}, -1, nil, 503, forward.ClientGone, 0},
		{"of another client, too much for the room", &slow{pieces: pieces(3), err: io.EOF}, 30, nil, 503, forward.Full, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limits := forward.Limits{Body: 30, Bytes: 62, Share: 31}
				if c.end == forward.Full {
					limits.Bytes = 25
				}
				s := newScript(limits)
				got := 0
				s.owners[1] = func(r *http.Request) (*http.Response, error) {
					all, err := io.ReadAll(r.Body)
					if got += len(all); err != nil {
						return nil, err
					}
					return replies(time.Minute, 200, "", "fine")(r)
				}
				s.owned(1)
				f := forward.New(s.Options)
				send := func(body io.Reader, length int64) *timed {
					r := httptest.NewRequestWithContext(t.Context(), "POST", "/", body)
					r.ContentLength = length
					w := &timed{ResponseRecorder: httptest.NewRecorder()}
					f.ServeHTTP(w, r)
					return w
				}
				w := send(c.body, c.length)
				if w.Code != c.status || got != c.got || len(s.ends) != 1 || s.ends[0].Outcome != c.end {
					t.Errorf("%d %s, %+v; the owner got %d bytes, want %d", w.Code, w.Body, s.ends, got, c.got)
				}
				if diff := cmp.Diff(c.reads, w.reads); diff != "" {
					t.Errorf("read deadlines: %s", diff)
				}
				if c.status == 200 && cmp.Diff(w.writes, []time.Duration{more}) != "" {
					t.Errorf("write deadlines: %v", w.writes)
				}
				for i := range 3 { // its room is free again
					if w := send(strings.NewReader(strings.Repeat("x", 20)), 20); w.Code != 200 {
						t.Errorf("behind it, %d: %d %s", i, w.Code, w.Body)
					}
				}
			})
		})
	}
}

// Bodies in memory take the room of all that there is together, also if each client has a share left; and without
// settings a client has room for one body at least.
func TestForwarder_RoomIsForAllClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits forward.Limits
		bodies []int // each of another client
		full   []bool
	}{
		{forward.Limits{Bytes: 100, Share: 60, Body: 60}, []int{50, 50, 1}, []bool{false, false, true}},
		{forward.Limits{Bytes: 100, Share: 60, Body: 60}, []int{50, 51, 50, 1}, []bool{false, true, false, true}},
		{forward.Limits{Bytes: 100, Body: 60}, []int{60, 40, 1}, []bool{false, false, true}},
		{forward.Limits{Bytes: 100, Body: 20}, []int{20, 20, 20, 20, 20, 1}, []bool{false, false, false, false, false, true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(c.limits)
			f := forward.New(s.Options)
			codes := make([]chan int, len(c.bodies))
			for i, n := range c.bodies {
				codes[i] = make(chan int, 1)
				go func() {
					r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(strings.Repeat("x", n)))
					r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i)
					w := httptest.NewRecorder()
					f.ServeHTTP(w, r)
					codes[i] <- w.Code
				}()
				synctest.Wait()
				if full := len(codes[i]) > 0; full != c.full[i] {
					t.Errorf("%+v: body %d of %v is refused: %v", c.limits, i, c.bodies, full)
				}
			}
			time.Sleep(time.Minute)
		})
	}
	synctest.Test(t, func(t *testing.T) { // of unknown length, one that proves too long for memory is sent on
		s := newScript(forward.Limits{Bytes: 100, Body: 60})
		s.owners[1] = func(r *http.Request) (*http.Response, error) {
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil {
				return nil, err
			}
			return replies(0, 200, "", fmt.Sprint(n))(r)
		}
		s.owned(1)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(strings.Repeat("x", 90)))
		r.ContentLength = -1
		w := httptest.NewRecorder()
		if forward.New(s.Options).ServeHTTP(w, r); w.Body.String() != "90" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// A standby that leaves cuts no other answer short than streams of events.
func TestForwarder_EndsNothingButStreams(t *testing.T) {
	t.Parallel()
	for kind, ends := range map[string]bool{"text/event-stream": true, "text/event-stream; charset=utf-8": true, "application/json": false, "text/csv": false, "": false} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(forward.Limits{})
			answer, piece := io.Pipe()
			s.owners[1] = func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: answer}, nil
			}
			s.owned(1)
			f := forward.New(s.Options)
			w, done := httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(done)
				f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", http.NoBody))
			}()
			_, _ = io.WriteString(piece, "one ")
			synctest.Wait()
			f.EndStreams()
			synctest.Wait()
			_, _ = io.WriteString(piece, "two")
			_ = piece.Close()
			<-done
			if want := map[bool]string{true: "one ", false: "one two"}[ends]; w.Body.String() != want {
				t.Errorf("%q: the client got %q, want %q", kind, w.Body, want)
			}
		})
	}
}

// Requests are counted by their outcome, and those that waited for an owner by how long.
func TestMetrics_CountRequests(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := forward.NewMetrics(registry)
	for _, x := range []end{{forward.Passed, 0, time.Second}, {forward.Passed, 2 * time.Second, 3 * time.Second}, {forward.NoOwner, 10 * time.Second, 10 * time.Second}} {
		m.Result(x.Outcome, x.Held, x.Took)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, x := range f.Metric {
			name := f.GetName()
			for _, l := range x.Label {
				name += " " + l.GetValue()
			}
			if f.GetType() == dto.MetricType_COUNTER {
				got[name] = x.Counter.GetValue()
				continue
			}
			got[name+" sum"], got[name+" count"] = x.Histogram.GetSampleSum(), float64(x.Histogram.GetSampleCount())
		}
	}
	want := map[string]float64{
		"weir_forward_total passed": 2, "weir_forward_total no_owner": 1, "weir_forward_total full": 0, "weir_forward_total not_known": 0, "weir_forward_total client_gone": 0,
		"weir_forward_seconds sum": 14, "weir_forward_seconds count": 3, "weir_hold_seconds sum": 12, "weir_hold_seconds count": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
