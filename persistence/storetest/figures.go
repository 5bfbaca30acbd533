package storetest

import (
	"fmt"
	"testing"
	"time"

	"weir"
	"weir/ops"
)

// testFigures compares a read of many channels at once with a read of each channel.
func testFigures(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	var all []weir.ChannelID
	for i := range 4 {
		id, lease := b.owned(fmt.Sprintf("c%d", i))
		all = append(all, id)
		if i == 3 {
			continue // this channel never gets a contact
		}
		var list []weir.Spec
		for j := range 12 {
			s := sms(fmt.Sprintf("k%d", j))
			s.Survey, s.Priority = fmt.Sprintf("s%d", j%4), weir.Priority(j%3)
			s.Messages = []string{"a", "b"}
			if i == 2 {
				s.NotBefore = now().Add(time.Hour)
			}
			list = append(list, s)
		}
		got := b.accept(id, list...)
		if i > 0 {
			continue
		}
		b.flyAll(lease, got[:4])
	}
	backlogs := must[map[weir.ChannelID]ops.Backlog](t)(b.Backlogs(b.ctx, append(all, 999)))
	flights := must[map[weir.ChannelID]ops.Figures](t)(b.Flights(b.ctx, append(all, 999)))
	for _, id := range all {
		oldest := must[time.Time](t)(b.OldestQueued(b.ctx, id))
		same(t, fmt.Sprintf("backlog of %d", id), backlogs[id], ops.Backlog{Queued: must[int64](t)(b.QueuedCount(b.ctx, id)), OldestQueuedAt: oldest})
	}
	same(t, "in flight", flights, map[weir.ChannelID]ops.Figures{all[0]: {InFlight: 2 + 2 + 1 + 2, Sending: 2, Active: 1, Unknown: 1}})
	if backlogs[all[0]].Queued != 8 || backlogs[all[2]].Queued != 12 || len(backlogs) != 3 {
		t.Errorf("%+v", backlogs)
	}
}

// flyAll brings four contacts of two messages in flight: two are sending, one has
// one message delivered, one is unknown.
func (b *bench) flyAll(lease weir.Lease, list []weir.Contact) {
	b.t.Helper()
	var ts []weir.Transition
	for i := range list {
		ts = append(ts, claim(list[i], now()))
	}
	b.commitAll(lease, ts...)
	p, _, err := ts[2].Contact.ReportPart(now(), 2, 1, weir.PartDelivered)
	half := to(ts[2].Contact, p, err)
	p, err = ts[3].Contact.MarkUnknown("who knows")
	b.commitAll(lease, half, to(ts[3].Contact, p, err))
}
