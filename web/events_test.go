package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/channels/simulation/memnet"
	"weir/events"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/web"
	"weir/web/api"
)

// eventRig is an API on an event log.
func eventRig(t *testing.T, change ...func(*web.Options)) (*rig, *persistence.Store) {
	t.Helper()
	s := storetest.SQLite(t)
	return newRig(t, append([]func(*web.Options){func(o *web.Options) { o.Events = s }}, change...)...), s
}

func emit(t *testing.T, s *persistence.Store, from, to int) {
	t.Helper()
	var list []events.Event
	for n := from; n < to; n++ {
		list = append(list, events.Event{
			Type: []string{"a", "b", "c"}[n%3], Source: []string{"router", "surveys"}[n%2], Subject: fmt.Sprintf("job/%d", n),
			At: start, Data: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)),
		})
	}
	if err := s.Emit(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
}

func eventsRequest(t *testing.T, ctx context.Context, query string, header ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, "GET", "/v1/events"+query, nil)
	r.Header.Set("Authorization", "Bearer "+apiCanary)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestEvents_AreReadInPages(t *testing.T) {
	t.Parallel()
	r, s := eventRig(t)
	emit(t, s, 0, 30)
	page := func(query string) (ids []string, next string) {
		t.Helper()
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, eventsRequest(t, t.Context(), query))
		var list api.EventList
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		for _, e := range list.Events {
			ids = append(ids, e.ID)
		}
		return ids, list.NextCursor
	}
	for query, want := range map[string]string{
		"?limit=3":                          "1 2 3 next 3",
		"?limit=3&cursor=3":                 "4 5 6 next 6",
		"?limit=30":                         "", // all; this is the last page
		"?after=28":                         "29 30",
		"?after=30":                         "none",
		"?type=a&after=24":                  "25 28",
		"?type=a,b&after=24":                "25 26 28 29",
		"?source=surveys&after=26":          "28 30",
		"?subject=job/2&type=c&limit=2":     "3 21 next 21",
		"?subject=job/2&type=c&source=none": "none",
	} {
		ids, next := page(query)
		got := strings.Join(ids, " ")
		if got == "" {
			got = "none"
		}
		if next != "" {
			got += " next " + next
		}
		if want == "" {
			want = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"?cursor=x", "?after=-1", "?after=x", "?limit=0", "?kind=a"} {
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, eventsRequest(t, t.Context(), query))
		if w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, httptest.NewRequest("GET", "/v1/events", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", w.Code)
	}
}

// followed is the API on a server with short timeouts, in virtual time.
type followed struct {
	t      *testing.T
	client *http.Client
}

func newFollowed(t *testing.T, h http.Handler) *followed {
	t.Helper()
	server := newServer(h)
	server.ReadTimeout, server.WriteTimeout = 10*time.Second, 10*time.Second
	network := &memnet.Network{}
	l := network.Listen("weir.test")
	go func() { _ = server.Serve(l) }()
	f := &followed{t: t, client: &http.Client{Transport: network.Transport()}}
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		_ = server.Close()
	})
	return f
}

func (f *followed) open(ctx context.Context, query string, header ...string) (*http.Response, <-chan string) {
	f.t.Helper()
	r := eventsRequest(f.t, ctx, query, append([]string{"Accept", "text/event-stream"}, header...)...)
	r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", "weir.test"
	response, err := f.client.Do(r)
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

// ids reads a stream until n events have arrived.
func ids(t *testing.T, lines <-chan string, n int) []string {
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
			if err := json.Unmarshal([]byte(rest), &e); err != nil || fmt.Sprint(e.ID) != id || !e.At.Equal(start) {
				t.Fatalf("id %s, event %s (%v)", id, rest, err)
			}
			got = append(got, id)
		}
	}
	return got
}

