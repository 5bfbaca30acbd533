package forward_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"weir/internal/polling"
	"weir/web/forward"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const waitLimit = 10 * time.Second

// rig is a standby, whose owner the test names.
type rig struct {
	*testing.T
	*httptest.Server
	forwarder *forward.Forwarder

	mu      sync.Mutex
	owner   forward.Owner
	changed chan struct{}
	refused atomic.Int32
	results []string
}

func newRig(t *testing.T, limits forward.Limits) *rig {
	t.Helper()
	r := &rig{T: t, changed: make(chan struct{})}
	pools := &forward.Peers{TLS: func(string) *tls.Config { return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13} }}
	r.forwarder = forward.New(forward.Options{
		Owners: r, Transports: pools, Limits: limits, Logger: slog.New(slog.DiscardHandler),
		Repeatable: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/callbacks/") },
		Result: func(outcome string, _, _ time.Duration) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.results = append(r.results, outcome)
		},
	})
	r.Server = httptest.NewServer(r.forwarder)
	t.Cleanup(func() { r.Server.Close(); pools.Close() })
	return r
}

// Owner implements forward.Owners.
func (r *rig) Owner() (forward.Owner, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner, r.changed
}

// Refused implements forward.Owners.
func (r *rig) Refused(forward.Owner) { r.refused.Add(1) }

// owned makes a process the owner; nil: there is none.
func (r *rig) owned(epoch int64, p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner = forward.Owner{}
	if p != nil {
		r.owner = p.owner(epoch)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// outcomes waits for the outcomes of so many requests.
func (r *rig) outcomes(want ...string) {
	r.Helper()
	var got string
	if !polling.Until(waitLimit, time.Millisecond, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		got = strings.Join(r.results, " ")
		return got == strings.Join(want, " ")
	}) {
		r.Errorf("outcomes %s, want %v", got, want)
	}
}

// process is a process that may be the owner.
type process struct {
	*httptest.Server
	requests atomic.Int32
}

func newProcess(t *testing.T, h http.HandlerFunc) *process {
	t.Helper()
	p := &process{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(forward.PeerHeader) == forward.PeerPing {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		p.requests.Add(1)
		h(w, r)
	}))
	p.StartTLS()
	t.Cleanup(p.Server.Close)
	return p
}

// answers is an owner that answers with its name.
func answers(t *testing.T, name string) *process {
	t.Helper()
	return newProcess(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
}

// breaks is an owner that reads a request, and dies.
func breaks(t *testing.T) *process {
	t.Helper()
	return newProcess(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	})
}

// notOwner is a process that does not own the database.
func notOwner(t *testing.T) *process {
	t.Helper()
	return newProcess(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(forward.PeerHeader, forward.PeerNotOwner)
		w.WriteHeader(http.StatusMisdirectedRequest)
	})
}

type got struct {
	Status int
	Body   string
	After  string // Retry-After
}

func (r *rig) do(method, path, body string) got {
	r.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	return r.send(method, path, in)
}

func (r *rig) send(method, path string, body io.Reader) got {
	r.Helper()
	q, err := http.NewRequestWithContext(r.Context(), method, r.URL+path, body)
	if err != nil {
		r.Error(err)
		return got{}
	}
	answer, err := r.Client().Do(q)
	if err != nil {
		r.Error(err)
		return got{}
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.Error(err)
	}
	return got{answer.StatusCode, string(text), answer.Header.Get("Retry-After")}
}

// begin sends a request beside the test.
func (r *rig) begin(method, path, body string) <-chan got {
	done := make(chan got, 1)
	go func() { done <- r.do(method, path, body) }()
	return done
}

// held waits until so many requests wait for an owner.
func (r *rig) held(want int64) {
	r.Helper()
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return r.forwarder.Held() == want }) {
		r.Fatalf("%d requests are held, want %d", r.forwarder.Held(), want)
	}
}

