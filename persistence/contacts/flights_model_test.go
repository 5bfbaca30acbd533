package contacts

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir"
	"weir/internal/race"
	"weir/persistence/commit"
)

// TestFlights_KnowWhatTheLogHolds plays batches against a model of the log: its rows
// give the same contacts at any time, and stay in proportion to them.
func TestFlights_KnowWhatTheLogHolds(t *testing.T) {
	race.Skip(t, "one goroutine")
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		f, log := newFlights(), map[int64][]record{}
		want := map[weir.Ref]weir.Progress{}
		rev := int64(0)
		batch := func(records, left int) {
			l := flightChanges{}
			for _, ref := range slices.SortedFunc(maps.Keys(want), compareRefs)[:min(left, len(want))] {
				l.left = append(l.left, ref)
				delete(want, ref)
			}
			changed := map[weir.Ref]bool{}
			for range records {
				rev++
				ref := weir.Ref{Channel: weir.ChannelID(1 + rev%3), ID: weir.ContactID(rev)}
				if n := rapid.IntRange(0, 3).Draw(r, "again"); n == 0 && len(want) > 0 {
					ref = rapid.SampledFrom(slices.SortedFunc(maps.Keys(want), compareRefs)).Draw(r, "which")
				}
				if changed[ref] {
					continue
				}
				changed[ref], want[ref] = true, weir.Progress{Rev: rev}
				l.records = append(l.records, record{ref, want[ref]})
			}
			for _, c := range f.carried() {
				if !changed[c.ref] && !slices.Contains(l.left, c.ref) {
					l.records = append(l.records, c)
				}
			}
			rev++
			l.row = rev
			log[l.row] = l.records
			l.deleted = slices.Clone(f.unused[:min(len(f.unused), maxUnused)])
			for _, id := range l.deleted {
				delete(log, id)
			}
			f.committed(&l)
		}
		for range rapid.IntRange(1, 30).Draw(r, "batches") {
			batch(rapid.IntRange(0, 4).Draw(r, "records"), rapid.IntRange(0, 3).Draw(r, "left"))
			if rapid.IntRange(0, 9).Draw(r, "restart") == 0 { // the next owner continues the log
				var rows []loggedRow
				for _, id := range slices.Sorted(maps.Keys(log)) {
					rows = append(rows, loggedRow{id, log[id]})
				}
				still := map[weir.Ref]bool{}
				for ref := range want {
					still[ref] = true
				}
				f = newFlights()
				f.recovered(rows, still, nil)
			}
			if n := len(f.rows) + len(f.unused); n != len(log) {
				r.Fatalf("the log has %d rows, %d are known", len(log), n)
			}
			latest := map[weir.Ref]weir.Progress{}
			for _, row := range log {
				for _, rec := range row {
					if _, flying := want[rec.ref]; flying && latest[rec.ref].Rev < rec.progress.Rev {
						latest[rec.ref] = rec.progress
					}
				}
			}
			if !maps.Equal(latest, want) {
				r.Fatalf("the log has %v, want %v", latest, want)
			}
			known := map[weir.Ref]weir.Progress{}
			for channel := range f.byChannel() {
				for _, rec := range f.list(channel) {
					known[rec.ref] = rec.progress
				}
			}
			if !maps.Equal(known, want) || f.n != len(want) {
				r.Fatalf("memory has %v, want %v", known, want)
			}
		}
	})
}

// TestFlights_TheLogStaysSmall: contacts that stay in flight for long do not keep the records
// of others that were written with them.
func TestFlights_TheLogStaysSmall(t *testing.T) {
	race.Skip(t, "one goroutine")
	t.Parallel()
	f := newFlights()
	id := int64(0)
	for batch := range 200 {
		l := flightChanges{row: int64(2*batch + 1), deleted: slices.Clone(f.unused)}
		for range 1000 {
			id++
			l.records = append(l.records, record{weir.Ref{Channel: 1, ID: weir.ContactID(id)}, weir.Progress{Rev: 1}})
		}
		l.records = append(l.records, f.carried()...)
		f.committed(&l)
		ended := flightChanges{row: int64(2*batch + 2)}
		for i := id - 999; i < id; i++ { // one of each batch stays
			ended.left = append(ended.left, weir.Ref{Channel: 1, ID: weir.ContactID(i)})
		}
		f.committed(&ended)
	}
	if f.n != 200 || f.records > 4*200+6*commit.MaxRows || len(f.order) > 2*len(f.rows)+maxUnused+1 {
		t.Errorf("%d contacts, %d records in %d rows, %d ids", f.n, f.records, len(f.rows), len(f.order))
	}
}
