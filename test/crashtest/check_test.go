package crashtest_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"weir/internal/polling"
)

// rig is a broker with its simulated providers and their load.
type rig struct {
	t      *testing.T
	broker *broker
	api    *client
	loads  []*load
	kills  int
	pulse  *pulse

	purseSince time.Time // see limitMoney
}

// newRig starts a broker for the first time, creates the channels and begins to
// feed them.
func newRig(t *testing.T, database string, seed uint64, cancels bool, providers ...*outside) *rig {
	t.Helper()
	r := &rig{t: t, broker: newBroker(t, database), pulse: newPulse(t)}
	r.api = newClient(t, r.broker.url)
	r.broker.start("")
	r.broker.up()
	for _, o := range providers {
		r.api.insist(http.MethodPut, "/v1/channels/"+o.channel, map[string]any{
			"type": o.kind, "capacity": o.capacity, "settings": o.settings,
		}, http.StatusCreated, nil)
		r.loads = append(r.loads, newLoad(t, r.api, o, seed, cancels))
	}
	return r
}

func (r *rig) feed() {
	for _, l := range r.loads {
		l.begin()
	}
}

// settle stops the load, lets the broker finish everything and checks the results.
// extra is added to the time in which contacts have to be resolved.
func (r *rig) settle(what string, extra time.Duration) {
	r.t.Helper()
	for _, l := range r.loads {
		l.end()
	}
	began := time.Now()
	for _, l := range r.loads {
		r.finished(l.out)
	}
	took := time.Since(began)
	for _, l := range r.loads {
		r.check(what, l, took, extra)
	}
	r.broker.terminate()
}

// finished waits until a channel has nothing open: neither in its figures,
// which show the broker's memory, nor in the store, which follows at once.
func (r *rig) finished(o *outside) {
	r.t.Helper()
	var f figures
	var open []contact
	if !polling.Until(time.Minute, 50*time.Millisecond, func() bool {
		r.api.insist(http.MethodGet, "/v1/channels/"+o.channel, nil, http.StatusOK, &f)
		if !f.over() {
			return false
		}
		open = r.api.pages("state=queued,sending,active,unknown&channel=" + o.channel)
		return len(open) == 0
	}) {
		r.t.Fatalf("%s: not over: %v; the store has open %+v", o.channel, f, open)
	}
}

// check verifies everything that Weir guarantees for a channel.
func (r *rig) check(what string, l *load, took, extra time.Duration) {
	r.t.Helper()
	o := l.out
	contacts := r.api.list(o.channel)
	line := o.tally.Line(o.line)
	r.checkExistence(l, contacts)
	r.checkTruth(l, contacts)
	r.checkEvents(o.channel, contacts)
	slowest := r.checkTimes(o, contacts, extra)
	lost := 0
	for _, c := range contacts {
		if c.Outcome == "lost" {
			lost++
		}
	}
	switch {
	case o.reports && lost > 0:
		r.t.Errorf("%s: %d contacts ended as lost although the provider can tell", o.channel, lost)
	case lost > r.kills*sendsAtOnce:
		r.t.Errorf("%s: %d contacts ended as lost; %d kills can lose sight of %d", o.channel, lost, r.kills, r.kills*sendsAtOnce)
	}
	if line.PeakActive > o.capacity {
		r.t.Errorf("%s: %d slots were taken at the provider; the capacity is %d", o.channel, line.PeakActive, o.capacity)
	}
	if n := o.alike(); line.Doubled > 0 || n > 0 {
		r.t.Errorf("%s: %d contacts were sent twice, %d under two names", o.channel, line.Doubled, n)
	}
	if line.Active > 0 {
		r.t.Errorf("%s: %d slots are still taken at the provider", o.channel, line.Active)
	}
	r.t.Logf("CELL %s %s: kills %d, contacts %d, sent %d, most active %d/%d, doubled %d, lost %d, canceled %d, slowest attempt %v, all done %v after the load, %d reloads, the machine stood still for %v",
		what, o.channel, r.kills, len(contacts), line.Sent, line.PeakActive, o.capacity, line.Doubled+o.alike(), lost,
		len(l.canceled), slowest.Round(time.Millisecond), took.Round(time.Millisecond), r.broker.reloads(), r.pulse.still(time.Time{}, time.Now()).Round(time.Millisecond))
}

