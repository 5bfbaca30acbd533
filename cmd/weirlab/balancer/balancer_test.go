package balancer

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/cmd/internal/clitest"
	"weir/internal/polling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// upstream is a process that answers with its name and the body of the request.
func upstream(t *testing.T, name string, status int) (address string, end func()) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/readyz" || strings.HasPrefix(r.URL.Path, "/fail") {
			w.WriteHeader(status)
		}
		_, _ = io.WriteString(w, name+" "+r.Host+" "+string(body))
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), s.Close
}

func start(t *testing.T) *Balancer {
	t.Helper()
	b, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.End)
	return b
}

func ask(t *testing.T, b *Balancer, path string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+path, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "weir.example"
	return clitest.Do(t, r)
}

func TestBalancer_TakesTurnsAndPrefersReadyProcesses(t *testing.T) {
	t.Parallel()
	b := &Balancer{processes: []process{{"a", true}, {"b", false}, {"c", true}}}
	first := map[string]int{}
	for range 30 {
		order := b.order()
		first[order[0]]++
		if order[2] != "b" {
			t.Fatalf("%v; want b last, which is not ready", order)
		}
	}
	if first["a"] == 0 || first["c"] == 0 || first["b"] != 0 {
		t.Errorf("first: %v", first)
	}
}

func TestBalancer_ProbesItsProcesses(t *testing.T) {
	t.Parallel()
	b := start(t)
	up, _ := upstream(t, "up", http.StatusOK)
	down, _ := upstream(t, "down", http.StatusServiceUnavailable)
	b.Add(down)
	b.Add(up)
	if !polling.Until(10*time.Second, 10*time.Millisecond, func() bool {
		one, another := b.order(), b.order()
		return one[0] == up && another[0] == up
	}) {
		t.Errorf("order %v; want the one that is ready first", b.order())
	}
}

func TestBalancer_GoesOnToOneThatTakesTheConnection(t *testing.T) {
	t.Parallel()
	b := start(t)
	if status, _ := ask(t, b, "/"); status != http.StatusServiceUnavailable {
		t.Errorf("without a process: %d", status)
	}
	gone, end := upstream(t, "gone", http.StatusOK)
	end()
	there, _ := upstream(t, "there", http.StatusOK)
	b.Add(gone)
	b.Add(there)
	for range 4 {
		if status, text := ask(t, b, "/"); status != http.StatusOK || text != "there weir.example body" {
			t.Errorf("%d %s", status, text)
		}
	}
	if got := b.Tally(); got.Served != 5 || got.Cut != 1 || got.Refused != 0 || got.Slowest <= 0 || got.SlowestOf != "POST /" {
		t.Errorf("tally %+v", got)
	}
}

func TestBalancer_CountsWhatFailed(t *testing.T) {
	t.Parallel()
	b := start(t)
	up, _ := upstream(t, "up", http.StatusServiceUnavailable)
	b.Add(up)
	if status, _ := ask(t, b, "/fail"); status != http.StatusServiceUnavailable {
		t.Errorf("answered %d", status)
	}
	if got := b.Tally(); got.Served != 1 || got.Refused != 1 || got.Cut != 0 || got.Why["POST: 503 Service Unavailable"] != 1 {
		t.Errorf("tally %+v", got)
	}
}

// A client that goes away is no failure of a process.
func TestBalancer_LeavesOutClientsThatHaveGone(t *testing.T) {
	t.Parallel()
	b := start(t)
	arrived := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			close(arrived)
			<-r.Context().Done()
		}
	}))
	defer s.Close()
	b.Add(strings.TrimPrefix(s.URL, "http://"))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.URL+"/wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-arrived; cancel() }()
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = answer.Body.Close()
		t.Fatal("it was answered")
	}
	http.DefaultClient.CloseIdleConnections()
	b.End()
	if got := b.Tally(); got.Failed() != 0 {
		t.Errorf("tally %+v", got)
	}
}
