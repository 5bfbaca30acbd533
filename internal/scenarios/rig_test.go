package scenarios_test

import (
	"context"
	"slices"
	"testing"

	"weir"
	"weir/channels"
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
	l := newLab(t)
	d := &labDriver{lab: l, channel: "ch"}
	for k := range senders {
		go func() {
			for n := range each {
				d.Send(context.Background(), labAttemptNumber(k*each+n))
			}
		}()
	}
	for sent := 0; sent < senders*each; {
		l.behave(func(l *lab) {
			sent = len(l.sends)
			if in := l.inFlight["ch"]; in != sent {
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
	l := newLab(t)
	l.limit["ch"] = 1
	d := &labDriver{lab: l, channel: "ch"}
	l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
		if a.ref.ID == 1 {
			l.end(a, "all", "completed")
		}
		return l.take(a)
	}
	l.end(d.told(labAttemptNumber(1)), "all", "completed") // this attempt was never sent to the provider
	for n, want := range []int{0, 1, 2} {
		d.Send(context.Background(), labAttemptNumber(n))
		if now, _ := l.use("ch"); now != want {
			t.Fatalf("after number %d there are %d in flight, want %d", n, now, want)
		}
	}
	if len(l.breaches) != 1 {
		t.Fatalf("two were in flight where one may be; the lab says %v", l.breaches)
	}
	l.breaches = slices.Delete(l.breaches, 0, 1)
}