// checkExistence verifies that every acknowledged contact exists exactly once under
// the acknowledged id, that no other contact exists, and that all are done.
func (r *rig) checkExistence(l *load, contacts []contact) {
	r.t.Helper()
	seen := map[string]bool{}
	for _, c := range contacts {
		switch id, acknowledged := l.ids[c.Key]; {
		case seen[c.Key]:
			r.t.Errorf("%s: %s exists twice", l.out.channel, c.Key)
		case !acknowledged:
			r.t.Errorf("%s: %s was never acknowledged", l.out.channel, c.Key)
		case id != c.ID:
			r.t.Errorf("%s: %s is %s; acknowledged was %s", l.out.channel, c.Key, c.ID, id)
		case c.State != "done":
			r.t.Errorf("%s: %s is %s", l.out.channel, c.Key, c.State)
		}
		seen[c.Key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(l.ids)) {
		if !seen[key] {
			r.t.Errorf("%s: %s was acknowledged and is lost", l.out.channel, key)
		}
	}
	if len(contacts) == 0 {
		r.t.Errorf("%s: nothing was fed", l.out.channel)
	}
}

// checkTruth compares the broker's results with the contacts that the provider got.
func (r *rig) checkTruth(l *load, contacts []contact) {
	r.t.Helper()
	o := l.out
	sent, ours := o.keys(), map[string]bool{}
	for _, c := range contacts {
		ours[c.ID] = true
		atProvider := sent[o.keyOf(c.ID)]
		switch {
		case l.canceled[c.ID] && c.Outcome != "canceled":
			r.t.Errorf("%s: %s was acknowledged as canceled and is %s", o.channel, c.Key, c.Outcome)
		case atProvider && len(c.Attempts) == 0:
			r.t.Errorf("%s: %s went out without an attempt: %+v", o.channel, c.Key, c)
		case atProvider && (c.Reason == "canceled before it was sent" || c.Reason == "the provider never had it"):
			r.t.Errorf("%s: %s went out: %+v", o.channel, c.Key, c)
		case !atProvider && c.Outcome != "canceled" && c.Outcome != "lost":
			r.t.Errorf("%s: %s is %s and never went out: %+v", o.channel, c.Key, c.Outcome, c)
		}
	}
	for key := range sent {
		if !ours[contactOf(key)] {
			r.t.Errorf("%s: the provider received %s, which belongs to no contact", o.channel, key)
		}
	}
}

// checkTimes verifies that each attempt is resolved within the idle limit, one
// reconciler interval and the longest call after its claim, or after the broker's last
// return if that is later. An attempt of unknown outcome is lost no earlier than
// lostAfter, and at most one interval later. Time in which the machine stood still does
// not count. It returns the longest time of an attempt that was not lost.
func (r *rig) checkTimes(o *outside, contacts []contact, extra time.Duration) (slowest time.Duration) {
	r.t.Helper()
	extra += size().slack
	limit := idleAfter + collectEvery + longestCall + extra
	for _, c := range contacts {
		for _, a := range c.Attempts {
			if a.ClaimedAt == nil || a.FinishedAt == nil {
				r.t.Errorf("%s: %s has an attempt without an end: %+v", o.channel, c.Key, a)
				continue
			}
			from := *a.ClaimedAt
			if up := r.broker.upBefore(*a.FinishedAt); up.After(from) {
				from = up
			}
			took := a.FinishedAt.Sub(from)
			took -= r.pulse.still(from, *a.FinishedAt)
			final := a.Number == c.Attempts[len(c.Attempts)-1].Number
			if final && c.Outcome == "lost" {
				if early, late := a.FinishedAt.Sub(*a.ClaimedAt) < lostAfter, took > lostAfter+collectEvery+extra; early || late {
					r.t.Errorf("%s: %s ended as lost %v after its claim and %v after the broker's return", o.channel, c.Key, a.FinishedAt.Sub(*a.ClaimedAt), took)
				}
				continue
			}
			slowest = max(slowest, took)
			if took > limit {
				r.t.Errorf("%s: an attempt took %v to be resolved; the limit is %v: %+v", o.channel, took, limit, c)
			}
		}
	}
	return slowest
}
