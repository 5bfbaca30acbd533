package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"
)

const (
	askedPeople   = 200
	timesAsked    = 4 // contacts of each person
	consentPoints = 5
)

// TestConsent_NobodyWhoRefusedIsClaimedDespiteKills kills the program before, while and after
// refusals and claims are stored. No claim of a contact begins after a refusal of its person
// was answered, and every contact ends.
func TestConsent_NobodyWhoRefusedIsClaimedDespiteKills(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 7))
			o := newSMS(t, capacity)
			r := newRig(t, database(t, store), from, false, o)
			batch := r.loads[0].fresh(askedPeople * timesAsked)
			for i := range batch {
				batch[i]["to"], batch[i]["priority"], batch[i]["messages"] = person(i), "normal", []string{fmt.Sprint("asked ", i)}
			}
			r.loads[0].post(batch, false)
			answered := map[string]time.Time{}
			order := chance.Perm(askedPeople)
			for n := range consentPoints * max(1, size().cell/4) {
				point := []string{"consent.before", "consent.committed", "claim.before", "claim.committed", "ref.before"}[n%consentPoints]
				if n > 0 {
					r.broker.start(fmt.Sprintf("%s:%d", point, 1+chance.IntN(4)))
				}
				r.refuse(order, answered, len(order)/10, n > 0)
				r.broker.kill() // if nothing struck: all have been refused
			}
			r.broker.start("")
			r.broker.up()
			r.finished(o)
			r.checkRefused(o, batch, answered)
			r.broker.terminate()
		})
	}
}

func person(contact int) string { return fmt.Sprintf("+1666%07d", contact%askedPeople) }

// refuse records refusals, one after the other, until n more are answered or the program is
// gone. One without an answer is repeated with the same key.
func (r *rig) refuse(order []int, answered map[string]time.Time, n int, dies bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), size().strikeLimit)
	defer cancel()
	for _, i := range order {
		to := person(i)
		if _, done := answered[to]; done || n == 0 {
			continue
		}
		for {
			a := r.api.do(ctx, http.MethodPost, "/v1/consents", map[string]any{"consents": []map[string]any{{"key": to, "to": to, "status": "refused"}}})
			if a.status == http.StatusOK {
				answered[to] = time.Now()
				n--
				break
			}
			if a.status != 0 && a.status != http.StatusServiceUnavailable {
				r.t.Fatalf("%d %s", a.status, a.body)
			}
			select {
			case <-r.broker.gone:
				if dies {
					return
				}
			default:
			}
			if !rest(ctx.Done(), 5*time.Millisecond) {
				r.t.Fatal("neither answered nor gone")
			}
		}
	}
}

// checkRefused checks every contact against when its person's refusal was answered.
func (r *rig) checkRefused(o *outside, batch []map[string]any, answered map[string]time.Time) {
	r.t.Helper()
	to := map[string]string{}
	for _, c := range batch {
		to[c["key"].(string)] = c["to"].(string)
	}
	outcomes, sent := map[string]int{}, o.keys()
	for _, c := range r.api.list(o.channel) {
		outcomes[c.Outcome]++
		said, refused := answered[to[c.Key]]
		for _, a := range c.Attempts {
			if refused && a.ClaimedAt != nil && a.ClaimedAt.After(said) {
				r.t.Errorf("contact %s was claimed %v after the refusal was answered", c.ID, a.ClaimedAt.Sub(said))
			}
		}
		if c.Outcome == "suppressed" && sent[o.keyOf(c.ID)] { // an earlier attempt that never went out is possible: a kill between claim and dispatch
			r.t.Errorf("contact %s was suppressed, and the provider has it", c.ID)
		}
		if !refused && c.Outcome == "suppressed" && len(answered) == askedPeople {
			r.t.Errorf("contact %s was suppressed, and nobody refused", c.ID)
		}
	}
	total := 0
	for _, n := range outcomes {
		total += n
	}
	if total != len(batch) || outcomes["suppressed"] == 0 || outcomes["completed"] == 0 {
		r.t.Errorf("of %d contacts: %v; %d people had refused", len(batch), outcomes, len(answered))
	}
	if line := o.tally.Line(o.line); line.PeakActive > o.capacity {
		r.t.Errorf("%d slots of %d were taken", line.PeakActive, o.capacity)
	}
}
