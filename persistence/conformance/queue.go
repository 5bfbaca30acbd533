package conformance

import (
	"fmt"
	"testing"
	"time"

	"weir"
)

func testQueue(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	id, lease := b.owned("a")
	at := now()
	var list []weir.Spec
	for i := range 30 {
		s := sms("")
		s.Survey = fmt.Sprintf("s%d", i%3)
		s.Priority = weir.Priority(i % 2)
		list = append(list, s)
	}
	for i := range 5 {
		s := sms("")
		s.NotBefore, s.NotAfter = at.Add(time.Duration(5-i)*time.Minute), at.Add(time.Duration(10-i)*time.Minute)
		list = append(list, s)
	}
	all := b.accept(id, list...)
	checkLanes(t, b, id, all[:30])
	checkDue(t, b, id, all[30:], at)

	if oldest := b.oldestQueued(id); !oldest.Equal(all[0].QueuedAt) {
		t.Errorf("oldest queued at %v, want %v", oldest, all[0].QueuedAt)
	}
	b.commitAll(lease, claim(all[3], at), claim(all[1], at.Add(time.Second)))
	inFlight := must[[]weir.Contact](t)(b.InFlight(b.ctx(), id))
	same(t, "in flight", ids(inFlight), []weir.ContactID{all[1].ID, all[3].ID})
	// A claimed contact has no window; a requeued one has it again.
	due := all[34]
	var err error
	due.Progress, err = due.Ready()
	b.ok(err)
	b.commitAll(lease, weir.Transition{Contact: due, From: all[34].Rev, Was: weir.Delayed})
	b.commitAll(lease, claim(due, at))
	over, _, err := b.Overdue(b.ctx(), id, at.Add(time.Hour), 10)
	b.ok(err)
	if len(over) != 4 {
		t.Errorf("%d overdue, want 4", len(over))
	}
	empty := b.channel("empty")
	if lanes := must[[]weir.Lane](t)(b.Lanes(b.ctx(), empty.ID)); len(lanes) != 0 {
		t.Error("an empty channel has lanes")
	}
	if oldest := b.oldestQueued(empty.ID); !oldest.IsZero() {
		t.Error("an empty channel has an oldest contact")
	}
	same(t, "open channels", must[[]weir.ChannelID](t)(b.OpenChannels(b.ctx())), []weir.ChannelID{id})
}

func checkLanes(t *testing.T, b *bench, id weir.ChannelID, queued []weir.Contact) {
	t.Helper()
	want := map[weir.Lane][]weir.ContactID{}
	for i := range queued {
		want[queued[i].Lane()] = append(want[queued[i].Lane()], queued[i].ID)
	}
	lanes := must[[]weir.Lane](t)(b.Lanes(b.ctx(), id))
	if len(lanes) != len(want) {
		t.Errorf("%d lanes, want %d", len(lanes), len(want))
	}
	for _, lane := range lanes {
		head := must[[]weir.Contact](t)(b.Head(b.ctx(), id, lane, 0, 3))
		same(t, "head", ids(head), want[lane][:3])
		rest := must[[]weir.Contact](t)(b.Head(b.ctx(), id, lane, head[2].ID, 100))
		same(t, "rest", ids(rest), want[lane][3:])
	}
}

func checkDue(t *testing.T, b *bench, id weir.ChannelID, delayed []weir.Contact, at time.Time) {
	t.Helper()
	for _, q := range []struct {
		name         string
		read         func(time.Time, int) ([]weir.Contact, time.Time, error)
		after, limit int
		want         []int
		next         time.Time
	}{
		{"nothing due", b.due(id), 0, 10, nil, delayed[4].DueAt},
		{"some due", b.due(id), 2, 10, []int{4, 3}, delayed[2].DueAt},
		{"limit", b.due(id), 9, 2, []int{4, 3}, delayed[2].DueAt},
		{"all due", b.due(id), 9, 5, []int{4, 3, 2, 1, 0}, time.Time{}},
		{"nothing overdue", b.overdue(id), 5, 10, nil, delayed[4].NotAfter},
		{"some overdue", b.overdue(id), 7, 10, []int{4, 3}, delayed[2].NotAfter},
		{"all overdue", b.overdue(id), 90, 10, []int{4, 3, 2, 1, 0}, time.Time{}},
	} {
		got, next, err := q.read(at.Add(time.Duration(q.after)*time.Minute), q.limit)
		b.ok(err)
		var want []weir.ContactID
		for _, i := range q.want {
			want = append(want, delayed[i].ID)
		}
		same(t, q.name, ids(got), want)
		if !next.Equal(q.next) {
			t.Errorf("%s: next %v, want %v", q.name, next, q.next)
		}
	}
}

func (b *bench) due(id weir.ChannelID) func(time.Time, int) ([]weir.Contact, time.Time, error) {
	return func(at time.Time, limit int) ([]weir.Contact, time.Time, error) { return b.Due(b.ctx(), id, at, limit) }
}

func (b *bench) overdue(id weir.ChannelID) func(time.Time, int) ([]weir.Contact, time.Time, error) {
	return func(at time.Time, limit int) ([]weir.Contact, time.Time, error) {
		return b.Overdue(b.ctx(), id, at, limit)
	}
}
