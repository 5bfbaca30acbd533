package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/cmd/weirlab/balancer"
	"weir/internal/polling"
)

// handOver is time in which nobody settles attempts, while the database changes hands in order.
const handOver = time.Second

// cluster is several processes on one database, behind a balancer. Clients and providers know
// the address of the balancer alone.
type cluster struct {
	*rig
	members  []*broker
	balancer *balancer.Balancer
	worst    map[string]time.Duration // until the next contact went out, by what was done
}

func newCluster(t *testing.T, size int, seed uint64, cancels bool, providers ...*outside) *cluster {
	t.Helper()
	return newClusterOf(t, make([][]string, size), seed, cancels, providers...)
}

// newClusterOf starts processes by their command lines; nil: the broker's.
func newClusterOf(t *testing.T, lines [][]string, seed uint64, cancels bool, providers ...*outside) *cluster {
	t.Helper()
	return newClusterOn(t, database(t, "mariadb"), lines, seed, cancels, providers...)
}

func newClusterOn(t *testing.T, url string, lines [][]string, seed uint64, cancels bool, providers ...*outside) *cluster {
	t.Helper()
	b, err := balancer.Start(context.Background()) // it outlives the processes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.End)
	c := &cluster{balancer: b, worst: map[string]time.Duration{}}
	for _, line := range lines {
		b := newBroker(t, url)
		b.waits, b.line = true, line
		b.env = append(b.env, "PUBLIC_URL="+c.balancer.URL, "WEIR_LEASE_TTL=5s")
		c.members = append(c.members, b)
		c.balancer.Add(strings.TrimPrefix(b.url, "http://"))
	}
	c.rig = &rig{t: t, broker: c.members[0], api: newClient(t, c.balancer.URL), pulse: newPulse(t)}
	for _, b := range c.members {
		b.start("")
		b.up()
	}
	c.owner()
	for _, o := range providers {
		c.api.insist(http.MethodPut, "/v1/channels/"+o.channel, map[string]any{
			"type": o.kind, "capacity": o.capacity, "settings": o.settings,
		}, http.StatusCreated, nil)
		c.loads = append(c.loads, newLoad(t, c.api, o, seed, cancels))
	}
	return c
}

// owner waits until one of the processes owns the database.
func (c *cluster) owner() *broker {
	c.t.Helper()
	var found *broker
	if !polling.Until(upWithin, 5*time.Millisecond, func() bool {
		found = nil
		for _, b := range c.members {
			if b.owns() {
				found = b
			}
		}
		return found != nil
	}) {
		c.t.Fatal("no process owns the database")
	}
	return found
}

// owns reports whether a process is ready as the owner of the database.
func (b *broker) owns() bool {
	select {
	case <-b.gone:
		return false
	default:
	}
	return probe(b.url+"/readyz/owner") == http.StatusOK
}

