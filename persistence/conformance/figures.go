package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/operators"
)

// testFigures compares a read of many channels at once with a read of each channel.
func testFigures(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	var all []weir.ChannelID
	oldest := map[weir.ChannelID]time.Time{}
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
		if i < 2 {
			oldest[id] = got[4-4*i].QueuedAt
		}
		if i > 0 {
			continue
		}
		b.flyAll(lease, got[:4])
	}
	backlogs := must[map[weir.ChannelID]operators.Backlog](t)(b.Backlogs(b.ctx(), append(all, 999)))
	flights := must[map[weir.ChannelID]operators.Figures](t)(b.Flights(b.ctx(), append(all, 999)))
	for _, id := range all {
		same(t, fmt.Sprintf("number queued in %d", id), backlogs[id].Queued, must[int64](t)(b.QueuedCount(b.ctx(), id)))
		same(t, fmt.Sprintf("oldest queued in %d", id), backlogs[id].OldestQueuedAt, oldest[id])
	}
	same(t, "in flight", flights, map[weir.ChannelID]operators.Figures{all[0]: {InFlight: 2 + 2 + 1 + 2, Sending: 2, Active: 1, Unknown: 1}})
	if backlogs[all[0]].Queued != 8 || backlogs[all[2]].Queued != 12 || len(backlogs) != 3 {
		t.Errorf("%+v", backlogs)
	}
}

// testBacklogs reads more channels than one statement is about, some with several lanes.
func testBacklogs(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	var all []weir.ChannelID
	want := map[weir.ChannelID]operators.Backlog{}
	for i := range 503 {
		id := b.channel(fmt.Sprintf("c%d", i)).ID
		specs := []weir.Spec{sms("first")}
		for j := range i % 100 / 97 * 3 {
			s := sms(fmt.Sprintf("k%d", j))
			s.Priority, s.Survey = weir.Priority(j), fmt.Sprintf("s%d", j)
			specs = append(specs, s)
		}
		got := b.accept(id, specs...)
		all = append(all, id)
		want[id] = operators.Backlog{Queued: int64(len(specs)), OldestQueuedAt: got[0].QueuedAt}
	}
	same(t, "what waits", must[map[weir.ChannelID]operators.Backlog](t)(b.Backlogs(b.ctx(), all)), want)
}

// flyAll brings four contacts of two messages in flight: two are sending, one has
// one message delivered, one is unknown.
func (b *bench) flyAll(lease weir.Incarnation, list []weir.Contact) {
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

// minuteAt returns a minute with the counts n, n+1 and so on.
func minuteAt(channel weir.ChannelID, at time.Time, n int64) operators.Minute {
	m := operators.Minute{Channel: channel, At: at}
	for i := range m.Counts {
		m.Counts[i] = n + int64(i)
	}
	return m
}

func gauged(m operators.Minute, inFlight, most, queued int64) operators.Minute {
	m.Gauged, m.InFlight, m.MaxInFlight, m.Queued, m.Capacity = true, inFlight, most, queued, 100
	return m
}

// addMinutes requires that all minutes are written.
func (b *bench) addMinutes(list ...operators.Minute) {
	b.t.Helper()
	if rest, err := b.AddMinutes(b.ctx(), list); err != nil || len(rest) > 0 {
		b.t.Fatalf("%d minutes were not written: %v", len(rest), err)
	}
}

func testMinutes(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	a, other := b.channel("a").ID, b.channel("b").ID
	start := now().Truncate(time.Hour)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Minute) }
	read := func(from, until time.Time) ([]operators.Minute, *operators.Minute) {
		t.Helper()
		list, before, err := b.Minutes(b.ctx(), a, from, until)
		b.ok(err)
		return list, before
	}
	if list, before := read(at(0), at(60)); len(list) != 0 || before != nil {
		t.Errorf("minutes of a new store: %v, %v", list, before)
	}
	b.addMinutes()
	first, second := gauged(minuteAt(a, at(0), 1), 3, 9, 7), minuteAt(a, at(5), 2)
	b.addMinutes(second, gauged(minuteAt(other, at(0), 5), 1, 1, 1), first)
	list, before := read(at(0), at(60))
	same(t, "minutes", list, []operators.Minute{first, second})
	if before != nil {
		t.Errorf("there is one before the first: %v", before)
	}
	// The counts of another process for the same minutes are added.
	also := gauged(minuteAt(a, at(0), 10), 2, 4, 5)
	b.addMinutes(also, gauged(minuteAt(a, at(5), 0), 0, 1, 0))
	b.addMinutes(minuteAt(a, at(0), 100))
	first.Add(&also)
	hundred := minuteAt(a, at(0), 100)
	first.Add(&hundred)
	zero := gauged(minuteAt(a, at(5), 0), 0, 1, 0)
	second.Add(&zero)
	list, _ = read(at(0), at(60))
	same(t, "minutes of two", list, []operators.Minute{first, second})
	list, before = read(at(1), at(5))
	if len(list) != 0 || before == nil || !cmp.Equal(*before, first) {
		t.Errorf("between the two: %v, before %v", list, before)
	}
	testQuarters(t, b, a, other, start, []operators.Minute{first, second})
	testHours(t, b, a, start)
	testPurgeMinutes(t, b, a, at)
}

