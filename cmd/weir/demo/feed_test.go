package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// intake is a broker that takes contacts and now and then gives no answer.
type intake struct {
	mu    sync.Mutex
	ids   map[string]string
	order []string
	posts int
	mute  func(post int) bool // taken, but not answered
	token string
}

func (i *intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+i.token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var body struct{ Contacts []struct{ Key string } }
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var answers []map[string]any
	for _, c := range body.Contacts {
		id, known := i.ids[c.Key]
		if !known {
			id = fmt.Sprint("1-", len(i.ids))
			i.ids[c.Key] = id
			i.order = append(i.order, c.Key)
		}
		answers = append(answers, map[string]any{"id": id, "key": c.Key, "duplicate": known})
	}
	i.posts++
	if i.mute(i.posts) {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(map[string]any{"contacts": answers})
}

func many(n int) *channel {
	c := &channel{name: sms, capacity: n}
	for i := range n {
		c.contacts = append(c.contacts, Contact{Channel: sms, Key: fmt.Sprint(i), To: fmt.Sprintf("+1555%04d", i), Texts: []string{"x"}})
	}
	return c
}

func TestABatchWithoutAnAnswerIsSentAgain(t *testing.T) {
	t.Parallel()
	in := &intake{ids: map[string]string{}, mute: func(post int) bool { return post == 2 || post == 3 }}
	server := httptest.NewServer(in)
	defer server.Close()
	a := newAPI(server.URL)
	in.token = a.token
	f := newFeeder(many(60), time.Minute, make(chan struct{}))
	f.run(t.Context(), a)
	want := fed{acked: 60, repeated: 1, duplicates: batchSize, complete: true}
	if got := f.state(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var wanted []outreach
	for i := range 60 {
		wanted = append(wanted, outreach{ID: fmt.Sprint("1-", i), To: fmt.Sprintf("+1555%04d", i), Units: 1})
	}
	if diff := cmp.Diff(wanted, f.acked); diff != "" {
		t.Error(diff)
	}
}

func TestARefusedBatchEndsTheFeeding(t *testing.T) {
	t.Parallel()
	in := &intake{ids: map[string]string{}, token: "another"}
	server := httptest.NewServer(in)
	defer server.Close()
	f := newFeeder(many(1), time.Minute, make(chan struct{}))
	f.run(t.Context(), newAPI(server.URL))
	got := f.state()
	if got.err == nil || got.complete || got.acked != 0 {
		t.Errorf("got %+v; want an error", got)
	}
}

// A full queue slows the feeder down until the broker is through with some.
func TestTheFeederKeepsTheQueueShort(t *testing.T) {
	t.Parallel()
	in := &intake{ids: map[string]string{}, mute: func(int) bool { return false }}
	server := httptest.NewServer(in)
	defer server.Close()
	a := newAPI(server.URL)
	in.token = a.token
	c := many(3 * batchSize)
	c.capacity = 1
	posting := make(chan struct{})
	f := newFeeder(c, time.Hour, posting) // ahead by a fifth: one batch
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() { f.run(ctx, a); close(ended) }()
	for batch := 1; batch <= 3; batch++ {
		for f.state().acked < batch*batchSize {
			select {
			case <-posting:
			case <-time.After(time.Millisecond):
			}
		}
		if batch < 3 && f.state().acked > batch*batchSize {
			t.Fatalf("%d handed over with %d done", f.state().acked, (batch-1)*batchSize)
		}
		f.note(func() { f.done += batchSize })
	}
	<-ended
}