// What the owner gets is what the client sent, so that signatures remain valid.
func TestForwarder_PassesRequestsOnWhole(t *testing.T) {
	t.Parallel()
	type seen struct {
		Method, URI, Host, Body string
		Header                  http.Header
	}
	requests := make(chan seen, 1)
	p := newProcess(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- seen{r.Method, r.RequestURI, r.Host, string(body), r.Header}
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "answer")
	})
	r := newRig(t, forward.Limits{})
	r.owned(1, p)
	const text = "POST /v1/a%2Fb/%41//c;d?x=%zz;y&&q=a+b&q HTTP/1.1\r\nHost: api.example:99\r\nAuthorization: HMAC x\r\nX-Forwarded-For: 192.0.2.7\r\n" +
		"X-Forwarded-Proto: https\r\nForwarded: for=192.0.2.7\r\nX-Two: 1\r\nX-Two: 2\r\nIdempotency-Key: k\r\nX-Idempotency-Key: k\r\nWeir-Client: 1.2.3.4:5\r\nWeir-Scheme: https\r\n" +
		"Weir-Peer: hello\r\nConnection: close, authorization, X-Forwarded-For, x-signature, Content-Length\r\nX-Signature: s\r\nKeep-Alive: timeout=5\r\nContent-Length: 4\r\n\r\nbody"
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusTeapot || string(body) != "answer" || answer.Header.Get("Set-Cookie") != "a=b" {
		t.Errorf("%v %q", answer, body)
	}
	_ = answer.Body.Close()
	want := seen{"POST", "/v1/a%2Fb/%41//c;d?x=%zz;y&&q=a+b&q", "api.example:99", "body", http.Header{
		"Authorization": {"HMAC x"}, "X-Forwarded-For": {"192.0.2.7"}, "X-Forwarded-Proto": {"https"}, "Forwarded": {"for=192.0.2.7"}, "X-Two": {"1", "2"}, "X-Signature": {"s"},
		"Content-Length": {"4"}, "Weir-Key": {"k"}, "Weir-Peer": {"pass"}, "Weir-Client": {c.LocalAddr().String()},
	}}
	if diff := cmp.Diff(want, <-requests); diff != "" {
		t.Error(diff)
	}
	_ = c.Close()
	r.outcomes(forward.Passed)
}

// A body is passed on whatever its size, and whether or not its length is told.
func TestForwarder_PassesBodiesOn(t *testing.T) {
	t.Parallel()
	p := newProcess(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, r.ContentLength, n, err)
	})
	r := newRig(t, forward.Limits{Body: 1000})
	r.owned(1, p)
	for size, told := range map[int]bool{0: true, 1: true, 1000: true, 1001: true, 50_000: true, 2: false, 999: false, 1002: false, 60_000: false} {
		var body io.Reader = bytes.NewReader(make([]byte, size))
		length := size
		if !told {
			body = struct{ io.Reader }{body}
			if size > 1000 {
				length = -1 // it is streamed
			}
		}
		if g, want := r.send("POST", "/", body), fmt.Sprint(length, size, nil); g.Body != want {
			t.Errorf("a body of %d: %+v, want %s", size, g, want)
		}
	}
}

// Pieces of an answer arrive when they are sent.
func TestForwarder_PassesStreamsOn(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	p := newProcess(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	r := newRig(t, forward.Limits{})
	r.owned(1, p)
	q, _ := http.NewRequestWithContext(t.Context(), "GET", r.URL+"/v1/events", nil)
	answer, err := r.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(answer.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprintf("data: %d", i) {
			t.Fatalf("line %d: %q", i, lines.Text())
		}
		next <- struct{}{}
	}
	_ = answer.Body.Close()
}

// A standby that leaves ends streams of events, so that their clients come back to another
// process, and nothing else.
func TestForwarder_EndsStreams(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	p := newProcess(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-slow
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, "data: 1\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	r := newRig(t, forward.Limits{})
	r.owned(1, p)
	q, _ := http.NewRequestWithContext(t.Context(), "GET", r.URL+"/v1/events", nil)
	answer, err := r.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewReader(answer.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != "data: 1\n" {
		t.Fatalf("%q %v", line, err)
	}
	other := r.begin("POST", "/slow", "")
	polling.Until(waitLimit, time.Millisecond, func() bool { return p.requests.Load() == 2 })
	r.forwarder.EndStreams()
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Errorf("the stream ends with %v", err)
	}
	close(slow)
	if g := <-other; g.Status != http.StatusOK {
		t.Errorf("%+v", g)
	}
}

// A request that certainly was not handled waits for the next owner, whatever it is.
func TestForwarder_HoldsWhatWasNotHandled(t *testing.T) {
	t.Parallel()
	gone := answers(t, "gone")
	gone.Server.Close()
	for name, first := range map[string]*process{"no owner": nil, "no connection": gone, "not the owner": notOwner(t)} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, forward.Limits{})
				r.owned(1, first)
				answer := r.begin(method, "/v1/contacts", "body")
				r.held(1)
				next := answers(t, "next")
				r.owned(2, next)
				if g := <-answer; g.Status != 200 || g.Body != "next" || next.requests.Load() != 1 {
					t.Errorf("%+v, asked %d times", g, next.requests.Load())
				}
				r.held(0)
				if first != nil && r.refused.Load() == 0 {
					t.Error("nobody was told to look again")
				}
			})
		}
	}
}

