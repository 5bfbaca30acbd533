package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/channels/simulation"

	"github.com/google/go-cmp/cmp"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// bench runs a sender whose requests take a second each.
func bench(t *testing.T, rules []string, workers int, test func(send func(subject, name string), now func() string)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faults, err := simulation.NewFaults(1, rules...)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var log []string
		note := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, text)
		}
		client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			note(r.URL.Path[1:])
			wait := time.Second
			if strings.Contains(r.URL.Path, "hang") {
				wait = time.Hour
			}
			select {
			case <-time.After(wait):
				return &http.Response{StatusCode: 204, Body: http.NoBody, Request: r}, nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})}
		s := simulation.NewSender(client, workers, faults)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		defer func() { cancel(); <-done }()
		test(func(subject, name string) {
			s.Send(simulation.Callback{
				Subject: subject, Kind: name,
				Request: func(ctx context.Context) (*http.Request, error) {
					if name == "unmakeable" {
						return nil, io.EOF
					}
					return http.NewRequestWithContext(ctx, http.MethodGet, "http://x.test/"+name, nil)
				},
				Done: func(status int, err error) {
					if errors.Is(err, simulation.ErrDropped) {
						note(name + ":dropped")
					} else if err != nil {
						note(name + ":error")
					} else {
						note(fmt.Sprint(name, ":", status))
					}
				},
			})
		}, func() string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(log, " ")
		})
	})
}

func TestSender_AppliesItsFaults(t *testing.T) {
	t.Parallel()
	cases := []struct{ rule, want string }{
		{"", "a a:204 b b:204 c c:204"},
		{"drop@b", "a a:204 b:dropped c c:204"},
		{"duplicate@b", "a a:204 b b:204 b b:204 c c:204"},
		{"swap@a", "b b:204 a a:204 c c:204"},
		{"swap@c", "a a:204 b b:204 c c:204"},
		{"delay=1m@a", "b b:204 c c:204 a a:204"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			bench(t, []string{c.rule}, 4, func(send func(string, string), now func() string) {
				for _, name := range []string{"a", "b", "c"} {
					send("one", name)
				}
				time.Sleep(2 * time.Minute)
				if d := cmp.Diff(c.want, now()); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

func TestSender_BoundsItsConcurrency(t *testing.T) {
	bench(t, nil, 2, func(send func(string, string), now func() string) {
		for i := range 100 {
			send(fmt.Sprint(i), "x")
		}
		time.Sleep(500 * time.Millisecond)
		if got := now(); got != "x x" {
			t.Errorf("under way at once: %q, want two", got)
		}
		time.Sleep(2 * time.Minute)
		if got := strings.Count(now(), "x:204"); got != 100 {
			t.Errorf("%d of 100 sent", got)
		}
	})
}

func TestSender_GivesUpARequestThatHangs(t *testing.T) {
	bench(t, nil, 1, func(send func(string, string), now func() string) {
		send("one", "hang")
		send("one", "unmakeable")
		send("one", "b")
		time.Sleep(time.Minute)
		if got, want := now(), "hang hang:error unmakeable:error b b:204"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		send("one", "hang") // under way when the sender ends
		now()
	})
}

func TestAgenda_RunsThingsWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := simulation.NewAgenda()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); a.Run(ctx) }()
		defer func() { cancel(); <-done }()
		began := time.Now()
		var log []string
		note := func(name string) func() {
			return func() { log = append(log, fmt.Sprint(name, time.Since(began))) }
		}
		synctest.Wait() // it is asleep already, and must be woken
		a.After(3*time.Second, note("c"))
		a.After(time.Second, note("a"))
		a.After(time.Second, func() { note("b")(); a.After(time.Second, note("again")) })
		a.After(-time.Second, note("now"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if d := cmp.Diff([]string{"now0s", "a1s", "b1s", "again2s", "c3s"}, log); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		a.After(time.Second, note("never"))
		a.Clear()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(log) != 5 {
			t.Errorf("done after Clear: %v", log)
		}
	})
}
