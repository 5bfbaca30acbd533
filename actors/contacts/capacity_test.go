package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
)

// Capacity and order. The numbers in the names of these tests are those of the
// scenarios behind the design.

// Scenario 01.
func TestCapacity_FirstFiveOfTenGoOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.accept(calls(10)...)
	wantSent(t, r, 1, 2, 3, 4, 5)
}

// Scenario 02.
func TestCapacity_EachEndLetsOneMoreOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	r.accept(calls(10)...)
	r.ends(1, weir.Completed)
	r.ends(3, weir.NoAnswer)
	wantSent(t, r, 1, 2, 3, 4, 5, 6, 7)
}

// Scenario 03.
func TestCapacity_EachDeliveredMessageLetsOneMoreOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	r.accept(slices.Repeat([]weir.Spec{text(1)}, 10)...)
	for id := weir.ContactID(1); id <= 4; id++ {
		r.ends(id, weir.Completed)
	}
	wantCounts(t, r, 8, 4)
}

// Scenario 04.
func TestCapacity_EachMessageOfAContactFreesItsSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.accept(text(3), text(1))
	for range 2 {
		r.ends(1, weir.Completed)
	}
	if c := r.store[1]; c.State != weir.Active || c.Slots(3) != 1 {
		t.Fatalf("two of three are delivered: %v with %d slots", c.State, c.Slots(3))
	}
	wantSent(t, r, 1, 2)
	r.ends(1, weir.Completed)
	wantDone(t, r, 1, weir.Completed)
}

// Scenario 05.
func TestCapacity_LargeContactWaitsAtTheHead(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	r.accept(text(1), text(1), text(1), text(3), text(1))
	wantSent(t, r, 1, 2, 3) // the fifth would fit, but does not overtake
	r.ends(1, weir.Completed)
	wantSent(t, r, 1, 2, 3)
	r.ends(2, weir.Completed)
	wantSent(t, r, 1, 2, 3, 4)
}

// Scenario 05.
func TestCapacity_ContactsTooLargeGoWhenTheChannelGrows(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	ids := r.accept(text(3), text(1), text(4))
	wantSent(t, r, 2)
	if f := r.core.Figures(); f.Blocked != 2 {
		t.Fatalf("%d contacts are shown as blocked, want 2", f.Blocked)
	}
	r.cancelContact(ids[2])
	if f := r.core.Figures(); f.Blocked != 1 {
		t.Fatalf("one was canceled: %d contacts are shown as blocked, want 1", f.Blocked)
	}
	r.setCapacity(4)
	wantSent(t, r, 2, 1)
	if f := r.core.Figures(); f.Blocked != 0 {
		t.Fatalf("%d contacts are shown as blocked, want none", f.Blocked)
	}
}

// Scenario 09.
func TestCapacity_RaisedCapacityIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	r.accept(calls(10)...)
	r.setCapacity(6)
	wantCounts(t, r, 6, 6)
}

// Scenario 10.
func TestCapacity_LoweredCapacityCancelsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.accept(calls(20)...)
	r.setCapacity(4)
	for id := weir.ContactID(1); id <= 6; id++ {
		r.ends(id, weir.Completed)
	}
	wantCounts(t, r, 10, 4)
	r.ends(7, weir.Completed)
	wantCounts(t, r, 11, 4)
}

// Scenario 10.
func TestCapacity_HoldsIfLoweredBetweenClaimAndDispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	r.settle()
	r.hold["written"] = true
	r.accept(calls(6)...)
	r.configure(func(ch *weir.Channel) { ch.Capacity = 2 })
	delete(r.hold, "written")
	r.settle()
	wantCounts(t, r, 2, 2)
}

// Scenario 13.
func TestCapacity_FreedSlotsAreFilledAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("by cancel", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 1)
		r.accept(calls(2)...)
		r.cancelContact(1)
		r.pass(3 * time.Second)
		wantDone(t, r, 1, weir.Canceled)
		wantSent(t, r, 1, 2)
	})
	t.Run("by expiry", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 1)
		r.accept(calls(1)...)
		r.accept(calls(3, func(s *weir.Spec) { s.NotAfter = start.Add(time.Minute) })...)
		r.accept(calls(1)...)
		r.now = start.Add(time.Minute)
		r.ends(1, weir.Completed)
		wantSent(t, r, 1, 5)
	})
	t.Run("by collection", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, 1)
		r.accept(calls(2)...)
		r.prov.busy()[0].over = true // without a report
		r.pass(5 * time.Minute)
		wantSent(t, r, 1, 2)
	})
}

