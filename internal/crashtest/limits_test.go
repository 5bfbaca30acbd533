package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"weir/internal/polling"
)

const (
	cappedPeople  = 60
	cappedAt      = 2  // contacts of a person; four are asked for
	newPeople     = 40 // of whom so many may be contacted
	limitInFlight = capacity / 2
	limitPoints   = 4
	limitStrike   = 3 * time.Second
)

// TestLimits_AreNotExceededDespiteKills kills the program before and after claims are stored.
// No person gets more contacts than the cap allows, no more people are contacted and no more
// contacts are in flight than the limit allows; and nothing is forgotten: both are used up.
func TestLimits_AreNotExceededDespiteKills(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 11))
			o := newSMS(t, capacity)
			r := newRig(t, database(t, store), from, false, o)
			r.api.insist(http.MethodPut, "/v1/purposes/research", map[string]any{"caps": []map[string]any{{"max": cappedAt, "within": "7d"}}}, http.StatusCreated, nil)
			r.api.insist(http.MethodPut, "/v1/limits/account", map[string]any{"channels": []string{o.channel}, "in_flight": limitInFlight, "new_people_per_day": newPeople}, http.StatusCreated, nil)
			batch := r.loads[0].fresh(cappedPeople * 2 * cappedAt)
			for i := range batch {
				batch[i]["to"], batch[i]["priority"], batch[i]["purpose"] = fmt.Sprintf("+1666%07d", i%cappedPeople), "normal", "research"
				batch[i]["messages"] = []string{fmt.Sprint("limited ", i)}
			}
			r.loads[0].post(batch, false)
			for n := range limitPoints * max(1, size().cell/4) {
				r.broker.kill()
				point := []string{"claim.before", "claim.committed", "send.before", "ref.before"}[n%limitPoints]
				r.broker.start(fmt.Sprintf("%s:%d", point, 1+chance.IntN(6)))
				if err := r.broker.died(limitStrike); err != nil {
					t.Log(err) // everything that may go has gone
				}
			}
			r.broker.kill()
			r.broker.start("")
			r.broker.up()
			r.checkLimits(o)
			r.broker.terminate()
		})
	}
}

// checkLimits waits until nothing moves, and checks what the provider has got.
func (r *rig) checkLimits(o *outside) {
	r.t.Helper()
	perPerson := map[string]int{}
	if !polling.Until(time.Minute, 100*time.Millisecond, func() bool {
		clear(perPerson)
		for _, k := range o.tally.Keys(o.line) {
			perPerson[k.Address]++
		}
		total := 0
		for _, n := range perPerson {
			total += n
		}
		// A kill can lose sight of an attempt that never went out: it may have reached the person.
		return r.count(o, "state=sending,active,unknown") == 0 && total >= newPeople*cappedAt-r.count(o, "outcome=lost")
	}) {
		r.t.Errorf("in a minute %d people were contacted, %d may be; %d in flight, %d lost", len(perPerson), newPeople, r.count(o, "state=sending,active,unknown"), r.count(o, "outcome=lost"))
	}
	if len(perPerson) > newPeople {
		r.t.Errorf("%d people were contacted; %d new ones a day are allowed", len(perPerson), newPeople)
	}
	for address, n := range perPerson {
		if n > cappedAt {
			r.t.Errorf("%s got %d contacts; the cap is %d", address, n, cappedAt)
		}
	}
	if line := o.tally.Line(o.line); line.PeakActive > limitInFlight {
		r.t.Errorf("%d were in flight at the provider; the limit is %d", line.PeakActive, limitInFlight)
	}
}

// count counts the contacts of a channel that a filter selects; there are fewer than a page.
func (r *rig) count(o *outside, filter string) int {
	r.t.Helper()
	var page struct {
		Contacts []contact `json:"contacts"`
	}
	r.api.insist(http.MethodGet, "/v1/contacts?limit=1000&"+filter+"&channel="+o.channel, nil, http.StatusOK, &page)
	return len(page.Contacts)
}
