package dashboard_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// watched is a page's stream as a browser receives it.
type watched struct {
	t      testing.TB
	events chan liveEvent
	end    context.CancelFunc
	done   chan struct{}
}

type liveEvent struct{ name, data string }

// watch opens a stream on a connection of its own.
func (b *browser) watch(server *httptest.Server, path string) *watched {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range b.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := server.Client().Do(req) //nolint:bodyclose // below, once the stream ends
	if err != nil {
		cancel()
		b.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		cancel()
		b.t.Fatalf("%s: %d %s", path, res.StatusCode, res.Header.Get("Content-Type"))
	}
	w := &watched{b.t, make(chan liveEvent, 100), cancel, make(chan struct{})}
	go func() {
		defer close(w.done)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		var e liveEvent
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "event":
				e = liveEvent{name: value}
			case name == "data":
				e.data += value + "\n"
			case lines.Text() == "" && e.name != "":
				w.events <- e
				e = liveEvent{}
			}
		}
	}()
	return w
}

// next waits for an event; ok is false when the stream has ended.
func (w *watched) next() (liveEvent, bool) {
	w.t.Helper()
	select {
	case e := <-w.events:
		return e, true
	case <-w.done:
		select {
		case e := <-w.events:
			return e, true
		default:
			return liveEvent{}, false
		}
	case <-time.After(30 * time.Second):
		w.t.Fatal("no update within 30 seconds")
	}
	return liveEvent{}, false
}

// until waits for an event of a region that contains text.
func (w *watched) until(region, text string) {
	w.t.Helper()
	for {
		e, ok := w.next()
		if !ok {
			w.t.Fatalf("the stream ended before %q came", text)
		}
		if e.name == "part" && strings.HasPrefix(e.data, region+"\n") && strings.Contains(e.data, text) {
			return
		}
	}
}

func (r *rig) serve() *httptest.Server {
	server := httptest.NewServer(r.handler)
	r.t.Cleanup(server.Close)
	return server
}

func TestLive_StreamSendsChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	r.channel("a")
	w := r.login("channels:admin").watch(r.serve(), "/live/")
	w.until("summary", "Queued")
	w.until("channels", "0 / 7")
	r.api("PATCH", "/v1/channels/a", `{"capacity":9}`, nil)
	w.until("channels", "0 / 9")
	w.end()
	<-w.done
}

func TestLive_StreamEndsWithItsSubject(t *testing.T) {
	t.Parallel()
	r := newRig(t, "channels:admin")
	r.channel("a")
	w := r.login("channels:admin").watch(r.serve(), "/live/channels/a")
	w.until("state", "paused")
	r.api("DELETE", "/v1/channels/a?cancel=true", "", nil)
	for {
		e, ok := w.next()
		if !ok {
			t.Fatal("the stream ended without a word")
		}
		if e.name == "end" {
			break
		}
	}
	<-w.done
}

func TestLive_StreamsNeedASession(t *testing.T) {
	t.Parallel()
	r := newRig(t, "router", "contacts:read")
	r.channel("a")
	r.visitor().get("/live/").want(303)
	r.login("router").get("/live/channels/a").want(403)
	r.login("contacts:read").get("/live/channels/none").want(200).has("event: end")
}
