package contacts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
	"weir/operators"
)

// paced checks a dispatch of so many messages of one segment each against the rate
// limit: in no interval that ends now were more dispatched than it allows. A contact
// that is larger than the burst counts as a burst.
func (r *rig) paced(messages int) {
	r.sentUnits = append(r.sentUnits, max(1, messages))
	rate, burst := channels.Pace(r.ch.Settings)
	if rate == 0 {
		return
	}
	interval := time.Second / time.Duration(rate)
	sum := 0
	for i := len(r.sent) - 1; i >= 0; i-- {
		sum += r.sentUnits[i]
		burst = max(burst, r.sentUnits[i])
		if in := r.now.Sub(r.sentAt[i]); time.Duration(sum-burst)*interval > in {
			r.t.Fatalf("%d units are dispatched in %v, with a limit of %d per second and a burst of %d", sum, in, rate, burst)
		}
	}
}

// forgetDebts caps what was dispatched at the burst: a restart knows that the bucket
// may be empty, not that a large contact overdrew it.
func (r *rig) forgetDebts() {
	_, burst := channels.Pace(r.ch.Settings)
	for i := range r.sentUnits {
		r.sentUnits[i] = min(r.sentUnits[i], burst)
	}
}

// limit sets the rate limit of a rig's channel.
func limit(rate, burst int) func(*rig) {
	return func(r *rig) {
		r.ch.Settings["rate_per_second"], r.ch.Settings["burst"] = float64(rate), float64(burst)
	}
}

// The limit is used: over a minute as many are dispatched as it allows, however
// large the contacts.
func TestPace_UsesTheWholeLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rate, burst, messages int
		min, max              int // contacts in a minute
	}{
		"one a second":          {1, 1, 1, 59, 60},
		"many a second":         {50, 5, 1, 2990, 3000},
		"three units each":      {10, 4, 3, 198, 200},
		"larger than the burst": {10, 2, 4, 148, 150},
		"the burst comes later": {1, 10, 1, 59, 60}, // the bucket is empty at first
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 5000, limit(c.rate, c.burst))
			r.accept(slices.Repeat([]weir.Spec{text(c.messages)}, c.max+100)...)
			r.pass(time.Minute)
			if n := len(r.sent); n < c.min || n > c.max {
				t.Errorf("%d contacts in a minute, want %d to %d", n, c.min, c.max)
			}
		})
	}
}

func TestPace_AllowsABurstAfterAPause(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, limit(1, 10))
	r.pass(time.Minute)
	r.accept(slices.Repeat([]weir.Spec{text(1)}, 20)...)
	if len(r.sent) != 10 {
		t.Errorf("%d were dispatched at once", len(r.sent))
	}
	r.pass(time.Second)
	if len(r.sent) != 11 {
		t.Errorf("%d were dispatched after a second", len(r.sent))
	}
}

// A slow commit delays dispatches and does not bunch them.
func TestPace_HoldsForDispatchesNotClaims(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, limit(10, 2))
	r.accept(slices.Repeat([]weir.Spec{text(1)}, 50)...)
	for range 20 {
		r.hold["commit"] = true
		r.pass(time.Second)
		r.hold["commit"] = false
		r.settle() // checks the rate of what is dispatched
	}
	if len(r.sent) < 20 {
		t.Errorf("%d were dispatched", len(r.sent))
	}
}

func TestPace_HoldsForClaimsAtAcceptance(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, limit(1, 3))
	r.pass(time.Minute)
	r.atOnce(5, yes)
	r.settle()
	wantSent(t, r, 1, 2, 3)
	r.pass(2 * time.Second)
	wantSent(t, r, 1, 2, 3, 4, 5)
}

// A restart, and another process that takes the channel over, do not begin with a
// burst.
func TestPace_HoldsAcrossARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, limit(1, 5))
	r.pass(time.Minute)
	r.accept(slices.Repeat([]weir.Spec{text(1)}, 30)...)
	r.crash(false, 100, nil)
	r.pass(3 * time.Second)
	if len(r.sent) != 8 {
		t.Errorf("%d were dispatched, want a burst of 5 and 3 in 3 seconds", len(r.sent))
	}
}

func TestPace_IsLoweredByRefusalsAndRaisedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5000, limit(10, 1))
	rate := func() float64 { return r.core.Figures().RatePerSecond }
	r.accept(calls(4000)...)
	r.pass(time.Second)
	if rate() != 10 {
		t.Fatalf("the rate is %v", rate())
	}
	r.manner = func(channels.Attempt) manner { return limits }
	r.pass(100 * time.Millisecond)
	r.manner = func(channels.Attempt) manner { return accepts }
	if rate() != 5 {
		t.Fatalf("after a refusal the rate is %v", rate())
	}
	r.pass(5 * time.Second)
	if w := r.core.WhyNext(r.now); w.Code != operators.WhyRate || !strings.Contains(w.Text(), "limited to 5 per second for now") {
		t.Errorf("%+v", w)
	}
	before := len(r.sent)
	r.pass(4 * time.Second)
	if n := len(r.sent) - before; n < 18 || n > 21 {
		t.Errorf("%d dispatches in 4 seconds", n)
	}
	r.pass(2 * time.Minute)
	if rate() != 10 {
		t.Errorf("after two good minutes the rate is %v", rate())
	}
}

// However often it refuses, the rate has a lower bound; nothing is dispatched twice
// and nothing becomes a dead letter.
func TestPace_IsNotLoweredForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, limit(16, 1), func(r *rig) { r.manner = func(channels.Attempt) manner { return limits } })
	r.accept(calls(5)...)
	r.pass(time.Hour)
	if got := r.core.Figures().RatePerSecond; got != 1 {
		t.Errorf("the rate is %v", got)
	}
	r.manner = func(channels.Attempt) manner { return accepts }
	r.pass(2 * time.Minute)
	for id := range weir.ContactID(5) {
		wantState(t, r, id+1, weir.Active)
	}
}

func TestPace_IsNamedAsTheReasonToWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, limit(1, 1))
	r.accept(slices.Repeat([]weir.Spec{text(1)}, 5)...)
	r.pass(1500 * time.Millisecond)
	want := "channel c: its rate limit of 1 per second is used up; the next is dispatched at 2026-03-01 09:00:02 UTC"
	if w := r.core.WhyNext(r.now); w.Code != operators.WhyRate || w.Text() != want {
		t.Errorf("%+v", w)
	}
	row := r.store[3]
	if w := r.core.Why(&row, r.now); w.Code != operators.WhyRate || !strings.HasPrefix(w.Text(), want) {
		t.Errorf("%+v", w)
	}
	r.configure(func(ch *weir.Channel) { ch.Settings = weir.Settings{} })
	r.settle()
	if f := r.core.Figures(); f.RatePerSecond != 0 || len(r.sent) != 5 {
		t.Errorf("without a limit: %d sent, %v", len(r.sent), f.RatePerSecond)
	}
}

// A changed rate keeps the bucket: no burst is gained by changing it back and
// forth.
func TestPace_ChangesGainNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5000, limit(10, 5))
	r.pass(time.Minute)
	r.accept(calls(1000)...)
	for i := range 100 {
		rate := 9.0 + float64(i%2)
		r.tell(func(c *contacts.Core, now time.Time) {
			ch := r.ch
			ch.Settings = weir.Settings{"rate_per_second": rate, "burst": 5.0}
			c.Configure(ch, false, now)
		})
		r.pass(10 * time.Millisecond)
	}
	if n := len(r.sent); n < 13 || n > 15 {
		t.Errorf("%d in a second", n)
	}
}
