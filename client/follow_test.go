package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/client"
)

// streams serves each request for events with the next text, and records the ids
// after which the requests start.
type streams struct {
	mu     sync.Mutex
	texts  []string
	behind []string
}

func (s *streams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind = append(s.behind, r.Header.Get("Last-Event-ID")+"?"+r.URL.RawQuery)
	if r.Header.Get("Accept") != "text/event-stream" || len(s.texts) == 0 {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"code":"forbidden","detail":"that was all"}`)
		return
	}
	text := s.texts[0]
	s.texts = s.texts[1:]
	if text == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprint(w, `{"code":"unavailable","detail":"not now"}`)
		return
	}
	_, _ = fmt.Fprint(w, text)
}

func followed(t *testing.T, s *streams, f client.Follow) (ids []string, lost int, err error) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL, RetryDelay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	event := f.OnEvent
	f.OnEvent = func(e client.EventView) error {
		ids = append(ids, e.ID+" "+e.Type)
		if event != nil {
			return event(e)
		}
		return nil
	}
	f.OnReconnect = func(error) { lost++ }
	err = c.Follow(t.Context(), f)
	return ids, lost, err
}

// An event that was cut off is requested again, after the last complete one; a
// heartbeat advances the position.
func TestFollow_Reconnects(t *testing.T) {
	t.Parallel()
	s := &streams{texts: []string{
		"retry: 1\n\nid: 7\ndata: {\"id\":\"7\",\"type\":\"a\"}\n\n:\n\nid: 8\ndata: {\"id\":\"8\",",
		"", "id: 8\ndata: {\"id\":\"8\",\"type\":\"b\"}\n\n:\nid: 11\n\n", ": nothing\n\n",
	}}
	ids, lost, err := followed(t, s, client.Follow{After: "6", Params: client.ListEventsParams{Type: "a,b", Subject: "x"}})
	if diff := cmp.Diff([]string{"7 a", "8 b"}, ids); diff != "" || client.StatusOf(err) != http.StatusForbidden {
		t.Errorf("%s%v", diff, err)
	}
	const q = "?subject=x&type=a%2Cb"
	if diff := cmp.Diff([]string{"6" + q, "7" + q, "7" + q, "11" + q, "11" + q}, s.behind); diff != "" || lost != 4 {
		t.Errorf("%d lost\n%s", lost, diff)
	}
}

func TestFollow_EndsWithItsCallbackOrContext(t *testing.T) {
	t.Parallel()
	const one = "id: 7\ndata: {\"id\":\"7\"}\n\n"
	enough := errors.New("enough")
	if _, _, err := followed(t, &streams{texts: []string{one}}, client.Follow{OnEvent: func(client.EventView) error { return enough }}); !errors.Is(err, enough) {
		t.Errorf("the callback's error: %v", err)
	}
	if _, lost, err := followed(t, &streams{texts: []string{"", "", "", "", ""}}, client.Follow{}); client.StatusOf(err) != http.StatusServiceUnavailable || lost != 0 {
		t.Errorf("never connected: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(&streams{texts: []string{one}})
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Follow(ctx, client.Follow{OnEvent: func(client.EventView) error { cancel(); return nil }}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context: %v", err)
	}
}
