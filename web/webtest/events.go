package webtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/channels/simulation/memnet"
	"weir/events"
	"weir/persistence"
	"weir/web"
)

// EventRig is an API on an event log.
func EventRig(t *testing.T, change ...func(*web.Options)) (*Rig, *persistence.Store) {
	t.Helper()
	r := New(t, append([]func(*web.Options){func(o *web.Options) { o.Events = o.Store.(*Store).Store }}, change...)...)
	return r, r.Store.Store
}

func EventsRequest(t *testing.T, ctx context.Context, query string, header ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, "GET", "/v1/events"+query, nil)
	r.Header.Set("Authorization", "Bearer "+APICanary)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// followed is the API on a server with short timeouts, in virtual time.
type followed struct {
	t      *testing.T
	Client *http.Client
}

func NewFollowed(t *testing.T, h http.Handler) *followed {
	t.Helper()
	server := NewServer(h)
	server.ReadTimeout, server.WriteTimeout = 10*time.Second, 10*time.Second
	network := &memnet.Network{}
	l := network.Listen("weir.test")
	go func() { _ = server.Serve(l) }()
	f := &followed{t: t, Client: &http.Client{Transport: network.Transport()}}
	t.Cleanup(func() {
		f.Client.CloseIdleConnections()
		_ = server.Close()
	})
	return f
}

func (f *followed) Open(ctx context.Context, query string, header ...string) (*http.Response, <-chan string) {
	f.t.Helper()
	r := EventsRequest(f.t, ctx, query, append([]string{"Accept", "text/event-stream"}, header...)...)
	r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", "weir.test"
	response, err := f.Client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = response.Body.Close() })
	lines := make(chan string, 1000)
	go func() { // a client that reads nothing is disconnected
		defer close(lines)
		for in := bufio.NewScanner(response.Body); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return response, lines
}

// Ids reads a stream until n events have arrived.
func Ids(t *testing.T, lines <-chan string, n int) []string {
	t.Helper()
	var got []string
	id := ""
	for len(got) < n {
		line, ok := <-lines
		if !ok {
			return got
		}
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = rest
		}
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			var e events.Event
			if err := json.Unmarshal([]byte(rest), &e); err != nil || fmt.Sprint(e.ID) != id || !e.At.Equal(Start()) {
				t.Fatalf("id %s, event %s (%v)", id, rest, err)
			}
			got = append(got, id)
		}
	}
	return got
}
