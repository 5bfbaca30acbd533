package api_test

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

	"weir/api"
	"weir/events"
	"weir/persistence"
	"weir/web"
	"weir/web/webtest"
)

func emit(t *testing.T, s *persistence.Store, from, to int) {
	t.Helper()
	var list []events.Event
	for n := from; n < to; n++ {
		list = append(list, events.Event{
			Type: []string{"a", "b", "c"}[n%3], Source: []string{"router", "surveys"}[n%2], Subject: fmt.Sprintf("job/%d", n),
			At: webtest.Start(), Data: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n)),
		})
	}
	if err := s.Emit(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
}

func TestEvents_AreReadInPages(t *testing.T) {
	t.Parallel()
	r, s := webtest.EventRig(t)
	emit(t, s, 0, 30)
	page := func(query string) (ids []string, next string) {
		t.Helper()
		w := httptest.NewRecorder()
		r.Handler.ServeHTTP(w, webtest.EventsRequest(t, t.Context(), query))
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
		r.Handler.ServeHTTP(w, webtest.EventsRequest(t, t.Context(), query))
		if w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	r.Handler.ServeHTTP(w, httptest.NewRequest("GET", "/v1/events", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", w.Code)
	}
}

func TestEvents_StreamBeginsWhereTheClientLeftOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := webtest.EventRig(t)
		emit(t, s, 0, 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		f := webtest.NewFollowed(t, r.Handler)
		response, lines := f.Open(ctx, "?after=2", "Last-Event-ID", "7") //nolint:bodyclose // all of them end with ctx
		if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
			t.Fatalf("%d %s", response.StatusCode, got)
		}
		if diff := cmp.Diff([]string{"8", "9", "10"}, webtest.Ids(t, lines, 3)); diff != "" {
			t.Errorf("replay: %s", diff)
		}
		time.Sleep(10*time.Minute + time.Second) // longer than the server's timeouts
		emit(t, s, 10, 12)
		if diff := cmp.Diff([]string{"11", "12"}, webtest.Ids(t, lines, 2)); diff != "" {
			t.Errorf("live: %s", diff)
		}
		_, filtered := f.Open(ctx, "?after=0&type=a&source=surveys") //nolint:bodyclose // it ends with ctx
		if diff := cmp.Diff([]string{"4", "10"}, webtest.Ids(t, filtered, 2)); diff != "" {
			t.Errorf("filtered: %s", diff)
		}
		_, fresh := f.Open(ctx, "") //nolint:bodyclose // it ends with ctx
		<-fresh                     // the retry field: the stream has begun
		emit(t, s, 12, 13)
		if diff := cmp.Diff([]string{"13"}, webtest.Ids(t, fresh, 1)); diff != "" {
			t.Errorf("from now on: %s", diff)
		}
		wrong, _ := f.Open(ctx, "", "Last-Event-ID", "x") //nolint:bodyclose // it ends with ctx
		if wrong.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("a wrong Last-Event-ID: %d", wrong.StatusCode)
		}
	})
}

// TestEvents_AStreamBeatsAndEnds runs in virtual time.
func TestEvents_AStreamBeatsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var draining atomic.Bool
		r, s := webtest.EventRig(t, func(o *web.Options) { o.Draining, o.Ending = draining.Load, draining.Load })
		emit(t, s, 0, 1)
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			r.Handler.ServeHTTP(w, webtest.EventsRequest(t, t.Context(), "?type=b", "Accept", "application/json, text/event-stream;q=0.9"))
			close(done)
		}()
		time.Sleep(16 * time.Second)
		emit(t, s, 3, 5)
		time.Sleep(25 * time.Second)
		draining.Store(true)
		<-done
		want := "retry: 2000\n\n:\n\nid: 3\ndata: {\"id\":\"3\",\"type\":\"b\",\"source\":\"router\",\"subject\":\"job/4\",\"time\":\"" +
			webtest.Start().UTC().Format(time.RFC3339Nano) + "\",\"data\":{\"n\":4}}\n\n:\n\n"
		if diff := cmp.Diff(want, w.Body.String()); diff != "" {
			t.Error(diff)
		}
		w = httptest.NewRecorder()
		r.Handler.ServeHTTP(w, webtest.EventsRequest(t, t.Context(), "", "Accept", "text/event-stream"))
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("while draining: %d", w.Code)
		}
	})
}

// TestEvents_AFilteredStreamStillGetsOn: its client resumes from the stream's
// position, not from the last event that passed the filter.
func TestEvents_AFilteredStreamStillGetsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := webtest.EventRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			r.Handler.ServeHTTP(w, webtest.EventsRequest(t, ctx, "?type=none", "Accept", "text/event-stream"))
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
		r, s := webtest.EventRig(t)
		emit(t, s, 0, 1000)
		f := webtest.NewFollowed(t, r.Handler)
		q := webtest.EventsRequest(t, t.Context(), "?after=0", "Accept", "text/event-stream")
		q.RequestURI, q.URL.Scheme, q.URL.Host = "", "http", "weir.test"
		response, err := f.Client.Do(q)
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
		r, _ := webtest.EventRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		for range 256 {
			go func() {
				r.Handler.ServeHTTP(httptest.NewRecorder(), webtest.EventsRequest(t, ctx, "", "Accept", "text/event-stream"))
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		w := httptest.NewRecorder()
		r.Handler.ServeHTTP(w, webtest.EventsRequest(t, ctx, "", "Accept", "text/event-stream"))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one more: %d", w.Code)
		}
		cancel()
		for range 256 {
			<-done
		}
	})
}
