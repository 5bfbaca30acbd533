package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"weir/internal/polling"
)

// failOvers is how many owners a test of the rules for people kills.
const failOvers = 3

// failOver kills the owner, waits until another process is, and starts the killed one again.
func (c *cluster) failOver(chance *rand.Rand) {
	c.t.Helper()
	rest(nil, time.Duration(50+chance.IntN(400))*time.Millisecond)
	killed := c.owner()
	killed.kill()
	c.kills++
	if !polling.Until(upWithin, 5*time.Millisecond, func() bool {
		for _, b := range c.members {
			if b != killed && b.owns() {
				return true
			}
		}
		return false
	}) {
		c.t.Fatal("no other process owns the database")
	}
	c.back(killed)
}

// end ends all processes.
func (c *cluster) end() {
	c.t.Helper()
	owner := c.owner()
	for _, b := range c.members {
		if b != owner {
			b.terminate()
		}
	}
	owner.terminate()
}

// TestConsent_HoldsThroughFailOvers kills the owners of a database one after the other while people refuse: no claim of
// a contact begins, at any process, after a refusal of its person was answered by any.
func TestConsent_HoldsThroughFailOvers(t *testing.T) {
	t.Parallel()
	from := seed(t)
	chance := rand.New(rand.NewPCG(from, 17))
	o := newSMS(t, capacity)
	c := newCluster(t, 3, from, false, o)
	batch := c.loads[0].fresh(askedPeople * timesAsked)
	for i := range batch {
		batch[i]["to"], batch[i]["priority"], batch[i]["messages"] = person(i), "normal", []string{fmt.Sprint("asked ", i)}
	}
	c.loads[0].post(batch, false)
	answered := map[string]time.Time{}
	order := chance.Perm(askedPeople)
	rounds := failOvers * max(1, size().cell/4)
	for range rounds {
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.refuse(order, answered, len(order)/(2*rounds), false)
		}()
		c.failOver(chance)
		<-done
	}
	c.finished(o)
	c.checkRefused(o, batch, answered)
	c.end()
}

// TestLimits_HoldThroughFailOvers kills the owners of a database one after the other under caps and limits: what the next owner
// reads of what was used is all that was.
func TestLimits_HoldThroughFailOvers(t *testing.T) {
	t.Parallel()
	from := seed(t)
	chance := rand.New(rand.NewPCG(from, 19))
	o, paid := newSMS(t, capacity), newSMS(t, capacity)
	paid.channel = "paid"
	c := newCluster(t, 3, from, false, o, paid)
	c.api.insist(http.MethodPut, "/v1/purposes/research", map[string]any{"caps": []map[string]any{{"max": cappedAt, "within": "7d"}}}, http.StatusCreated, nil)
	c.api.insist(http.MethodPut, "/v1/limits/account", map[string]any{"channels": []string{o.channel}, "in_flight": limitInFlight, "new_people_per_day": newPeople}, http.StatusCreated, nil)
	c.limitMoney(paid)
	c.loads[0].post(limited(c.loads[0]), false)
	c.loads[1].post(priced(c.loads[1]), false)
	for range failOvers * max(1, size().cell/4) {
		c.failOver(chance)
	}
	c.checkLimits(o)
	c.checkMoney(paid)
	c.end()
}
