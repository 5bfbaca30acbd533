package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir"
)

// history is the expected content of the store, kept in naive maps.
type history struct {
	b        *bench
	channel  weir.ChannelID
	lease    weir.Incarnation
	contacts []weir.Contact
	keys     map[string]weir.ContactID
	specs    map[string]weir.Spec // by key, as first accepted
	later    time.Time            // when delayed contacts are due

	events contactLog
}

// testHistories draws random histories, with concurrent changes, stale
// revisions, earlier incarnations and events that are enabled at some point, and compares the store with a
// naive map.
func testHistories(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	after := int64(0)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		id, lease := b.owned(fmt.Sprintf("h%d", n))
		h := &history{b: b, channel: id, lease: lease, keys: map[string]weir.ContactID{}, specs: map[string]weir.Spec{}, later: now().Add(time.Hour)}
		h.events = contactLog{b: b, after: &after, want: map[weir.ContactID][]string{}}
		h.events.reset(r)
		for range rapid.IntRange(1, 6).Draw(r, "rounds") {
			if rapid.Bool().Draw(r, "a client wants events of contacts") {
				h.events.enable(r)
			}
			h.accept(r)
			h.round(r)
			h.check(r)
			h.events.check(r)
		}
	})
}

func (h *history) accept(r *rapid.T) {
	var list []weir.Spec
	for range rapid.IntRange(0, 5).Draw(r, "specs") {
		s := sms(rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(r, "key"))
		s.Survey = rapid.SampledFrom([]string{"", "s"}).Draw(r, "survey")
		if rapid.Bool().Draw(r, "delayed") {
			s.NotBefore = h.later
		}
		list = append(list, s)
	}
	claimed := 0
	if len(list) > 0 {
		claimed = rapid.IntRange(0, len(list)).Draw(r, "claimed")
	}
	lease := h.lease
	if rapid.IntRange(0, 4).Draw(r, "incarnation of before") == 0 {
		lease.Number--
	}
	got, err := h.acceptClaimed(lease, claimed, list)
	if h.reused(list) {
		if weir.CodeOf(err) != weir.CodeKeyReused {
			r.Fatalf("a key with other content: %v", err)
		}
		return
	}
	if err != nil {
		r.Fatal(err)
	}
	for i, a := range got {
		known, ok := h.keys[list[i].Key]
		ok = ok && list[i].Key != ""
		if a.Duplicate != ok || ok && known != a.Contact.ID {
			r.Fatalf("spec %d: %+v, key known: %v", i, a, ok)
		}
		if claim := !ok && i < claimed && lease == h.lease && list[i].NotBefore.IsZero(); !ok && claim != (a.Contact.State == weir.Sending) {
			r.Fatalf("spec %d is %v, to be claimed: %v", i, a.Contact.State, claim)
		}
		if !ok {
			h.keys[list[i].Key], h.specs[list[i].Key] = a.Contact.ID, list[i]
			h.contacts = append(h.contacts, a.Contact)
			if a.Contact.State == weir.Sending {
				h.events.note(a.Contact.ID, "dispatched 1")
			}
		}
	}
}

func (h *history) acceptClaimed(lease weir.Incarnation, n int, list []weir.Spec) ([]weir.Accepted, error) {
	a, err := h.b.NewAcceptance(h.b.ctx(), h.channel, list)
	if err != nil {
		return nil, err
	}
	a.Submit(weir.Claims{By: lease, First: n})
	return a.Wait()
}

// reused reports whether a key of the list belongs to a contact with other content
// that is stored or comes earlier in the list.
func (h *history) reused(list []weir.Spec) bool {
	known := maps.Clone(h.specs)
	for _, s := range list {
		first, ok := known[s.Key]
		switch {
		case s.Key == "":
		case !ok:
			known[s.Key] = s
		case first.Survey != s.Survey || !first.NotBefore.Equal(s.NotBefore):
			return true
		}
	}
	return false
}