// Scenario 14.
func TestCapacity_GoesByPriorityThenArrival(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.ch.Paused = true })
	for _, p := range []weir.Priority{weir.Normal, weir.High, weir.Normal, weir.High, weir.Reply} {
		r.accept(with(text(1), func(s *weir.Spec) { s.Priority = p }))
	}
	r.pause(false)
	for _, id := range []weir.ContactID{5, 2, 4, 1} {
		r.ends(id, weir.Completed)
	}
	wantSent(t, r, 5, 2, 4, 1, 3)
}

// Scenario 16.
func TestCapacity_KeepsArrivalWithinOneInstant(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100)
	r.hold["receive"] = true
	r.cfg.SendConcurrency = 100
	var want []weir.ContactID
	for range 7 {
		want = append(want, r.accept(calls(13)...)...)
	}
	delete(r.hold, "receive")
	r.settle()
	wantSent(t, r, want...)
}

// Scenario 16.
func TestCapacity_KeepsArrivalIfAcceptancesSwap(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.ch.Paused = true })
	list := r.insert(calls(4)...)
	for _, part := range [][]weir.Contact{list[2:], list[:2]} {
		r.tell(func(c *contacts.Core, now time.Time) { c.Accepted(part, now) })
	}
	r.pause(false)
	for id := weir.ContactID(1); id <= 3; id++ {
		r.ends(id, weir.Completed)
	}
	wantSent(t, r, 1, 2, 3, 4)
}

// A contact can be read with a page, and be dispatched, before the event of its
// acceptance arrives. It must not be counted twice.
func TestCapacity_LateAcceptanceIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	list := r.insert(calls(2)...)
	r.tell(func(c *contacts.Core, now time.Time) { c.Woken(now) })
	r.settle()
	wantSent(t, r, 1, 2)
	r.ends(1, weir.Completed)
	r.tell(func(c *contacts.Core, now time.Time) { c.Accepted(list, now) })
	r.settle()
	wantSent(t, r, 1, 2)
}

// Scenario 17.
func TestCapacity_NormalIsNotStarved(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	high := with(text(1), func(s *weir.Spec) { s.Priority = weir.High })
	r.accept(high, high)
	normal := r.accept(text(1))[0]
	for n := range 20 {
		r.accept(high)
		r.ends(r.sent[len(r.sent)-1].ID, weir.Completed)
		if r.sent[len(r.sent)-1].ID == normal {
			if n > 10 {
				t.Fatalf("it waited for %d others", n)
			}
			return
		}
	}
	t.Fatalf("20 of high priority were served and the normal one never")
}

// Scenario 18.
func TestCapacity_SurveysShareFairly(t *testing.T) {
	t.Parallel()
	r := newRig(t, 10)
	for _, survey := range []string{"a", "b"} {
		r.accept(slices.Repeat([]weir.Spec{with(text(1), func(s *weir.Spec) { s.Survey = survey })}, 300)...)
	}
	served := map[string]int{}
	for len(r.sent) < 210 {
		r.ends(r.prov.busy()[0].ref.ID, weir.Completed)
	}
	for _, ref := range r.sent[10:] {
		served[r.store[ref.ID].Survey]++
	}
	if a := served["a"]; a < 90 || a > 110 {
		t.Fatalf("of 200 the first survey got %d", a)
	}
	if r.pages == 0 {
		t.Fatalf("the window held everything: nothing was read")
	}
}

func TestCapacity_ReserveIsKeptForReplies(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4, func(r *rig) { r.ch.Settings["reply_reserve"] = 1.0 })
	r.accept(slices.Repeat([]weir.Spec{text(1)}, 5)...)
	wantSent(t, r, 1, 2, 3)
	reply := with(text(1), func(s *weir.Spec) { s.Priority = weir.Reply })
	r.accept(reply)
	wantSent(t, r, 1, 2, 3, 6)
	r.accept(reply)
	wantCounts(t, r, 4, 4)
	r.ends(6, weir.Completed)
	wantSent(t, r, 1, 2, 3, 6, 7)
}
