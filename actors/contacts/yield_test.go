package contacts_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
	"weir/channels"
	"weir/operators"
)

// Whatever contact fails as the channel's fault, wherever it is in the queue, the
// others are done within a minute, in their order, and nobody is lost. Of several such contacts, each
// may be the probe of another minute.
func TestYields_FewContactsStopNoOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const others = 20
		r := newRig(t, rapid.IntRange(1, 30).Draw(t, "capacity"), func(r *rig) {
			r.cfg.SendConcurrency = rapid.IntRange(1, 8).Draw(t, "concurrency")
		})
		bad := map[weir.ContactID]manner{}
		for id := range rapid.MapOfN(rapid.IntRange(1, others), rapid.Bool(), 1, 3).Draw(t, "bad") {
			bad[weir.ContactID(id)] = rapid.SampledFrom([]manner{isDown, limits}).Draw(t, "manner")
		}
		r.manner = func(a channels.Attempt) manner {
			if m, is := bad[a.ID.ID]; is {
				return m
			}
			return completes
		}
		surveys, priorities := rapid.IntRange(1, 3).Draw(t, "surveys"), rapid.IntRange(1, 3).Draw(t, "priorities")
		var specs []weir.Spec
		for i := range others + len(bad) {
			s := text(1)
			s.Survey, s.Priority = fmt.Sprint(i%surveys), weir.Priority(i%priorities)
			specs = append(specs, s)
		}
		first := rapid.IntRange(0, len(specs)).Draw(t, "accepted first")
		r.accept(specs[:first]...)
		// Alone, those that fail make the channel's pauses longer and longer.
		r.pass(time.Duration(rapid.IntRange(0, 1800).Draw(t, "seconds")) * time.Second)
		r.accept(specs[first:]...)
		r.pass(time.Duration(2*len(bad)-1) * time.Minute)
		last := map[weir.Lane]weir.ContactID{}
		for _, ref := range r.sent {
			c := r.store[ref.ID]
			if _, is := bad[ref.ID]; is {
				continue
			}
			// Of several at one time, some are claimed when the breaker opens, and go back.
			if ref.ID < last[c.Lane()] && r.cfg.SendConcurrency == 1 {
				t.Fatalf("contact %d was dispatched after %d: %v", ref.ID, last[c.Lane()], r.sent)
			}
			last[c.Lane()] = ref.ID
		}
		for _, c := range r.store.all() {
			_, is := bad[c.ID]
			if is && (c.State == weir.Done || c.Failures > 0) || !is && c.Outcome != weir.Completed {
				t.Fatalf("contact %d, bad: %v, is %v %q after %d attempts", c.ID, is, c.State, c.Outcome, c.Attempt)
			}
		}
	})
}

// While a provider works for nobody, contacts take turns as the probe; then all are dispatched
// in the order of acceptance, except those that happened to be dispatched when it began to work.
func TestYields_ProviderThatIsDownKeepsTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "contacts")
		r := newRig(t, 40, takes(isDown), func(r *rig) { r.cfg.SendConcurrency = rapid.IntRange(1, 8).Draw(t, "concurrency") })
		r.accept(calls(n)...)
		for range rapid.IntRange(0, 40).Draw(t, "probes") {
			before := len(r.sent)
			if r.core.Figures().Breaker == operators.BreakerClosed {
				t.Fatalf("it is closed")
			}
			r.pass(r.core.Figures().BreakerUntil.Sub(r.now))
			if before > 0 && n > 1 && r.sent[before].ID == r.sent[before-1].ID {
				t.Fatalf("contact %d failed and is the next probe", r.sent[before].ID)
			}
		}
		r.manner = func(channels.Attempt) manner { return completes }
		before := len(r.sent)
		r.pass(2 * time.Minute)
		after := r.sent[before+1:]
		if len(r.sent)-before != n || !slices.IsSortedFunc(after, func(a, b weir.AttemptRef) int { return int(a.ID - b.ID) }) {
			t.Fatalf("of %d contacts, %v were dispatched", n, r.sent[before:])
		}
	})
}

// A contact that fails alone and for long does not make another wait that comes later, unless
// the provider asked for a pause.
func TestYields_AnotherContactIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{0, 10 * time.Minute} {
		r := newRig(t, 5)
		r.prov.retry = pause
		r.manner = func(a channels.Attempt) manner {
			if a.ID.ID == 1 {
				return isDown
			}
			return accepts
		}
		r.accept(calls(1)...)
		r.pass(time.Hour + time.Second)
		r.accept(calls(1)...)
		if want := map[bool]weir.State{true: weir.Active, false: weir.Queued}[pause == 0]; r.store[2].State != want {
			t.Errorf("after a pause of %v, the other contact is %v, want %v", pause, r.store[2].State, want)
		}
	}
}

// A contact that keeps failing as the channel's fault while others succeed waits behind them: not at all after the first
// failure, then four times as long each time, up to four minutes.
func TestYields_AContactThatKeepsFailingWaitsLonger(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.cfg.SendConcurrency = 1 })
	r.manner = func(a channels.Attempt) manner {
		if a.ID.ID == 1 {
			return isDown
		}
		return completes
	}
	var waits []time.Duration
	r.accept(text(1))
	for range 9 {
		if c := r.store[1]; c.State == weir.Delayed {
			from := r.sentAt[len(r.sentAt)-1]
			if until := r.core.Figures().BreakerUntil; until.After(from) {
				from = until
			}
			waits = append(waits, c.DueAt.Sub(from))
		} else {
			waits = append(waits, 0)
		}
		sent := sends(r, 1)
		for r.accept(text(1)); sends(r, 1) == sent; { // which succeeds, and closes the breaker
			r.pass(time.Second)
		}
	}
	want := []time.Duration{0, time.Second, 4 * time.Second, 16 * time.Second, 64 * time.Second, 4 * time.Minute, 4 * time.Minute, 4 * time.Minute, 4 * time.Minute}
	if !slices.Equal(waits, want) {
		t.Errorf("it waits %v, want %v", waits, want)
	}
}

// sends returns how often a contact was dispatched.
func sends(r *rig, id weir.ContactID) (n int) {
	for _, ref := range r.sent {
		if ref.ID == id {
			n++
		}
	}
	return n
}