// If the connection breaks after the request was sent, only what may be done twice is sent
// again.
func TestForwarder_RepeatsOnlyWhatMayBeDoneTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		again        bool
	}{
		{"GET", "/v1/contacts", true}, {"POST", "/callbacks/a/b/status", true}, {"GET", "/callbacks/a/b/status", true},
		{"POST", "/v1/contacts", false}, {"PUT", "/v1/channels/a", false}, {"DELETE", "/v1/channels/a", false}, {"PATCH", "/routing/jobs/a", false},
	} {
		t.Run(c.method+c.path, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, forward.Limits{})
			first := breaks(t)
			r.owned(1, first)
			answer := r.begin(c.method, c.path, "body")
			if !c.again {
				if g := <-answer; g.Status != 503 || !strings.Contains(g.Body, "not known whether this was done") || first.requests.Load() != 1 {
					t.Errorf("%+v after %d tries", g, first.requests.Load())
				}
				r.outcomes(forward.NotKnown)
				return
			}
			r.held(1)
			r.owned(2, answers(t, "next"))
			if g := <-answer; g.Body != "next" {
				t.Errorf("%+v", g)
			}
		})
	}
}

// What an owner refuses because it has just lost the database goes to the next one, if it may
// be done twice.
func TestForwarder_TurnsToTheNextOwner(t *testing.T) {
	t.Parallel()
	for path, again := range map[string]bool{"/callbacks/a/b": true, "/v1/contacts": false} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, forward.Limits{})
			r.owned(1, newProcess(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(forward.PeerHeader, forward.PeerLost)
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			answer := r.begin("POST", path, "body")
			if again {
				r.held(1)
				r.owned(2, answers(t, "next"))
			}
			if g := <-answer; (g.Body == "next") != again || (g.Status == 503) == again {
				t.Errorf("%+v", g)
			}
		})
	}
}

// A large body is sent once: without an owner it is refused at once, and if the connection
// breaks it is not known what became of it.
func TestForwarder_SendsLargeBodiesOnce(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 2000)
	r := newRig(t, forward.Limits{Body: 1000})
	if g := r.do("POST", "/callbacks/a/b", large); g.Status != 503 || g.After == "" || !strings.Contains(g.Body, "nothing was done") {
		t.Errorf("without an owner: %+v", g)
	}
	r.owned(1, breaks(t))
	if g := r.do("POST", "/callbacks/a/b", large); g.Status != 503 || !strings.Contains(g.Body, "not known") {
		t.Errorf("broken: %+v", g)
	}
	r.outcomes(forward.Full, forward.NotKnown)
}

// What is held is bounded in time, number and size, and a client that has gone is forgotten.
func TestForwarder_BoundsWhatItHolds(t *testing.T) {
	t.Parallel()
	t.Run("time", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, forward.Limits{Hold: 300 * time.Millisecond})
		begin := time.Now()
		if g := r.do("POST", "/", "body"); g.Status != 503 || g.After != "2" || !strings.Contains(g.Body, "nothing was done") || time.Since(begin) < 300*time.Millisecond {
			t.Errorf("%+v", g)
		}
		r.owned(1, notOwner(t))
		if g := r.do("POST", "/", "body"); g.Status != 503 || time.Since(begin) < 600*time.Millisecond {
			t.Errorf("%+v", g)
		}
		r.outcomes(forward.NoOwner, forward.NoOwner)
		r.held(0)
	})
	t.Run("number", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, forward.Limits{Requests: 2})
		one, two := r.begin("GET", "/", ""), r.begin("GET", "/", "")
		r.held(2)
		if g := r.do("GET", "/", ""); g.Status != 503 || !strings.Contains(g.Body, "too many") {
			t.Errorf("%+v", g)
		}
		r.owned(1, answers(t, "next"))
		if (<-one).Body != "next" || (<-two).Body != "next" {
			t.Error("those that were held got no answer")
		}
	})
	t.Run("size", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, forward.Limits{Bytes: 1000, Share: 1000, Body: 800})
		one := r.begin("POST", "/", strings.Repeat("x", 800))
		r.held(1)
		if g := r.do("POST", "/", strings.Repeat("x", 300)); g.Status != 503 || g.After == "" {
			t.Errorf("%+v", g)
		}
		two := r.begin("POST", "/", strings.Repeat("x", 200))
		r.held(2)
		r.owned(1, answers(t, "next"))
		if (<-one).Body != "next" || (<-two).Body != "next" {
			t.Error("those that were held got no answer")
		}
		if g := r.do("POST", "/", strings.Repeat("x", 800)); g.Body != "next" {
			t.Errorf("the space was not returned: %+v", g)
		}
	})
	t.Run("client", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, forward.Limits{})
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		r.held(1)
		_ = c.Close()
		r.held(0)
		r.outcomes(forward.ClientGone)
	})
}

