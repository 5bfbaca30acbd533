package scaletest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/channels/nuntium/simulator"
	"weir/cmd/weirlab/machine"
	"weir/internal/hmacsign"
	"weir/internal/polling"
	"weir/persistence/testmysql"
)

const (
	routerEnds   = 2 * time.Second // the slowest request to the router when its process ends
	routerKilled = 8 * time.Second // ... or is killed: a lease of 5 s, and the replay
	takenToSent  = time.Second     // from taking the database to the first contact that goes out
	busyMachine  = 2 * time.Second // what a busy machine may add to each
)

// TestRouter_MovesWithManyJobsAndRefusesNobody moves the router, with its many jobs, to another process and back. Nobody who
// asks a process that goes on is refused.
func TestRouter_MovesWithManyJobsAndRefusesNobody(t *testing.T) {
	jobs := 5_000
	if *full {
		jobs = 100_000
	}
	secret := base64.StdEncoding.EncodeToString([]byte("an access key of a scale test"))
	key, err := hmacsign.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	path, database := build(t), testmysql.URL(t)
	var processes [2]*program
	for i := range processes {
		processes[i] = newProgram(t, path, database, "JOB_ROUTER_ACCESS_KEYS="+secret, "PUBLIC_URL=http://weir.example")
		processes[i].start()
	}
	owner, standby := processes[0], processes[1]
	owner.routing(key, http.MethodPatch, "distributionPolicies/d", `{"mode":{"kind":"longestIdle"}}`)
	owner.routing(key, http.MethodPatch, "queues/q", `{"distributionPolicyId":"d"}`)
	t.Logf("%d jobs were made through a standby at %.0f/s", jobs, standby.enqueue(key, jobs))

	// slowest asks a process that goes on, again and again, until it owns the database.
	slowest := func(goesOn *program, what string, limit time.Duration, end func()) {
		t.Helper()
		var ending sync.WaitGroup
		ending.Go(end)
		var most time.Duration
		asked := 0
		for owns := false; !owns; asked++ {
			owns = goesOn.figure("weir_owner") == 1
			begun := time.Now()
			goesOn.routing(key, http.MethodGet, "jobs/j1", "") // fails the test if it is refused
			most = max(most, time.Since(begun))
		}
		ending.Wait()
		t.Logf("%s with %d jobs: the slowest of %d requests took %v", what, jobs, asked, most.Round(time.Millisecond))
		if most > limit+busyMachine {
			t.Errorf("%s: a request took %v, want %v at most", what, most, limit)
		}
	}
	slowest(standby, "SIGTERM", routerEnds, owner.terminate)
	owner.start() // a standby now
	slowest(owner, "kill -9", routerKilled, standby.kill)
}

// TestTakeOver_GoesOnAtOnceWithMuchInFlight kills the owner of a database with much in its queues and much in
// flight: its successor goes on at once.
func TestTakeOver_GoesOnAtOnceWithMuchInFlight(t *testing.T) {
	n, capacity := size{queued: 20_000}, 100
	if *full {
		n, capacity = size{idle: 1000, queued: 1_000_000}, 1000
	}
	// What the slow provider has stays in flight. One channel has another provider and free slots at
	// all times, whatever becomes of its reports, and its rate keeps its queue from getting empty.
	slow, sms := startProvider(t, simulator.Options{DeliverTime: time.Hour})
	quick, base := startProvider(t, simulator.Options{DeliverTime: 5 * time.Millisecond, ConfirmTime: time.Millisecond, Outcomes: []string{"delivered"}})
	url := testmysql.URL(t)
	fill(t, url, sms, n, capacity)
	path := build(t)
	address, err := machine.FreeAddr(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	owner := newProgram(t, path, url, "PUBLIC_URL=http://"+address)
	owner.start()
	standby := newProgram(t, path, url, "PUBLIC_URL=http://"+address)
	standby.env = append(standby.env, "LISTEN_ADDR="+address)
	standby.start()
	if !polling.Until(2*time.Minute, 10*time.Millisecond, func() bool { return taken(slow) >= busy*capacity }) {
		t.Fatalf("only %d of %d contacts are in flight", taken(slow), busy*capacity)
	}
	owner.json(http.MethodPut, "/v1/channels/quick", fmt.Sprintf(
		`{"type":"nuntium","capacity":1000,"settings":{"rate_per_second":50,"base_url":%q,"account":"demo","application":"sms0","token":"sms0","channel":"sms0"}}`, base), http.StatusCreated)
	for range 20 {
		list := strings.TrimSuffix(strings.Repeat(`{"to":"+15550100","messages":["hello"]},`, 1000), ",")
		owner.json(http.MethodPost, "/v1/channels/quick/contacts", `{"contacts":[`+list+`]}`, http.StatusAccepted)
	}
	if !polling.Until(time.Minute, time.Millisecond, func() bool { return taken(quick) > 100 }) {
		t.Fatal("nothing is sent")
	}
	owner.kill()
	killed := time.Now()
	if !polling.Until(time.Minute, 2*time.Millisecond, func() bool { return standby.figure("weir_owner") == 1 }) {
		t.Fatal("the standby does not take the database")
	}
	owns := time.Now()
	before := taken(quick)
	if !polling.Until(time.Minute, time.Millisecond, func() bool { return taken(quick) > before }) {
		t.Fatal("nothing goes out any more")
	}
	sent := time.Now()
	t.Logf("%d queued, %d in flight: taken %v after the end of the owner, the first contact %v after that", n.queued, busy*capacity,
		owns.Sub(killed).Round(time.Millisecond), sent.Sub(owns).Round(time.Millisecond))
	if took := sent.Sub(owns); took > takenToSent+busyMachine {
		t.Errorf("from taking the database to the first contact it took %v, want %v at most", took, takenToSent)
	}
	for _, line := range append(slow.Tally().Snapshot(), quick.Tally().Snapshot()...) {
		if line.PeakActive > capacity || line.Doubled > 0 {
			t.Errorf("channel %s: %d in flight of %d, %d doubled", line.Line, line.PeakActive, capacity, line.Doubled)
		}
	}
	standby.terminate()
}
