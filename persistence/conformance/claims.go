package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/persistence"
)

// acceptClaimed accepts contacts, the first n of them claimed.
func (b *bench) acceptClaimed(lease weir.Incarnation, n int, list ...weir.Spec) ([]weir.Accepted, error) {
	b.t.Helper()
	a, err := b.NewAcceptance(b.ctx(), lease.Channel, list)
	b.ok(err)
	var told []weir.Accepted
	calls := 0
	done := func(got []weir.Accepted, err error) {
		if told = got; (err == nil) != (len(got) == len(list)) {
			b.t.Errorf("done was called with %d contacts and %v", len(got), err)
		}
		calls++
	}
	if !a.Submit(weir.Claims{By: lease, First: n, Done: done}) || a.Submit(weir.Claims{}) {
		b.t.Error("the first Submit submits, and no other")
	}
	got, err := a.Wait()
	if calls != 1 {
		b.t.Errorf("done was called %d times before Wait returned, want once", calls)
	}
	same(b.t, "what done was called with", told, got)
	return got, err
}

// testAcceptClaimed claims contacts in the transaction that accepts them.
func testAcceptClaimed(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	later := sms("later")
	later.NotBefore = now().Add(time.Hour)
	closing := sms("closing")
	closing.NotAfter = now().Add(time.Hour)
	got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 3, sms("now"), later, closing, sms("waits")))
	for i, want := range []weir.State{weir.Sending, weir.Delayed, weir.Sending, weir.Queued} {
		c := got[i].Contact
		if c.State != want {
			t.Errorf("contact %d is %v, want %v", i, c.State, want)
		}
		stored, _ := b.read(c.Ref)
		same(t, "stored contact", stored, c)
	}
	claimed, closes := got[0].Contact, got[2].Contact
	if claimed.Attempt != 1 || claimed.Rev != 1 || !claimed.ClaimedAt.Equal(claimed.QueuedAt) {
		t.Errorf("claimed: %+v", claimed.Progress)
	}
	b.wantQueued(id, 2)
	same(t, "in flight", must[[]weir.Contact](t)(b.InFlight(b.ctx(), id)), []weir.Contact{claimed, closes})
	same(t, "the queue", must[[]weir.Contact](t)(b.Head(b.ctx(), id, claimed.Lane(), 0, 10)), []weir.Contact{got[3].Contact})
	wantCode(t, b.DeleteChannel(b.ctx(), id), weir.CodeConflict)

	t.Run("goes on as any other", func(t *testing.T) {
		p, err := claimed.Progress.Accept(now(), "ref")
		active := to(claimed, p, err)
		b.commitAll(lease, active)
		b.commitAll(lease, finish(active.Contact, now(), weir.Completed))
		if c, _ := b.read(claimed.Ref); c.Outcome != weir.Completed {
			t.Errorf("it is %+v", c.Progress)
		}
	})
	t.Run("goes back to the queue", func(t *testing.T) {
		p, err := closes.Unclaim()
		back := to(closes, p, err)
		b.commitAll(lease, back)
		b.wantQueued(id, 3)
		over, _, err := b.Overdue(b.ctx(), id, closes.NotAfter, 10)
		b.ok(err)
		same(t, "it expires", over, []weir.Contact{back.Contact})
	})
	t.Run("a known key", func(t *testing.T) {
		again := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 3, sms("waits"), sms("fresh"), sms("fresh")))
		if !again[0].Duplicate || again[0].Contact.State != weir.Queued || again[1].Duplicate || again[1].Contact.State != weir.Sending || !again[2].Duplicate {
			t.Errorf("duplicate, then fresh and claimed, then duplicate: %+v", again)
		}
		b.wantQueued(id, 3)
		other := sms("fresh")
		other.To = "2"
		_, err := b.acceptClaimed(lease, 2, sms("refused"), other)
		wantCode(t, err, weir.CodeKeyReused)
		b.wantQueued(id, 3)
	})
	t.Run("without the lease it waits", func(t *testing.T) {
		b.acquire(id)
		got := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, sms("late")))
		if got[0].Contact.State != weir.Queued {
			t.Errorf("it is %v", got[0].Contact.State)
		}
		b.wantQueued(id, 4)
	})
}

// testUnsubmittedAcceptance leaves an acceptance to its caller.
func testUnsubmittedAcceptance(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	a, err := b.NewAcceptance(b.ctx(), id, []weir.Spec{sms("k")})
	b.ok(err)
	got := must[[]weir.Accepted](t)(a.Wait())
	if got[0].Contact.State != weir.Queued {
		t.Errorf("it is %v, want queued", got[0].Contact.State)
	}
	if a.Submit(weir.Claims{By: lease, First: 1}) {
		t.Error("it was submitted twice")
	}
	ctx, cancel := context.WithCancel(b.whole)
	cancel()
	a, err = b.NewAcceptance(ctx, id, []weir.Spec{sms("gone")})
	b.ok(err)
	_, err = a.Wait()
	wantCode(t, err, weir.CodeUnavailable)
	done := make(chan error, 1)
	a.Submit(weir.Claims{By: lease, First: 1, Done: func(_ []weir.Accepted, err error) { done <- err }})
	wantCode(t, <-done, weir.CodeUnavailable)
	b.wantQueued(id, 1)
}

// testClaimedOutlivesItsProcess ends a process after it has accepted and claimed a contact.
func testClaimedOutlivesItsProcess(t *testing.T, backend Backend) {
	url := backend.URL(t)
	if strings.Contains(url, ":memory:") {
		return // nothing outlives its process there
	}
	b := benchOn(t, url, persistence.Options{})
	_, lease := b.owned("a")
	want := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, sms("k")))[0].Contact
	b.ok(b.Close(b.ctx()))
	next := benchOn(t, url, persistence.Options{})
	next.acquire(lease.Channel)
	same(t, "in flight", must[[]weir.Contact](t)(next.InFlight(next.ctx(), lease.Channel)), []weir.Contact{want})
	next.wantQueued(lease.Channel, 0)
}

// testOpenByClaim requires that a channel whose only contact was claimed when it was
// accepted is open: after a crash its broker is started, and it is not deleted.
func testOpenByClaim(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	same(t, "open channels of a new store", must[[]weir.ChannelID](t)(b.OpenChannels(b.ctx())), []weir.ChannelID(nil))
	c := must[[]weir.Accepted](t)(b.acceptClaimed(lease, 1, sms("only")))[0].Contact
	same(t, "open channels", must[[]weir.ChannelID](t)(b.OpenChannels(b.ctx())), []weir.ChannelID{id})
	wantCode(t, b.DeleteChannel(b.ctx(), id), weir.CodeConflict)
	b.commitAll(lease, finish(c, now(), weir.Completed))
	same(t, "open channels at the end", must[[]weir.ChannelID](t)(b.OpenChannels(b.ctx())), []weir.ChannelID(nil))
	b.ok(b.DeleteChannel(b.ctx(), id))
}
