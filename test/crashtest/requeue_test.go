package crashtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"
)

const (
	deadContacts = 90
	requeuedOnce = 2 // in each request, so that there are many
	maxRounds    = 8 // each removes at most ten
)

// TestRequeue_MakesOneContactPerDeadLetterDespiteKills kills the program before and after dead letters are requeued.
// The client repeats requests without an answer: each dead letter becomes one new
// contact, and no person is contacted twice.
func TestRequeue_MakesOneContactPerDeadLetterDespiteKills(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "mariadb"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			from := seed(t)
			chance := rand.New(rand.NewPCG(from, 6))
			o := newSMS(t, capacity)
			r := newRig(t, database(t, store), from, false, o)
			dead := r.refuseAll(o)
			r.broker.terminate()
			for range min(max(1, size().cell), maxRounds) {
				for _, point := range []string{"requeue.before", "requeue.committed"} {
					failpoint := fmt.Sprintf("%s:%d", point, 1+chance.IntN(3))
					r.broker.start(failpoint)
					r.requeue(dead, r.broker.gone)
					if err := r.broker.died(size().strikeLimit); err != nil {
						t.Fatalf("failpoint %s: %v", failpoint, err)
					}
				}
			}
			r.broker.start("")
			r.broker.up()
			r.requeue(dead, nil)
			r.finished(o)
			r.checkRequeued(o, dead)
			r.broker.terminate()
		})
	}
}

// refuseAll makes the provider refuse contacts, and returns the ids of the dead letters.
func (r *rig) refuseAll(o *outside) []string {
	r.t.Helper()
	if err := o.faults.Set("status=413@send"); err != nil {
		r.t.Fatal(err)
	}
	l := r.loads[0]
	l.post(l.fresh(deadContacts), false)
	r.finished(o)
	if err := o.faults.Set(o.usual...); err != nil {
		r.t.Fatal(err)
	}
	var list struct {
		Dead []struct{ Contact contact } `json:"dead_letters"`
	}
	r.api.insist(http.MethodGet, "/v1/dead-letters?limit=1000", nil, http.StatusOK, &list)
	if len(list.Dead) != deadContacts {
		r.t.Fatalf("%d of %d contacts are dead letters", len(list.Dead), deadContacts)
	}
	ids := make([]string, len(list.Dead))
	for i := range list.Dead {
		ids[i] = list.Dead[i].Contact.ID
	}
	return ids
}

// requeue repeatedly requeues all of them, some in each request, until the program is
// gone; if gone is nil, until each was requeued and acknowledged.
func (r *rig) requeue(dead []string, gone <-chan struct{}) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), size().strikeLimit)
	defer cancel()
	for at := 0; gone != nil || at < len(dead); {
		select {
		case <-gone:
			return
		default:
		}
		from := at % len(dead)
		a := r.api.do(ctx, http.MethodPost, "/v1/dead-letters:requeue", map[string]any{"contacts": dead[from : from+requeuedOnce]})
		var done struct{ Remaining int }
		switch {
		case a.status == http.StatusOK:
			if err := json.Unmarshal(a.body, &done); err != nil || done.Remaining != 0 {
				r.t.Errorf("%s (%v)", a.body, err)
			}
			at += requeuedOnce
		case a.status != 0 && a.status != http.StatusServiceUnavailable:
			r.t.Fatalf("%d %s", a.status, a.body)
		case !rest(ctx.Done(), 10*time.Millisecond):
			r.t.Fatal("neither answered nor gone")
		}
	}
}

// checkRequeued requires one new contact for each dead letter, sent once.
func (r *rig) checkRequeued(o *outside, dead []string) {
	r.t.Helper()
	made := map[string]int{}
	for _, c := range r.api.list(o.channel) {
		made[c.Key]++
		if c.Outcome == "lost" {
			r.t.Errorf("contact %s is lost although the provider can tell", c.ID)
		}
	}
	keys := o.keys()
	for _, id := range dead {
		if n := made["requeue:"+id]; n != 1 {
			r.t.Errorf("dead letter %s became %d contacts", id, n)
		}
		if keys[o.keyOf(id)] {
			r.t.Errorf("dead letter %s was contacted under its old name", id)
		}
	}
	line := o.tally.Line(o.line)
	if n := o.alike(); line.Doubled > 0 || n > 0 || line.PeakActive > o.capacity {
		r.t.Errorf("%d contacts were sent twice, %d under two names; %d slots of %d were taken", line.Doubled, n, line.PeakActive, o.capacity)
	}
	sent := map[string]bool{}
	for key := range keys {
		sent[contactOf(key)] = true
	}
	if len(made) != 2*len(dead) || len(sent) != len(dead) {
		r.t.Errorf("of %d dead letters there are %d contacts; the provider received %d of them", len(dead), len(made), len(sent))
	}
}
