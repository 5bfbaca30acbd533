package dashboard_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/web/dashboard"
	"weir/web/httpjson"
)

// script is an API with scripted responses that counts requests.
type script struct {
	channels atomic.Pointer[api.ChannelList]
	status   atomic.Int64 // of whoami; 0: 200
	asked    atomic.Int64 // requests for channels
	take     func()       // called on requests for channels; nil: nothing
	draining atomic.Bool
}

// ServeHTTP implements http.Handler.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch r.URL.Path {
	case "/v1/whoami":
		if status := s.status.Load(); status != 0 {
			w.WriteHeader(int(status))
			return
		}
		answer(api.WhoView{Open: true, Scopes: httpjson.Texts(operators.Scopes())})
	case "/v1/channels":
		s.asked.Add(1)
		if s.take != nil {
			s.take()
		}
		answer(s.channels.Load())
	case "/v1/surveys":
		answer(api.SurveyList{})
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *script) set(queued int) {
	s.channels.Store(&api.ChannelList{Channels: []api.ChannelView{{Channel: "a", Capacity: 5, Queued: queued, State: string(weir.Up), Breaker: api.BreakerView{State: "closed"}}}})
}

// listener is a browser that reads everything.
type listener struct {
	http.ResponseWriter
	mu   sync.Mutex
	text strings.Builder
}

// Write implements http.ResponseWriter.
func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Flush implements http.Flusher.
func (l *listener) Flush() {}

// heard returns the text received since the last call.
func (l *listener) heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}

// streaming returns a dashboard on a scripted API, in a synctest bubble.
func streaming(t *testing.T) (s *script, open func(context.Context) (*listener, <-chan struct{})) {
	t.Helper()
	s = &script{}
	s.set(1)
	d, err := dashboard.New(dashboard.Options{API: s, Logger: slog.New(slog.DiscardHandler), Ending: s.draining.Load})
	if err != nil {
		t.Fatal(err)
	}
	stream := d.Routes()["GET /live/{$}"]
	return s, func(ctx context.Context) (*listener, <-chan struct{}) {
		l, done := &listener{ResponseWriter: httptest.NewRecorder()}, make(chan struct{})
		req := httptest.NewRequestWithContext(ctx, "GET", "/live/", nil)
		req.Host = "localhost"
		go func() { defer close(done); stream.ServeHTTP(l, req) }()
		synctest.Wait()
		return l, done
	}
}

func parts(text string) int { return strings.Count(text, "event: part\n") }

func TestStream_OnlyChangedRegionsAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, open := streaming(t)
		ctx, leave := context.WithCancel(t.Context())
		l, done := open(ctx)
		if text := l.heard(); parts(text) != 6 || !strings.Contains(text, "data: channels\n") {
			t.Errorf("at first: %s", text)
		}
		time.Sleep(10 * time.Second)
		if text := l.heard(); text != "" {
			t.Errorf("nothing changed, and yet: %s", text)
		}
		s.set(22)
		time.Sleep(5 * time.Second)
		text := l.heard()
		if parts(text) != 2 || !strings.Contains(text, "<dd>22</dd>") || strings.Contains(text, "data: surveys\n") {
			t.Errorf("after a change: %s", text)
		}
		time.Sleep(20 * time.Second)
		if text := l.heard(); text != ":\n\n" {
			t.Errorf("after 20 silent seconds: %q, want a sign of life", text)
		}
		leave()
		<-done
	})
}

func TestStream_NewStreamNeverSendsOlderContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, open := streaming(t)
		ctx, leave := context.WithCancel(t.Context())
		_, first := open(ctx)
		time.Sleep(100 * time.Millisecond)
		s.set(22) // by an action, whose next page already shows it
		l, second := open(ctx)
		if text := l.heard(); !strings.Contains(text, "<dd>22</dd>") {
			t.Errorf("what a browser got first is older than its page: %s", text)
		}
		leave()
		<-first
		<-second
	})
}

func TestStream_BrowsersShareRendering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, open := streaming(t)
		ctx, leave := context.WithCancel(t.Context())
		var all []<-chan struct{}
		for range 10 {
			_, done := open(ctx)
			all = append(all, done)
		}
		time.Sleep(20*time.Second + time.Millisecond)
		if n := s.asked.Load(); n > 12 {
			t.Errorf("ten browsers had the channels read %d times in 20 seconds", n)
		}
		leave()
		for _, done := range all {
			<-done
		}
	})
}

// An expensive page that is left open must not keep the store busy.
func TestStream_ExpensivePagesAreRenderedRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, open := streaming(t)
		s.take = func() { time.Sleep(time.Second) }
		l, done := open(t.Context())
		time.Sleep(time.Minute)
		if n := s.asked.Load(); n < 3 || n > 6 {
			t.Errorf("the channels, which take a second, were read %d times in a minute", n)
		}
		s.status.Store(http.StatusUnauthorized)
		time.Sleep(4 * time.Second)
		if text := l.heard(); !strings.Contains(text, "event: end") {
			t.Errorf("without a session: %q", text)
		}
		<-done
	})
}

func TestStream_AStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, open := streaming(t)
		l, done := open(t.Context())
		l.heard()
		s.status.Store(http.StatusServiceUnavailable) // no reason to end a stream
		time.Sleep(3 * time.Second)
		if text := l.heard(); !strings.Contains(text, "event: trouble\ndata: Unavailable") {
			t.Errorf("while the API is down: %q", text)
		}
		s.status.Store(http.StatusUnauthorized)
		time.Sleep(3 * time.Second)
		if text := l.heard(); !strings.Contains(text, "event: end") {
			t.Errorf("without a session: %q", text)
		}
		<-done
	})
}

func TestStream_EndsWithTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, open := streaming(t)
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		_, done := open(ctx)
		s.draining.Store(true)
		begin := time.Now()
		<-done
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %v", took)
		}
		l, done := open(t.Context())
		<-done
		if text := l.heard(); !strings.Contains(text, "this process is shutting down") {
			t.Errorf("a new one: %s", text)
		}
	})
}

func TestStream_NumberIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, open := streaming(t)
		ctx, leave := context.WithCancel(t.Context())
		var all []<-chan struct{}
		for range 256 {
			_, done := open(ctx)
			all = append(all, done)
		}
		l, done := open(t.Context())
		<-done
		if text := l.heard(); !strings.Contains(text, "too many open pages; close some and try again") {
			t.Errorf("one more: %s", text)
		}
		leave()
		for _, done := range all {
			<-done
		}
	})
}
