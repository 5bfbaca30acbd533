package router

import (
	"slices"
	"testing"
	"time"

	"weir/router/label"
	"weir/router/resource"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Intersections of sets, forwards and backwards, equal those of plain slices.
func TestIndex_QueriesAreIntersections(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most = 3 * 4096
		n := rapid.IntRange(1, 3).Draw(t, "sets")
		var q query
		in := make([]map[int]bool, n+1)
		shared := rapid.SliceOfN(rapid.IntRange(0, most), 0, 40).Draw(t, "shared")
		for i := range in {
			b := &bitset{}
			in[i] = map[int]bool{}
			members := rapid.SliceOfN(rapid.IntRange(0, most), 0, 40).Draw(t, "members")
			if i < n {
				members = append(members, shared...)
				q.all = append(q.all, b)
			} else {
				q.none = append(q.none, b)
			}
			for _, m := range members {
				b.set(m)
				in[i][m] = true
			}
			for _, m := range rapid.SliceOfN(rapid.SampledFrom(append(members, 0)), 0, 5).Draw(t, "gone") {
				b.put(m, false)
				delete(in[i], m)
			}
			if b.n != len(in[i]) {
				t.Fatalf("%d members, not %d", b.n, len(in[i]))
			}
		}
		var want, up, down []int
		for m := range most + 1 {
			ok := !in[n][m]
			for _, s := range in[:n] {
				ok = ok && s[m]
			}
			if ok {
				want = append(want, m)
			}
		}
		for m := q.next(0); m >= 0; m = q.next(m + 1) {
			up = append(up, m)
		}
		for m := q.prev(most + 1); m >= 0; m = q.prev(m) {
			down = append(down, m)
		}
		slices.Reverse(down)
		if diff := cmp.Diff(want, up) + cmp.Diff(want, down); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A line behaves like a sorted slice.
func TestIndex_JobListsAreSorted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l jobList
		var want []uint64
		next := uint64(1000)
		for range rapid.IntRange(0, 30).Draw(t, "rounds") {
			switch n := rapid.IntRange(1, 400).Draw(t, "n"); rapid.IntRange(0, 3).Draw(t, "what") {
			case 0: // at the end
				for range n {
					next += 7
					l.add(next, &job{sortKey: next})
					want = append(want, next)
				}
			case 1: // anywhere
				for i := range uint64(n) {
					p := (i*7919+uint64(n)*104729)%(next/7)*7 + 3 // a remainder that no other place has
					if k, there := slices.BinarySearch(want, p); !there {
						l.add(p, &job{sortKey: p})
						want = slices.Insert(want, k, p)
					}
				}
			case 2: // from the front
				for range min(n, len(want)) {
					l.remove(want[0])
					want = want[1:]
				}
			case 3: // within the line, and places that are not in it
				for i := range min(n, len(want)) {
					k := i * 31 % len(want)
					l.remove(want[k])
					l.remove(want[k])
					want = slices.Delete(slices.Clone(want), k, k+1)
				}
			}
		}
		var got []uint64
		for j := range l.all {
			got = append(got, j.sortKey)
		}
		if diff := cmp.Diff(slices.Clip(want), got); diff != "" && len(want)+len(got) > 0 {
			t.Fatal(diff)
		}
		for i, p := range want {
			if l.ahead(p) != i {
				t.Fatalf("%d ahead of the %dth", l.ahead(p), i)
			}
		}
		if f := l.first(); l.n != len(want) || (f == nil) != (len(want) == 0) || f != nil && f.sortKey != want[0] {
			t.Fatalf("%d jobs, first %v", l.n, f)
		}
	})
}

// Timers fire in order of time, whichever were moved or removed.
func TestIndex_TimersFireInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h heap
		timers := make([]timer, 60)
		at := map[int]int64{}
		for range 200 {
			i := rapid.IntRange(0, len(timers)-1).Draw(t, "timer")
			timers[i].order = uint64(i)
			us := rapid.Int64Range(0, 50).Draw(t, "at")
			if us == 0 {
				h.set(&timers[i], time.Time{})
				delete(at, i)
				continue
			}
			h.set(&timers[i], time.UnixMicro(us))
			at[i] = us
		}
		last := entry{}
		for n := len(at); n > 0; n-- {
			e := h.entries[0]
			if e.before(last) || at[int(e.order)] != e.at {
				t.Fatalf("%+v after %+v", e, last)
			}
			last = e
			h.remove(e.t)
		}
		if len(h.entries) > 0 {
			t.Fatal("timers are left")
		}
	})
}

// Blocked jobs are not examined again and again, even if they were created
// before any worker that shows which of their conditions is the rare one.
func TestIndex_BlockedJobsDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	s, now := New(DefaultSettings()), time.Unix(1_800_000_000, 0)
	do := func(c Command) {
		t.Helper()
		if _, err := s.Execute(c, now); err != nil {
			t.Fatal(err)
		}
	}
	do(PutQueue{ID: "q"})
	for i := range 1000 {
		do(PutJob{ID: label.Number(float64(i)).String(), Spec: resource.JobSpec{ChannelID: "c", QueueID: "q", RequestedWorkerSelectors: []resource.WorkerSelector{
			{Key: "Common", Operator: label.Equal, Value: label.Bool(true)}, {Key: "Rare", Operator: label.Equal, Value: label.Number(float64(i))},
		}}})
	}
	common := s.index.predicate("Common", label.Equal, label.Bool(true))
	if len(common.classes) != 1000 {
		t.Fatalf("%d classes are found by what is common", len(common.classes))
	}
	do(PutWorker{ID: "w", Spec: resource.WorkerSpec{
		Queues: []string{"q"}, Capacity: 1, AvailableForOffers: true, Channels: []resource.Channel{{ChannelID: "c", CapacityCostPerJob: 1}},
		Labels: label.Set{"Common": label.Bool(true), "Rare": label.Number(500)},
	}})
	if j, _ := s.Job("500"); len(common.classes) > 1 || len(j.Offers) != 1 {
		t.Errorf("%d classes are in the way still; offers of the job: %v", len(common.classes), j.Offers)
	}
}