func testQuarters(t *testing.T, b *bench, a, other weir.ChannelID, start time.Time, list []operators.Minute) {
	t.Helper()
	read := func(from, until time.Time) []operators.Minute {
		t.Helper()
		return must[[]operators.Minute](t)(b.Quarters(b.ctx(), []weir.ChannelID{other, a, 99}, from, until))
	}
	both := list[0]
	both.Add(&list[1])
	theirs := gauged(minuteAt(other, start, 5), 1, 1, 1)
	b.addMinutes(minuteAt(other, start.Add(29*time.Minute), 1))
	late := minuteAt(other, start.Add(15*time.Minute), 1)
	same(t, "an hour", read(start, start.Add(time.Hour)), []operators.Minute{both, theirs, late})
	same(t, "the first", read(start, start.Add(15*time.Minute)), []operators.Minute{both, theirs})
	same(t, "the others", read(start.Add(time.Second), start.Add(time.Hour)), []operators.Minute{late})
}

// testHours expects what was written of channel a: five minutes at the start, of which two left
// three and two slots in flight.
func testHours(t *testing.T, b *bench, a weir.ChannelID, start time.Time) {
	t.Helper()
	next := start.Add(time.Hour)
	b.addMinutes(gauged(minuteAt(a, next.Add(time.Minute), 0), 40, 50, 0), gauged(minuteAt(a, next.Add(2*time.Minute), 0), 60, 60, 0))
	hours := func(from, until time.Time) []operators.Hour {
		t.Helper()
		return must[[]operators.Hour](t)(b.Hours(b.ctx(), a, from, until))
	}
	sent := int64(operators.CountSent)
	want := []operators.Hour{{At: start, Sent: 1 + 2 + 10 + 0 + 100 + 5*sent, Used: 3 + 2, Capacity: 100}, {At: next, Sent: 2 * sent, Used: 100, Capacity: 100}}
	same(t, "hours", hours(start, next.Add(time.Hour)), want)
	same(t, "the second", hours(start.Add(time.Second), next.Add(time.Second)), want[1:])
	same(t, "none", len(hours(start, start)), 0)
	if n := must[int](t)(b.PurgeHours(b.ctx(), next, 100)); n == 0 {
		t.Error("no hour was purged")
	}
	same(t, "the hours that are left", hours(start, next.Add(time.Hour)), want[1:])
}

func testPurgeMinutes(t *testing.T, b *bench, a weir.ChannelID, at func(int) time.Time) {
	t.Helper()
	var many []operators.Minute
	for i := range 1100 {
		many = append(many, minuteAt(a, at(100+i), 1))
	}
	b.addMinutes(many...)
	gone := 0
	for {
		n := must[int](t)(b.PurgeMinutes(b.ctx(), at(100+700), 1000))
		if gone += n; n == 0 {
			break
		}
	}
	list, before, err := b.Minutes(b.ctx(), a, at(0), at(100_000))
	b.ok(err)
	if gone != 706 || len(list) != 400 || before != nil || !list[0].At.Equal(at(800)) {
		t.Errorf("%d minutes went, %d minutes are left", gone, len(list))
	}
}
