package contacts_test

import (
	"context"
	"slices"
	"testing"

	"weir"
	"weir/channels"
	"weir/test/scenarios/world"
)

// The lab judges whether a capacity was exceeded. It must neither miss a breach
// nor count finished attempts.

func labAttemptNumber(n int) channels.Attempt {
	ref := weir.AttemptRef{Ref: weir.Ref{Channel: 1, ID: weir.ContactID(n + 1)}, Number: 1}
	return channels.Attempt{ID: ref, Messages: []string{ref.String()}}
}

// A test ends a contact as soon as it sees that it was sent. The contact must be in
// flight by then: otherwise the end would be lost and it would stay in flight forever.
func TestLab_WhatIsSeenAsSentIsInFlight(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 250
	l := world.NewLab(t)
	d := &world.LabDriver{Lab: l, Channel: "ch"}
	for k := range senders {
		go func() {
			for n := range each {
				d.Send(context.Background(), labAttemptNumber(k*each+n))
			}
		}()
	}
	for sent := 0; sent < senders*each; {
		l.Behave(func(l *world.Lab) {
			sent = len(l.Sends)
			if in := l.InFlight["ch"]; in != sent {
				t.Errorf("%d are seen as sent, and %d are in flight", sent, in)
				sent = senders * each
			}
		})
	}
}

// With a test's own onSend, an end can arrive before the attempt is accepted. It
// ends that attempt and no other; attempts in flight for longer still count.
func TestLab_WhatEndedBeforeItWasTakenIsOver(t *testing.T) {
	t.Parallel()
	l := world.NewLab(t)
	l.Limit["ch"] = 1
	d := &world.LabDriver{Lab: l, Channel: "ch"}
	l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
		if a.Ref.ID == 1 {
			l.End(a, "all", "completed")
		}
		return l.Take(a)
	}
	l.End(d.Told(labAttemptNumber(1)), "all", "completed") // this attempt was never sent to the provider
	for n, want := range []int{0, 1, 2} {
		d.Send(context.Background(), labAttemptNumber(n))
		if now, _ := l.Use("ch"); now != want {
			t.Fatalf("after number %d there are %d in flight, want %d", n, now, want)
		}
	}
	if len(l.Breaches) != 1 {
		t.Fatalf("two were in flight where one may be; the lab says %v", l.Breaches)
	}
	l.Breaches = slices.Delete(l.Breaches, 0, 1)
}