// round commits several changes at once and then checks the results.
func (h *history) round(r *rapid.T) {
	type sent struct {
		result <-chan weir.CommitResult
		lost   bool
		stale  []weir.ContactID
	}
	var list []sent
	for range rapid.IntRange(0, 6).Draw(r, "changes") {
		c := weir.Change{By: h.lease}
		var s sent
		if s.lost = rapid.IntRange(0, 9).Draw(r, "lost") == 0; s.lost {
			c.By.Number--
		}
		used := map[int]bool{}
		for range rapid.IntRange(0, 4).Draw(r, "transitions") {
			if len(h.contacts) == 0 {
				break
			}
			i := rapid.IntRange(0, len(h.contacts)-1).Draw(r, "contact")
			if used[i] {
				continue
			}
			used[i] = true
			tr, event := step(r, h.contacts[i])
			stale := rapid.IntRange(0, 7).Draw(r, "stale") == 0
			switch {
			case stale:
				tr.From += 100
				s.stale = append(s.stale, tr.Contact.ID)
			case !s.lost:
				h.contacts[i] = tr.Contact
				h.events.note(tr.Contact.ID, event)
			}
			c.Transitions = append(c.Transitions, tr)
		}
		s.result = h.b.later(c)
		list = append(list, s)
	}
	for i, s := range list {
		got := <-s.result
		if s.lost {
			if !errors.Is(got.Err, weir.ErrSuperseded) {
				r.Fatalf("change %d of an earlier incarnation: %+v", i, got)
			}
			continue
		}
		slices.Sort(got.Stale)
		slices.Sort(s.stale)
		if got.Err != nil || fmt.Sprint(got.Stale) != fmt.Sprint(s.stale) {
			r.Fatalf("change %d: %+v, want stale %v", i, got, s.stale)
		}
	}
}

// step draws a transition that the contact allows, and returns the event that it causes,
// if any.
func step(r *rapid.T, c weir.Contact) (_ weir.Transition, event string) {
	switch {
	case c.State == weir.Queued && rapid.Bool().Draw(r, "claim"):
		return claim(c, now()), fmt.Sprintf("dispatched %d", c.Attempt+1)
	case c.State == weir.Delayed && rapid.Bool().Draw(r, "ready"):
		p, err := c.Ready()
		return to(c, p, err), ""
	case c.State == weir.Sending && rapid.IntRange(0, 3).Draw(r, "unclaim") == 0:
		p, err := c.Unclaim()
		return to(c, p, err), fmt.Sprintf("requeued %d", c.Attempt)
	case c.State == weir.Sending && rapid.IntRange(0, 3).Draw(r, "unknown") == 0:
		p, err := c.MarkUnknown("lost")
		return to(c, p, err), ""
	case c.State.InFlight() && rapid.Bool().Draw(r, "requeue"):
		due := time.Time{}
		if rapid.Bool().Draw(r, "later") {
			due = now().Add(time.Hour)
		}
		return requeue(c, now(), due), fmt.Sprintf("requeued %d", c.Attempt)
	case c.State.InFlight() && rapid.Bool().Draw(r, "active"):
		if c.State != weir.Active {
			event = fmt.Sprintf("accepted %d", c.Attempt)
		}
		p, err := c.Progress.Accept(now(), "ref")
		return to(c, p, err), event
	case c.State == weir.Done:
		t := weir.Transition{From: c.Rev, Was: c.State, Contact: c}
		t.Contact.Rev++
		if c.Outcome != weir.Canceled { // it was delivered after all; the core makes no transition that corrects nothing
			t.Contact.Outcome, event = weir.Completed, fmt.Sprintf("corrected %d completed", c.Attempt)
		}
		return t, event
	default:
		o := rapid.SampledFrom([]weir.Outcome{weir.Canceled, weir.Failed}).Draw(r, "outcome")
		return finish(c, now(), o), fmt.Sprintf("done %d %s", c.Attempt, o)
	}
}

func (h *history) check(r *rapid.T) {
	waiting := int64(0)
	want := map[weir.ContactID]weir.Contact{}
	for _, c := range h.contacts {
		want[c.ID] = c
		if c.State.Waiting() {
			waiting++
		}
	}
	n, err := h.b.QueuedCount(h.b.ctx(), h.channel)
	if err != nil || n != waiting {
		r.Fatalf("%d counted as queued, want %d (%v)", n, waiting, err)
	}
	list, _, err := h.b.Contacts(h.b.ctx(), weir.ContactFilter{Channel: h.channel, Limit: 1000})
	if err != nil || len(list) != len(want) {
		r.Fatalf("%d contacts, want %d (%v)", len(list), len(want), err)
	}
	for _, c := range list {
		if fmt.Sprintf("%+v", c) != fmt.Sprintf("%+v", want[c.ID]) {
			r.Fatalf("stored %+v\nwant %+v", c, want[c.ID])
		}
	}
}
