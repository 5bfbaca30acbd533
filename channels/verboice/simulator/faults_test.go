package simulator_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFaults_ApplyToRequests(t *testing.T) {
	t.Parallel()
	cases := []struct {
		fault  string
		status int // 0: no response
		taken  int
		takes  time.Duration
	}{
		{"status=503", 503, 0, 0},
		{"status=401@send", 401, 0, 0},
		{"status=500@state", 200, 1, 0},
		{"hang=3s", 0, 0, 3 * time.Second},
		{"hang", 0, 0, 5 * time.Second}, // until the client's timeout
		{"reset", 0, 0, 0},
		{"cut", 0, 1, 0},
		{"late=2s", 200, 1, 2 * time.Second},
		{"after=502", 502, 1, 0},
	}
	for _, c := range cases {
		t.Run(c.fault, func(t *testing.T) {
			o := quick()
			o.Faults = []string{c.fault}
			run(t, o, func(w *world) {
				w.client.Timeout = 5 * time.Second
				began := time.Now()
				status, text := w.ask(http.MethodGet, callPath("1"), nil)
				if took := time.Since(began); status != c.status || took != c.takes {
					t.Errorf("%d %s after %v, want %d after %v", status, text, took, c.status, c.takes)
				}
				if got := w.sim.Tally().Line("main").Taken; got != c.taken {
					t.Errorf("%d calls taken, want %d", got, c.taken)
				}
			})
		})
	}
}

func TestFaults_ApplyToCallbacks(t *testing.T) {
	t.Parallel()
	cases := []struct {
		fault string
		want  string
	}{
		{"drop", ""},
		{"drop@completed", "ringing in-progress"},
		{"duplicate@completed", "ringing in-progress completed completed"},
		{"swap@ringing", "in-progress ringing completed"},
		{"swap@completed", "ringing in-progress completed"}, // no callback follows, so it is only late
		{"delay=1m@ringing", "in-progress completed ringing"},
	}
	for _, c := range cases {
		t.Run(c.fault, func(t *testing.T) {
			o := quick()
			o.Ring = time.Millisecond
			o.Faults = []string{c.fault}
			run(t, o, func(w *world) {
				w.call("1")
				w.pass(5 * time.Minute)
				var got []string
				for _, line := range w.callbacks() {
					got = append(got, strings.Fields(line)[1])
				}
				if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
					t.Errorf("callbacks (-want +got):\n%s", d)
				}
				if got := w.sim.Tally().Line("main").Active; got != 0 {
					t.Errorf("%d active: the call is over at the provider whoever hears of it", got)
				}
			})
		})
	}
}

func TestFaults_AreSetWhileItRuns(t *testing.T) {
	run(t, quick(), func(w *world) {
		set := func(body string, want int) {
			t.Helper()
			if status, text := w.ask(http.MethodPost, "/_simulator/faults", strings.NewReader(body)); status != want {
				t.Errorf("%s: %d %s, want %d", body, status, text, want)
			}
		}
		set(`{"rules":["status=503@send:*9"]}`, 200)
		set(`{"rules":["nonsense"]}`, 400) // and changes nothing
		set(`{`, 400)
		if status, _ := w.ask(http.MethodGet, callPath("19"), nil); status != 503 {
			t.Errorf("fault set at run time: %d", status)
		}
		w.call("18")
		if _, body := w.ask(http.MethodGet, "/_simulator/records", nil); !strings.Contains(body, `"line":"main","sent":1`) {
			t.Errorf("records %s", body)
		}
		w.pass(5 * time.Second)
		w.ask(http.MethodPost, "/_simulator/reset", nil)
		if _, body := w.ask(http.MethodGet, "/_simulator/records", nil); body != `{"lines":[]}` {
			t.Errorf("records after the reset: %s", body)
		}
		before := len(w.callbacks())
		w.pass(time.Minute)
		if len(w.callbacks()) != before {
			t.Errorf("a call that was reset still reports: %v", w.callbacks())
		}
		w.call("1")
		w.pass(time.Minute)
		if got := w.sim.Tally().Line("main").Finished; got != 1 {
			t.Errorf("the server does not work after a reset: %d finished", got)
		}
	})
}

// Requests that hang do not outlive the server.
func TestFaults_HangingRequestsEnd(t *testing.T) {
	o := quick()
	o.Faults = []string{"hang"}
	run(t, o, func(w *world) {
		ended := make(chan error, 1)
		go func() {
			r, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, server+callPath("1"), nil)
			response, err := w.client.Do(r)
			if err == nil {
				_ = response.Body.Close()
			}
			ended <- err
		}()
		w.pass(time.Hour)
		select {
		case err := <-ended:
			t.Errorf("ended before the server did: %v", err)
		default:
		}
	}) // the bubble deadlocks if the request remains
}