// What has arrived of bodies takes room, whatever their length is said to be, and no address takes
// all of it: neither slow clients nor large ones keep the others out.
func TestForwarder_BodiesTakeTheRoomOfWhatHasArrived(t *testing.T) {
	t.Parallel()
	for name, length := range map[string]string{"told": "Content-Length: 100", "not told": "Transfer-Encoding: chunked"} {
		t.Run("slow, length "+name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, forward.Limits{Bytes: 400, Share: 400, Body: 100})
			r.owned(1, answers(t, "owner"))
			for range 64 {
				c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\n"+length+"\r\n\r\n1\r\n"); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				if g := r.do("POST", "/", strings.Repeat("x", 100)); g.Body != "owner" {
					t.Fatalf("%+v", g)
				}
			}
		})
	}
	t.Run("small, length not told", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, forward.Limits{Bytes: 1000, Share: 1000, Body: 900})
		var all []<-chan got
		for range 100 {
			done := make(chan got, 1)
			go func() { done <- r.send("POST", "/", struct{ io.Reader }{strings.NewReader("0123456789")}) }()
			all = append(all, done)
		}
		r.held(100)
		if g := r.do("POST", "/", "x"); g.Status != 503 || !strings.Contains(g.Body, "nothing was done") {
			t.Errorf("one more: %+v", g)
		}
		r.owned(1, answers(t, "owner"))
		for _, one := range all {
			if g := <-one; g.Body != "owner" {
				t.Fatalf("%+v", g)
			}
		}
	})
	t.Run("one address", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, forward.Limits{Bytes: 1000, Share: 300, Body: 100})
		from := func(address string) <-chan int {
			status := make(chan int, 1)
			go func() {
				w := httptest.NewRecorder()
				q := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(strings.Repeat("x", 100)))
				q.RemoteAddr = address
				r.forwarder.ServeHTTP(w, q)
				status <- w.Code
			}()
			return status
		}
		var waiting []<-chan int
		for i, address := range []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::3]:1"} {
			waiting = append(waiting, from(address))
			r.held(int64(i + 1))
		}
		for _, full := range []string{"192.0.2.1:9", "[2001:db8::4]:1"} { // of the same network
			if status := <-from(full); status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d", full, status)
			}
		}
		waiting = append(waiting, from("192.0.2.2:1"))
		r.held(7)
		r.owned(1, answers(t, "owner"))
		waiting = append(waiting, from("192.0.2.2:1"))
		for _, one := range waiting {
			if status := <-one; status != http.StatusOK {
				t.Errorf("%d", status)
			}
		}
		if status := <-from("192.0.2.1:9"); status != http.StatusOK {
			t.Errorf("its share was not given back: %d", status)
		}
	})
}

// A former owner that does not answer is given up a moment after another has the database.
func TestForwarder_LeavesAFormerOwner(t *testing.T) {
	t.Parallel()
	stands := make(chan struct{})
	former := newProcess(t, func(http.ResponseWriter, *http.Request) { <-stands })
	t.Cleanup(func() { close(stands) })
	r := newRig(t, forward.Limits{})
	r.owned(1, former)
	read, write := r.begin("GET", "/", ""), r.begin("POST", "/", "body")
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return former.requests.Load() == 2 }) {
		t.Fatal("it was not asked")
	}
	r.owned(2, answers(t, "next"))
	if g := r.do("GET", "/", ""); g.Body != "next" {
		t.Errorf("%+v", g)
	}
	if g := <-read; g.Body != "next" {
		t.Errorf("a read: %+v", g)
	}
	if g := <-write; g.Status != 503 || !strings.Contains(g.Body, "not known") {
		t.Errorf("a write: %+v", g)
	}
}

// owner is a process as the owner of the database.
func (p *process) owner(epoch int64) forward.Owner {
	return forward.Owner{Epoch: epoch, Address: p.Listener.Addr().String()}
}

