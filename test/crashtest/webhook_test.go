package crashtest_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/internal/polling"
	"weir/persistence/testmysql"
)

// TestWebhook_HearsOfEachEndDespiteCrashes stops the database (SIGSTOP), kills the program, and kills both,
// while contacts end and the receiver of a webhook fails at times. However long it takes,
// the receiver hears of each end.
func TestWebhook_HearsOfEachEndDespiteCrashes(t *testing.T) {
	t.Parallel()
	from := seed(t)
	chance := rand.New(rand.NewPCG(from, 11))
	server := testmysql.Start(t)
	r := newRig(t, server.URL(t), from, true, newCalls(t, capacity), newSMS(t, capacity))
	told := newTold(t, from)
	r.api.insist(http.MethodPost, "/v1/webhooks", map[string]any{"url": told.URL, "types": []string{"weir.contact.done"}}, http.StatusCreated, nil)
	r.feed()
	frozen := func(during func()) {
		signal(t, server.PID(), syscall.SIGSTOP)
		defer signal(t, server.PID(), syscall.SIGCONT)
		during()
	}
	crash := func() {
		r.broker.kill()
		r.broker.start("")
	}
	freeze := time.Second
	if size().storeKills > 1 {
		freeze = 12 * time.Second
	}
	for range size().storeKills {
		for _, strike := range []func(){
			func() { frozen(func() { rest(nil, freeze) }) },
			crash,
			func() { frozen(r.broker.kill); r.broker.start("") },
			func() { server.Kill(); r.broker.kill(); server.Restart(); r.broker.start("") },
		} {
			rest(nil, time.Duration(500+chance.IntN(1000))*time.Millisecond)
			strike()
			r.broker.up()
		}
	}
	for _, l := range r.loads {
		l.end()
	}
	began, ended := time.Now(), map[string]bool{}
	for _, l := range r.loads {
		r.finished(l.out)
		for _, c := range r.api.list(l.out.channel) {
			ended[c.ID] = true
		}
	}
	if !polling.Until(3*time.Minute, 50*time.Millisecond, func() bool { return len(told.missing(ended)) == 0 }) {
		missing := told.missing(ended)
		t.Errorf("the webhook never heard of %d of %d ends, such as %v", len(missing), len(ended), missing[:min(5, len(missing))])
	}
	t.Logf("%d ends were told within %v after the load", len(ended), time.Since(began).Round(time.Millisecond))
	r.broker.terminate()
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// told is the receiver of a webhook that refuses one request in ten.
type told struct {
	*httptest.Server
	mu     sync.Mutex
	chance *rand.Rand
	ids    map[string]bool
}

func newTold(t *testing.T, seed uint64) *told {
	t.Helper()
	r := &told{chance: rand.New(rand.NewPCG(seed, 12)), ids: map[string]bool{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var event struct{ Data struct{ Contact string } }
		err := json.NewDecoder(q.Body).Decode(&event)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil || r.chance.IntN(10) == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		r.ids[event.Data.Contact] = true
	}))
	t.Cleanup(r.Close)
	return r
}

// missing returns the contacts of which it never heard.
func (r *told) missing(ended map[string]bool) (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range ended {
		if !r.ids[id] {
			list = append(list, id)
		}
	}
	return list
}
