package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
)

// of returns n contacts of a survey, each of the given number of messages.
func of(survey string, n, messages int) []weir.Spec {
	return slices.Repeat([]weir.Spec{with(text(messages), func(s *weir.Spec) { s.Survey = survey })}, n)
}

// at returns n contacts of one message of a priority.
func at(p weir.Priority, n int) []weir.Spec {
	return slices.Repeat([]weir.Spec{with(text(1), func(s *weir.Spec) { s.Priority = p })}, n)
}

// serve ends contacts, the oldest first, until n more are dispatched, and returns those.
func (r *rig) serve(n int) []weir.Contact {
	r.t.Helper()
	before := len(r.sent)
	for len(r.sent) < before+n {
		busy := r.prov.busy()
		if len(busy) == 0 {
			r.t.Fatalf("nothing is in flight after %d of %d dispatches", len(r.sent)-before, n)
		}
		r.ends(busy[0].ref.ID, weir.Completed)
	}
	var list []weir.Contact
	for _, ref := range r.sent[before:] {
		list = append(list, r.store[ref.ID])
	}
	return list
}

// slotsOf returns the share of a survey in the slots of the contacts, in percent.
func slotsOf(survey string, list []weir.Contact) int {
	own, all := 0, 0
	for i := range list {
		all += list[i].Size()
		if list[i].Survey == survey {
			own += list[i].Size()
		}
	}
	return 100 * own / all
}

func wantHalf(t *testing.T, list []weir.Contact) {
	t.Helper()
	if a := slotsOf("a", list); a < 45 || a > 55 {
		t.Errorf("of the slots one of two surveys gets %d%%, want half", a)
	}
}

// Surveys share slots, not contacts.
func TestLanes_ShareSlots(t *testing.T) {
	t.Parallel()
	r := newRig(t, 6, func(r *rig) { r.ch.Paused = true })
	r.accept(of("a", 100, 3)...)
	r.accept(of("b", 300, 1)...)
	r.pause(false)
	wantHalf(t, r.serve(200))
}

// A survey that comes later shares from then on: it neither waits for the contacts that
// came before nor makes up for the time when it had none.
func TestLanes_LateSurveyGetsItsShare(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.accept(of("b", 200, 1)...)
	r.serve(100)
	r.accept(of("a", 50, 1)...)
	wantHalf(t, r.serve(20))
}

// A survey whose contacts come one at a time gets no more than one whose contacts wait.
func TestLanes_OneAtATimeGetsItsShare(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.accept(of("b", 200, 1)...)
	r.accept(of("a", 1, 3)...)
	var served []weir.Contact
	for len(served) < 120 {
		next := r.serve(1)[0]
		if served = append(served, next); next.Survey == "a" {
			r.accept(of("a", 1, 3)...)
		}
	}
	wantHalf(t, served)
}

// What a survey got while nobody else waited is not held against it.
func TestLanes_AloneOwesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 20)
	r.accept(of("a", 1, 20)...)
	r.accept(of("a", 20, 1)...)
	r.accept(of("b", 20, 1)...)
	r.serve(20)
	wantHalf(t, r.serve(10))
}

// The window's room of surveys whose contacts are all dispatched goes to the others,
// which are then read in larger pages.
func TestLanes_RoomOfServedSurveysGoesToOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, func(r *rig) { r.ch.Paused = true })
	for n := range 40 {
		r.accept(of(string(rune('b'+n)), 1, 1)...)
	}
	r.accept(of("a", 1000, 1)...)
	r.pause(false)
	r.serve(200)
	before := r.pages
	r.serve(600)
	if n := r.pages - before; n > 8 {
		t.Errorf("600 contacts are read in %d pages, with room for 200", n)
	}
}

// A lower priority is served once for nine of those before it.
func TestPriorities_LowerGetATenth(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(r *rig) { r.ch.Paused = true })
	for _, p := range []weir.Priority{weir.Normal, weir.High, weir.Reply} {
		r.accept(at(p, 130)...)
	}
	r.pause(false)
	served := map[weir.Priority]int{}
	for _, c := range r.serve(110) {
		served[c.Priority]++
	}
	if served[weir.Reply] != 90 || served[weir.High] != 10 || served[weir.Normal] != 10 {
		t.Errorf("of 110 dispatches %d are replies, %d high and %d normal, want 90, 10 and 10",
			served[weir.Reply], served[weir.High], served[weir.Normal])
	}
}

// A contact of low priority is passed over nine times from its acceptance on, however
// many went before.
func TestPriorities_ContactsAgeFromAcceptance(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.accept(at(weir.High, 60)...)
	r.serve(30)
	r.accept(at(weir.Normal, 1)...)
	for i, c := range r.serve(10) {
		if normal := c.Priority == weir.Normal; normal != (i == 9) {
			t.Fatalf("dispatch %d after its acceptance has priority %d; want nine of high priority, then it", i+1, c.Priority)
		}
	}
}

// A contact that has aged goes before replies, except that these may use their reserve
// while it waits for a slot.
func TestPriorities_RepliesUseTheirReserve(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5, func(r *rig) { r.ch.Settings["reply_reserve"] = 2.0 })
	r.accept(text(3), text(1))
	for range 9 {
		reply := r.accept(at(weir.Reply, 1)...)[0]
		r.ends(reply, weir.Completed)
	}
	before := len(r.sent)
	r.accept(at(weir.Reply, 3)...)
	if n := len(r.sent) - before; n != 2 {
		t.Fatalf("%d replies are dispatched on a reserve of 2", n)
	}
	r.ends(1, weir.Completed) // one of its messages
	if id := r.sent[len(r.sent)-1].ID; id != 2 {
		t.Errorf("contact %d gets the slot that is free, want 2", id)
	}
}

// Of lanes whose turn is the same, the one whose contact was accepted first goes first.
func TestLanes_TheOlderContactGoesFirst(t *testing.T) {
	t.Parallel()
	const lanes = 12
	r := newRig(t, 1, paused, takes(completes))
	for i := range lanes {
		r.accept(of(string(rune('z'-i)), 1, 1)...)
	}
	r.pause(false)
	r.pass(time.Minute)
	for i, ref := range r.sent {
		if ref.ID != weir.ContactID(i+1) {
			t.Fatalf("dispatched in the order %v", r.sent)
		}
	}
	if len(r.sent) != lanes {
		t.Errorf("%d of %d were dispatched", len(r.sent), lanes)
	}
}