// probe returns the status of an answer; 0: there was none.
func probe(url string) int {
	client := &http.Client{Timeout: 500 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// sent counts the contacts that all providers have got.
func (c *cluster) sent() (n int) {
	for _, l := range c.loads {
		n += l.out.tally.Line(l.out.line).Sent
	}
	return n
}

// hand does something to the owner, and measures how long it takes until another process
// sends.
func (c *cluster) hand(what string, do func(owner *broker)) {
	c.t.Helper()
	owner := c.owner()
	do(owner)
	began := time.Now()
	if !polling.Until(upWithin, 5*time.Millisecond, func() bool {
		return slices.ContainsFunc(c.members, func(b *broker) bool { return b != owner && b.owns() })
	}) {
		c.t.Fatalf("%s: no other process owns the database", what)
	}
	before := c.sent() // what the former owner had on the wire is no longer on its way
	if !polling.Until(upWithin, 2*time.Millisecond, func() bool { return c.sent() > before }) {
		c.t.Fatalf("%s: nothing goes out any more", what)
	}
	c.worst[what] = max(c.worst[what], time.Since(began)-c.pulse.still(began, time.Now()))
	c.broker.ups = append(c.broker.ups, time.Now())
}

// within fails the test if that took longer.
func (c *cluster) within(what string, limit time.Duration) {
	c.t.Helper()
	if c.worst[what] > limit+size().slack {
		c.t.Errorf("%s: nothing went out for %v, want %v at most", what, c.worst[what], limit)
	}
}

// standby returns a process that does not own the database.
func (c *cluster) standby() *broker {
	c.t.Helper()
	owner := c.owner()
	return c.members[slices.IndexFunc(c.members, func(b *broker) bool { return b != owner })]
}

// back starts a process again.
func (c *cluster) back(b *broker) {
	c.t.Helper()
	b.start("")
	b.up()
}

// TestCluster_KeepsItsGuaranteesWhicheverProcessDies kills, stops and ends the processes of a cluster in any order, under load:
// each guarantee holds as with one process.
func TestCluster_KeepsItsGuaranteesWhicheverProcessDies(t *testing.T) {
	t.Parallel()
	from := seed(t)
	chance := rand.New(rand.NewPCG(from, 8))
	c := newCluster(t, 3, from, true, newCalls(t, capacity), newSMS(t, capacity))
	c.feed()
	steps := []func(){
		func() {
			var killed *broker
			c.hand("kill -9", func(b *broker) { b.kill(); killed = b })
			c.kills++
			c.back(killed)
		},
		func() {
			b := c.standby()
			b.kill()
			rest(nil, time.Duration(chance.IntN(300))*time.Millisecond)
			c.back(b)
		},
		func() {
			var ended *broker
			c.hand("SIGTERM", func(b *broker) { b.terminate(); ended = b })
			c.back(ended)
		},
		func() {
			b := c.standby()
			b.terminate()
			c.back(b)
		},
		func() { // it stands still for longer than its lease, and ends when it wakes
			var stopped *broker
			c.hand("SIGSTOP", func(b *broker) { stopped = b; c.signal(b, syscall.SIGSTOP) })
			c.kills++
			c.signal(stopped, syscall.SIGCONT)
			select {
			case <-stopped.gone:
			case <-time.After(drainWithin):
				t.Fatal("a former owner goes on")
			}
			if code := stopped.cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("a former owner ended with %d, want 1", code)
			}
			c.back(stopped)
		},
	}
	for range max(1, size().cell/4) {
		chance.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, step := range steps {
			rest(nil, time.Duration(200+chance.IntN(500))*time.Millisecond)
			step()
		}
	}
	c.owner()
	c.within("kill -9", 7*time.Second)
	c.within("SIGTERM", time.Second)
	c.settle("cluster", shortLease+time.Second) // in which nobody may act
	t.Logf("CELL cluster: until the next contact went out, at most: %v; of %d requests failed %v", c.worst, c.balancer.Tally().Served, c.balancer.Tally().Why)
}

// TestRollingRestart_IsNoticedByNobody ends and starts the processes of a cluster one after the other, under
// load: nobody notices.
func TestRollingRestart_IsNoticedByNobody(t *testing.T) {
	t.Parallel()
	from := seed(t)
	c := newCluster(t, 3, from, true, newCalls(t, capacity), newSMS(t, capacity))
	c.feed()
	rounds := max(1, size().cell/4)
	for range rounds {
		order := slices.Clone(c.members)
		owner := c.owner()
		slices.SortFunc(order, func(a, b *broker) int { // the owner last, as its successor then runs the new program
			return map[bool]int{true: 1}[a == owner] - map[bool]int{true: 1}[b == owner]
		})
		for _, b := range order {
			rest(nil, 1500*time.Millisecond)
			if b == owner {
				c.hand("SIGTERM", func(b *broker) { b.terminate() })
			} else {
				b.terminate()
			}
			c.back(b)
		}
	}
	c.within("SIGTERM", time.Second)
	requests := c.balancer.Tally()
	if requests.Failed() > 0 {
		t.Errorf("%d of %d requests were refused: %v", requests.Failed(), requests.Served, requests.Why)
	}
	t.Logf("CELL rolling restart: %d rounds, the next contact at most %v after the end of an owner, the slowest of %d requests, %s, took %v", rounds, c.worst["SIGTERM"],
		requests.Served, requests.SlowestOf, requests.Slowest.Round(time.Millisecond))
	c.settle("rolling restart", handOver)
}

func (c *cluster) signal(b *broker, s syscall.Signal) {
	c.t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// TestStandby_MayDieWhileItPassesARequestOn kills a standby that has passed a request on, before and after the owner
// has answered, under load.
func TestStandby_MayDieWhileItPassesARequestOn(t *testing.T) {
	t.Parallel()
	from := seed(t)
	chance := rand.New(rand.NewPCG(from, 9))
	c := newCluster(t, 2, from, true, newCalls(t, capacity), newSMS(t, capacity))
	c.feed()
	for range max(1, size().cell) {
		for _, name := range []string{"pass.sent", "pass.answered"} {
			b := c.standby()
			b.terminate()
			b.start(fmt.Sprintf("%s:%d", name, 1+chance.IntN(20)))
			if err := b.died(size().strikeLimit); err != nil {
				t.Fatalf("failpoint %s: %v", name, err)
			}
			c.back(b)
		}
	}
	c.settle("passing", 0)
}

// settle ends all processes, not only the first.
func (c *cluster) settle(what string, extra time.Duration) {
	c.t.Helper()
	owner := c.owner()
	for _, b := range c.members {
		if b != owner && b != c.broker {
			b.terminate()
		}
	}
	c.rig.settle(what, extra)
	if owner != c.broker {
		owner.terminate()
	}
}