func TestEvents_StreamBeginsWhereTheClientLeftOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := eventRig(t)
		emit(t, s, 0, 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		f := newFollowed(t, r.handler)
		response, lines := f.open(ctx, "?after=2", "Last-Event-ID", "7") //nolint:bodyclose // all of them end with ctx
		if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
			t.Fatalf("%d %s", response.StatusCode, got)
		}
		if diff := cmp.Diff([]string{"8", "9", "10"}, ids(t, lines, 3)); diff != "" {
			t.Errorf("replay: %s", diff)
		}
		time.Sleep(10*time.Minute + time.Second) // longer than the server's timeouts
		emit(t, s, 10, 12)
		if diff := cmp.Diff([]string{"11", "12"}, ids(t, lines, 2)); diff != "" {
			t.Errorf("live: %s", diff)
		}
		_, filtered := f.open(ctx, "?after=0&type=a&source=surveys") //nolint:bodyclose // it ends with ctx
		if diff := cmp.Diff([]string{"4", "10"}, ids(t, filtered, 2)); diff != "" {
			t.Errorf("filtered: %s", diff)
		}
		_, fresh := f.open(ctx, "") //nolint:bodyclose // it ends with ctx
		<-fresh                     // the retry field: the stream has begun
		emit(t, s, 12, 13)
		if diff := cmp.Diff([]string{"13"}, ids(t, fresh, 1)); diff != "" {
			t.Errorf("from now on: %s", diff)
		}
		wrong, _ := f.open(ctx, "", "Last-Event-ID", "x") //nolint:bodyclose // it ends with ctx
		if wrong.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("a wrong Last-Event-ID: %d", wrong.StatusCode)
		}
	})
}

// TestEvents_AStreamBeatsAndEnds runs in virtual time.
func TestEvents_AStreamBeatsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var draining atomic.Bool
		r, s := eventRig(t, func(o *web.Options) { o.Draining, o.Ending = draining.Load, draining.Load })
		emit(t, s, 0, 1)
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			r.handler.ServeHTTP(w, eventsRequest(t, t.Context(), "?type=b", "Accept", "application/json, text/event-stream;q=0.9"))
			close(done)
		}()
		time.Sleep(16 * time.Second)
		emit(t, s, 3, 5)
		time.Sleep(25 * time.Second)
		draining.Store(true)
		<-done
		want := "retry: 2000\n\n:\n\nid: 3\ndata: {\"id\":\"3\",\"type\":\"b\",\"source\":\"router\",\"subject\":\"job/4\",\"time\":\"" +
			start.UTC().Format(time.RFC3339Nano) + "\",\"data\":{\"n\":4}}\n\n:\n\n"
		if diff := cmp.Diff(want, w.Body.String()); diff != "" {
			t.Error(diff)
		}
		w = httptest.NewRecorder()
		r.handler.ServeHTTP(w, eventsRequest(t, t.Context(), "", "Accept", "text/event-stream"))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("while draining: %d", w.Code)
		}
	})
}

// TestEvents_AFilteredStreamStillGetsOn: its client resumes from the stream's
// position, not from the last event that passed the filter.
func TestEvents_AFilteredStreamStillGetsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := eventRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			r.handler.ServeHTTP(w, eventsRequest(t, ctx, "?type=none", "Accept", "text/event-stream"))
			close(done)
		}()
		time.Sleep(time.Second)
		emit(t, s, 0, 600)
		time.Sleep(20 * time.Second)
		cancel()
		<-done
		if want := "retry: 2000\n\n:\nid: 600\n\n"; w.Body.String() != want {
			t.Errorf("%q", w.Body.String())
		}
	})
}

// TestEvents_AClientThatTakesNothingIsCutOff also checks that such a client delays no
// other.
func TestEvents_AClientThatTakesNothingIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := eventRig(t)
		emit(t, s, 0, 1000)
		f := newFollowed(t, r.handler)
		q := eventsRequest(t, t.Context(), "?after=0", "Accept", "text/event-stream")
		q.RequestURI, q.URL.Scheme, q.URL.Host = "", "http", "weir.test"
		response, err := f.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		emit(t, s, 1000, 1001)
		time.Sleep(31 * time.Second)
		n := 0
		for in := bufio.NewScanner(response.Body); in.Scan(); {
			n++
		}
		if n >= 1000 {
			t.Errorf("it still got %d lines", n)
		}
	})
}

func TestEvents_StreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := eventRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		for range 256 {
			go func() {
				r.handler.ServeHTTP(httptest.NewRecorder(), eventsRequest(t, ctx, "", "Accept", "text/event-stream"))
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, eventsRequest(t, ctx, "", "Accept", "text/event-stream"))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one more: %d", w.Code)
		}
		cancel()
		for range 256 {
			<-done
		}
	})
}
