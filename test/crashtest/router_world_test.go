package crashtest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/hmacsign"
	"weir/internal/polling"
)

const routerVersion = "2024-01-18-preview"

// routerClient is a signing client of the router's API.
type routerClient struct {
	t    *testing.T
	base string
	key  hmacsign.Key
	http *http.Client
}

func routerKey() string {
	return base64.StdEncoding.EncodeToString([]byte("an access key of a crash test"))
}

func newRouterClient(t *testing.T, base string) *routerClient {
	t.Helper()
	key, err := hmacsign.ParseKey(routerKey())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	return &routerClient{t, base, key, &http.Client{Transport: transport, Timeout: 15 * time.Second}}
}

// once makes one request; status 0: no response arrived.
func (c *routerClient) once(ctx context.Context, method, path string, body any) answer {
	text := []byte{}
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			c.t.Error(err)
			return answer{}
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+"/routing/"+path+"?api-version="+routerVersion, bytes.NewReader(text))
	if err != nil {
		c.t.Error(err)
		return answer{}
	}
	if body != nil {
		r.Header.Set("Content-Type", map[bool]string{true: "application/merge-patch+json", false: "application/json"}[method == http.MethodPatch])
	}
	c.key.Sign(r, text, time.Now())
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}
	}
	defer func() { _ = response.Body.Close() }()
	if text, err = io.ReadAll(response.Body); err != nil {
		return answer{}
	}
	return answer{response.StatusCode, response.Header.Get("Retry-After"), text}
}

// ask repeats a request until it is answered, with any status.
func (c *routerClient) ask(method, path string, body any) answer {
	var a answer
	if !polling.Until(time.Minute, 10*time.Millisecond, func() bool {
		a = c.once(context.Background(), method, path, body)
		return a.status != 0 && a.status != http.StatusServiceUnavailable
	}) {
		c.t.Errorf("%s %s is not answered: %d %s", method, path, a.status, a.body)
		return answer{}
	}
	if a.status >= 500 {
		c.t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
	}
	return a
}

// must makes a request that must not be refused.
func (c *routerClient) must(method, path string, body, into any) {
	c.t.Helper()
	a := c.ask(method, path, body)
	if a.status/100 != 2 {
		c.t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
		return
	}
	if into != nil {
		if err := json.Unmarshal(a.body, into); err != nil {
			c.t.Errorf("%s %s: %v", method, path, err)
		}
	}
}

// routedJob is a job as the API returns it.
type routedJob struct {
	ID              string
	Status          string
	DispositionCode string
	ScheduledAt     time.Time
	Assignments     map[string]struct {
		AssignmentID, WorkerID string
		CompletedAt, ClosedAt  *time.Time
	}
}

// routedWorker is a worker as the API returns it.
type routedWorker struct {
	ID           string
	Capacity     int
	Available    bool `json:"availableForOffers"`
	Offers       []routedOffer
	AssignedJobs []struct {
		AssignmentID, JobID string
		CapacityCost        int
	}
}

type routedOffer struct {
	OfferID, JobID string
	CapacityCost   int
	ExpiresAt      time.Time
}

// delivered is an event as the receiver first got it.
type delivered struct {
	id         int64
	kind       string
	offer      string
	assignment string
	worker     string
	at         time.Time // of the event
}

// receiver is a subscription to the router's events. Sometimes it refuses an event,
// and with it the earlier events of the same request, which it has recorded.
type receiver struct {
	t   *testing.T
	url string

	mu     sync.Mutex
	seen   map[int64]bool
	jobs   map[string][]delivered // by job, in the order of their first arrival
	again  int                    // events that arrived more than once
	turned int                    // how often it refused an event
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, seen: map[int64]bool{}, jobs: map[string][]delivered{}}
	server := httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(server.Close)
	r.url = server.URL + "/events"
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	var list []struct {
		ID, EventType string
		EventTime     time.Time
		Data          struct{ JobID, OfferID, AssignmentID, WorkerID string }
	}
	if request.Header.Get("Aeg-Event-Type") != "Notification" { // a validation, which needs no answer
		w.WriteHeader(http.StatusOK)
		return
	}
	if err := json.NewDecoder(request.Body).Decode(&list); err != nil {
		return // cut off by a kill
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range list {
		number, instant, ok := strings.Cut(e.ID, "-")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || !ok || instant == "" {
			r.t.Errorf("an event has the id %q", e.ID)
		}
		if whim(e.ID, len(r.seen), r.turned) < 1 { // varies, so that no event is refused forever
			r.turned++
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.seen[id] {
			r.again++
			continue
		}
		r.seen[id] = true
		if job := e.Data.JobID; job != "" {
			r.jobs[job] = append(r.jobs[job], delivered{id, e.EventType, e.Data.OfferID, e.Data.AssignmentID, e.Data.WorkerID, e.EventTime})
		}
	}
}

// of returns the received events of a job.
func (r *receiver) of(job string) []delivered {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivered{}, r.jobs[job]...)
}

func (t delivered) is(kind string) bool { return t.kind == "Microsoft.Communication.Router"+kind }
