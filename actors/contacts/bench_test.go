package contacts_test

import (
	"slices"
	"testing"
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
)

// BenchmarkContact measures the core's share of one contact: accepted, claimed,
// sent, reported, on a channel that is always full.
func BenchmarkContact(b *testing.B) {
	const capacity = 1000
	cfg := config()
	cfg.SendConcurrency = capacity
	now := start
	c := contacts.New(cfg, contacts.Snapshot{Channel: weir.Channel{ID: 1, Capacity: capacity, Settings: weir.Settings{}}}, now)
	step := func(event func()) contacts.Effects {
		event()
		e := c.Take()
		c.NextWake(now)
		return e
	}
	step(func() { c.PrepareDone(nil, now) })
	step(func() { c.DueRead(nil, time.Time{}, now) })
	step(func() { c.OverdueRead(nil, time.Time{}, now) })
	var active []weir.AttemptRef
	begin := func(e contacts.Effects) {
		for _, k := range e.Commits {
			if len(k.Claimed) == 0 {
				continue
			}
			for _, a := range step(func() { c.ClaimsCommitted(k.Claimed, nil, nil, now) }).Sends {
				step(func() { c.SendDone(a.ID, channels.SendResult{Status: channels.Accepted, ProviderRef: "r"}, now) })
				active = append(active, a.ID)
			}
		}
	}
	id := weir.ContactID(0)
	accept := func() {
		id++
		contact := weir.Contact{Ref: weir.Ref{Channel: 1, ID: id}, QueuedAt: now, Progress: weir.Progress{State: weir.Queued}}
		contact.Priority = weir.Normal
		begin(step(func() { c.Accepted([]weir.Contact{contact}, now) }))
	}
	for range capacity {
		accept()
	}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		accept()
		ref := active[0]
		active = slices.Delete(active, 0, 1)
		begin(step(func() {
			c.Report(weir.Report{Attempt: ref, Part: weir.WholeContact, Outcome: weir.Completed}, contacts.Origin{}, now)
		}))
	}
	if len(active) != capacity {
		b.Fatalf("%d are active, want %d", len(active), capacity)
	}
}
