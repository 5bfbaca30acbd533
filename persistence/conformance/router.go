package conformance

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"weir"
	"weir/events"
	"weir/router/journal"
)

// asRouter acquires the router's role.
func (b *bench) asRouter() weir.Incarnation {
	b.t.Helper()
	return must[weir.Incarnation](b.t)(b.Incarnate(b.ctx(), 0))
}

// routed appends a group and waits.
func (b *bench) routed(l weir.Incarnation, g journal.Group) error {
	done := make(chan error, 1)
	b.Append(l, g, func(err error) { done <- err })
	return <-done
}

// segment returns a segment with the events first to last.
func segment(first, last uint64, data string) journal.Segment {
	return journal.Segment{First: first, Last: last, Data: []byte(data)}
}

func groupOf(list ...journal.Segment) journal.Group { return journal.Group{Segments: list} }

// testJournal checks that groups are read back in order, that none is lost or accepted
// twice, and that nothing of an earlier state is accepted.
func testJournal(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	old := b.asRouter()
	l := b.asRouter()
	long := string(bytes.Repeat([]byte("x"), 20_000)) // more than a page
	want := []journal.Segment{segment(1, 3, "a\n"), segment(4, 4, long), segment(5, 9, "\x00\xff"), segment(10, 11, "d")}
	b.ok(b.routed(l, groupOf(want[0])))
	for name, c := range map[string]struct {
		lease weir.Incarnation
		group journal.Group
		want  error
	}{
		"an earlier state":  {old, groupOf(want[1]), weir.ErrSuperseded},
		"no state":          {weir.Incarnation{}, groupOf(want[1]), weir.ErrSuperseded},
		"a gap":             {l, groupOf(segment(5, 6, "?")), journal.ErrGap},
		"a repetition":      {l, groupOf(want[0]), journal.ErrGap},
		"what was let past": {l, groupOf(segment(3, 4, "?")), journal.ErrGap},
	} {
		if err := b.routed(c.lease, c.group); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.ok(b.routed(l, groupOf(want[1], want[2])))
	before := must[int64](t)(b.LatestEvent(b.ctx()))
	b.ok(b.routed(l, journal.Group{Segments: want[3:], Public: []events.Event{
		{Type: "A", Source: "router", Subject: "job/1", At: now(), Data: []byte(`{"n":1}`)},
		{Type: "B", Source: "router", Subject: "job/1", At: now(), Data: []byte(`{"n":2}`)},
	}}))
	told := must[[]events.Event](t)(b.EventsSince(b.ctx(), before, 10))
	if len(told) != 2 || told[0].Type != "A" || string(told[1].Data) != `{"n":2}` {
		t.Errorf("told: %+v", told)
	}
	same(t, "segments", b.segments(0), want)
	same(t, "segments after a while", b.segments(4), want[2:])
	saved := must[journal.Saved](t)(b.LoadSnapshot(b.ctx()))
	same(t, "no snapshot", saved, journal.Saved{Last: 11})
}

// segments reads the journal after an event, a few segments at a time.
func (b *bench) segments(after uint64) (list []journal.Segment) {
	b.t.Helper()
	for {
		some := must[[]journal.Segment](b.t)(b.Segments(b.ctx(), after, 2))
		if len(some) == 0 {
			return list
		}
		list = append(list, some...)
		after = some[len(some)-1].Last
	}
}

// testSnapshots checks that a snapshot counts completely or not at all, and that the
// journal loses only the events that the snapshot contains.
func testSnapshots(t *testing.T, backend Backend) {
	b := newBench(t, backend)
	old := b.asRouter()
	l := b.asRouter()
	random := rand.NewChaCha8([32]byte{1})
	large := make([]byte, 1_300_000)
	_, _ = random.Read(large)
	b.ok(b.SaveSnapshot(b.ctx(), l, 0, []byte("empty")))
	for i := range uint64(250) { // more than are deleted at once
		b.ok(b.routed(l, groupOf(segment(2*i+1, 2*i+2, "two"))))
	}
	b.ok(b.SaveSnapshot(b.ctx(), l, 440, large))
	saved := must[journal.Saved](t)(b.LoadSnapshot(b.ctx()))
	if saved.Seq != 440 || saved.Last != 500 || !bytes.Equal(saved.Data, large) {
		t.Errorf("a snapshot of event %d with %d bytes, the journal ends with %d", saved.Seq, len(saved.Data), saved.Last)
	}
	left := b.segments(0)
	if len(left) != 30 || left[0].First != 441 {
		t.Errorf("%d segments are left, from %+v", len(left), left[:1])
	}
	for name, c := range map[string]struct {
		lease weir.Incarnation
		seq   uint64
		want  error
	}{
		"an earlier state":          {old, 500, weir.ErrSuperseded},
		"ahead of the journal":      {l, 501, journal.ErrGap},
		"older than the stored one": {l, 438, journal.ErrGap},
	} {
		if err := b.SaveSnapshot(b.ctx(), c.lease, c.seq, []byte("?")); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if again := must[journal.Saved](t)(b.LoadSnapshot(b.ctx())); again.Seq != 440 || !bytes.Equal(again.Data, large) {
			t.Errorf("%s: the snapshot is now of event %d", name, again.Seq)
		}
	}
	b.ok(b.SaveSnapshot(b.ctx(), l, 500, []byte("small")))
	saved = must[journal.Saved](t)(b.LoadSnapshot(b.ctx()))
	same(t, "the last one", saved, journal.Saved{Seq: 500, Data: []byte("small"), Last: 500})
	same(t, "the journal", b.segments(0), []journal.Segment(nil))
	b.ok(b.routed(l, groupOf(segment(501, 501, "on"))))
}