// Whoever has found the former owner, and is late, does not bring it back.
func TestPeers_AFormerOwnerIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	pools := &forward.Peers{TLS: func(string) *tls.Config { return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13} }}
	t.Cleanup(pools.Close)
	processes := []*process{answers(t, "former"), answers(t, "next"), answers(t, "last")}
	ask := func(epoch int) (string, error) {
		p := processes[epoch-1]
		q, err := http.NewRequestWithContext(t.Context(), "GET", p.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := pools.To(p.owner(int64(epoch))).RoundTrip(q)
		if err != nil {
			return "", err
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	for _, x := range []struct {
		epoch int
		want  string // empty: it is not asked
	}{{2, "next"}, {1, ""}, {2, "next"}, {3, "last"}, {2, ""}, {1, ""}, {3, "last"}} {
		if got, err := ask(x.epoch); got != x.want || (err == nil) != (x.want != "") {
			t.Errorf("owner %d: %q (%v), want %q", x.epoch, got, err, x.want)
		}
	}
	for i, want := range []int32{0, 2, 2} {
		if n := processes[i].requests.Load(); n != want {
			t.Errorf("owner %d was asked %d times, want %d", i+1, n, want)
		}
	}
}

// A process that does not accept the connection gets no request, not even one that may be
// handled twice.
func TestForwarder_SendsNothingToAProcessThatRefusesTheConnection(t *testing.T) {
	t.Parallel()
	hijacked := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}
	for name, ping := range map[string]http.HandlerFunc{
		"it says so": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMisdirectedRequest) },
		"it closes":  hijacked(""),
		"it babbles": hijacked("220 mail.example ESMTP\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			refusing := &process{Server: httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get(forward.PeerHeader) != forward.PeerPing {
					requests.Add(1)
				}
				ping(w, r)
			}))}
			t.Cleanup(refusing.Server.Close)
			r := newRig(t, forward.Limits{})
			r.owned(1, refusing)
			read, write := r.begin("GET", "/", ""), r.begin("POST", "/", "body")
			r.held(2)
			r.owned(2, answers(t, "next"))
			for what, answer := range map[string]<-chan got{"a read": read, "a write": write} {
				if g := <-answer; g.Body != "next" {
					t.Errorf("%s: %+v", what, g)
				}
			}
			if n := requests.Load(); n != 0 {
				t.Errorf("%d requests were sent to it", n)
			}
		})
	}
}

// Connections are kept for the requests that follow. Once all are given up, what is in flight ends, and nothing is sent
// any more.
func TestPeers_ConnectionsAreKeptUntilTheyAreGivenUp(t *testing.T) {
	t.Parallel()
	const atOnce = 20
	var connections, standing atomic.Int32
	free, stand := make(chan struct{}), make(chan struct{})
	owner := &process{Server: httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get(forward.PeerHeader) == forward.PeerPing:
			connections.Add(1)
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/stands":
			standing.Add(1)
			<-stand
		default:
			<-free
		}
	}))}
	t.Cleanup(owner.Server.Close)
	release := sync.OnceFunc(func() { close(free) })
	t.Cleanup(func() {
		release()
		close(stand)
	})
	pools := &forward.Peers{TLS: func(string) *tls.Config { return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13} }}
	t.Cleanup(pools.Close)
	ask := func(path string) error {
		q, err := http.NewRequestWithContext(t.Context(), "GET", owner.URL+path, nil)
		if err != nil {
			return err
		}
		answer, err := pools.To(owner.owner(1)).RoundTrip(q)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return errors.Join(err, answer.Body.Close())
	}
	all := func(path string) <-chan error {
		errs := make(chan error, atOnce)
		for range atOnce {
			go func() { errs <- ask(path) }()
		}
		return errs
	}
	errs := all("/")
	// On a slow machine one that is not ready in time is made again.
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return connections.Load() >= atOnce }) {
		t.Fatalf("%d connections for %d requests at once", connections.Load(), atOnce)
	}
	release()
	for range atOnce {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	errs = all("/stands")
	if !polling.Until(waitLimit, time.Millisecond, func() bool { return standing.Load() == atOnce }) {
		t.Fatalf("%d of %d requests are in flight", standing.Load(), atOnce)
	}
	if n := connections.Load(); n > atOnce*3/2 { // one that is given back at this moment may be missed
		t.Errorf("%d connections for %d requests at once, and as many again", n, atOnce)
	}
	before := connections.Load()
	pools.Close()
	for range atOnce {
		if err := <-errs; err == nil {
			t.Error("a request in flight was answered")
		}
	}
	if err := ask("/"); err == nil || connections.Load() > before {
		t.Errorf("a request was sent later: %v", err)
	}
}
