package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/ops"
)

// minuteAt returns a minute with the counts n, n+1 and so on.
func minuteAt(channel weir.ChannelID, at time.Time, n int64) ops.Minute {
	m := ops.Minute{Channel: channel, At: at}
	for i := range m.Counts {
		m.Counts[i] = n + int64(i)
	}
	return m
}

func gauged(m ops.Minute, inFlight, most, queued int64) ops.Minute {
	m.Gauged, m.InFlight, m.MaxInFlight, m.Queued, m.Capacity = true, inFlight, most, queued, 100
	return m
}

// addMinutes requires that all minutes are written.
func (b *bench) addMinutes(list ...ops.Minute) {
	b.t.Helper()
	if rest, err := b.AddMinutes(b.ctx, list); err != nil || len(rest) > 0 {
		b.t.Fatalf("%d minutes were not written: %v", len(rest), err)
	}
}

func testMinutes(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	a, other := b.channel("a").ID, b.channel("b").ID
	start := now().Truncate(time.Hour)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Minute) }
	read := func(from, until time.Time) ([]ops.Minute, *ops.Minute) {
		t.Helper()
		list, before, err := b.Minutes(b.ctx, a, from, until)
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
	same(t, "minutes", list, []ops.Minute{first, second})
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
	same(t, "minutes of two", list, []ops.Minute{first, second})
	list, before = read(at(1), at(5))
	if len(list) != 0 || before == nil || !cmp.Equal(*before, first) {
		t.Errorf("between the two: %v, before %v", list, before)
	}
	testQuarters(t, b, a, other, start, []ops.Minute{first, second})
	testPurgeMinutes(t, b, a, at)
}

func testQuarters(t *testing.T, b *bench, a, other weir.ChannelID, start time.Time, list []ops.Minute) {
	t.Helper()
	read := func(from, until time.Time) []ops.Minute {
		t.Helper()
		return must[[]ops.Minute](t)(b.Quarters(b.ctx, []weir.ChannelID{other, a, 99}, from, until))
	}
	both := list[0]
	both.Add(&list[1])
	theirs := gauged(minuteAt(other, start, 5), 1, 1, 1)
	b.addMinutes(minuteAt(other, start.Add(29*time.Minute), 1))
	late := minuteAt(other, start.Add(15*time.Minute), 1)
	same(t, "an hour", read(start, start.Add(time.Hour)), []ops.Minute{both, theirs, late})
	same(t, "the first", read(start, start.Add(15*time.Minute)), []ops.Minute{both, theirs})
	same(t, "the others", read(start.Add(time.Second), start.Add(time.Hour)), []ops.Minute{late})
}

func testPurgeMinutes(t *testing.T, b *bench, a weir.ChannelID, at func(int) time.Time) {
	t.Helper()
	var many []ops.Minute
	for i := range 1100 {
		many = append(many, minuteAt(a, at(100+i), 1))
	}
	b.addMinutes(many...)
	gone := 0
	for {
		n := must[int](t)(b.PurgeMinutes(b.ctx, at(100+700), 1000))
		if gone += n; n == 0 {
			break
		}
	}
	list, before, err := b.Minutes(b.ctx, a, at(0), at(100_000))
	b.ok(err)
	if gone != 704+51 || len(list) != 400 || before != nil || !list[0].At.Equal(at(800)) {
		t.Errorf("%d minutes and quarters went, %d minutes are left", gone, len(list))
	}
}
