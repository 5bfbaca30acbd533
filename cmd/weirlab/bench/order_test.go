package bench

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// taking makes the calls of a workload, up to atOnce at a time, and returns the order in
// which a broker accepts their contacts, each call at some instant between its
// beginning and its end.
func taking(t *rapid.T, w Workload, atOnce int) (c *calls, taken []int) {
	c = newCalls(w)
	var waiting, ending []int
	step := func() {
		if len(waiting) > 0 && (len(ending) == 0 || rapid.Bool().Draw(t, "take")) {
			i := rapid.IntRange(0, len(waiting)-1).Draw(t, "which is taken")
			k := waiting[i]
			waiting, ending = slices.Delete(waiting, i, i+1), append(ending, k)
			taken = append(taken, w.contactsOf(k)...)
			return
		}
		i := rapid.IntRange(0, len(ending)-1).Draw(t, "which ends")
		c.end(ending[i])
		ending = slices.Delete(ending, i, i+1)
	}
	for k := range c.spans {
		for len(waiting)+len(ending) == atOnce {
			step()
		}
		c.begin(k, len(w.contactsOf(k)))
		waiting = append(waiting, k)
	}
	for len(waiting)+len(ending) > 0 {
		step()
	}
	return c, taken
}

func someWorkload(t *rapid.T) Workload {
	return Workload{
		Mode: Drain, N: rapid.IntRange(1, 120).Draw(t, "n"), Channels: rapid.IntRange(1, 4).Draw(t, "channels"),
		Capacity: rapid.IntRange(1, 6).Draw(t, "capacity"), Batch: rapid.IntRange(1, 5).Draw(t, "batch"),
	}
}

// A broker that starts contacts in the order in which it accepted them, with no more in
// flight than there are slots, is never reported as early, whatever order concurrent
// callers leave open; nor as late, if no contact is delayed for longer than that.
func TestABrokerThatKeepsTheOrderPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := someWorkload(t)
		c, taken := taking(t, w, rapid.IntRange(1, 8).Draw(t, "callers"))
		if o := c.judge(taken); o != (order{}) {
			t.Fatalf("in its own order: %+v", o)
		}
		patient := rapid.Bool().Draw(t, "none is held up")
		o := c.judge(outOfSlots(t, w, taken, patient))
		if o.early > 0 || patient && o.late > 0 {
			t.Fatalf("with no more out than there are slots: %+v", o)
		}
	})
}

// outOfSlots makes contacts leave the slots of their channels in any order; if patient,
// none is overtaken by more later contacts than there are slots.
func outOfSlots(t *rapid.T, w Workload, taken []int, patient bool) (arrived []int) {
	type out struct{ id, passed int }
	for channel := range w.Channels {
		var slots []out
		leave := func() {
			i := rapid.IntRange(0, len(slots)-1).Draw(t, "which arrives")
			if patient && slots[0].passed == w.Capacity {
				i = 0
			}
			arrived = append(arrived, slots[i].id)
			for j := range i {
				slots[j].passed++
			}
			slots = slices.Delete(slots, i, i+1)
		}
		for _, id := range taken {
			if (id-1)%w.Channels != channel {
				continue
			}
			if len(slots) == w.Capacity {
				leave()
			}
			slots = append(slots, out{id: id})
		}
		for len(slots) > 0 {
			leave()
		}
	}
	return arrived
}

// A contact that arrives by more places than there are slots away from every turn that
// it may have is reported.
func TestWhoLeavesTheOrderIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := Workload{Mode: Drain, N: 60, Channels: 1, Capacity: rapid.IntRange(1, 6).Draw(t, "capacity"), Batch: 1}
		c, taken := taking(t, w, rapid.IntRange(1, 4).Draw(t, "callers"))
		far := w.Capacity + 1
		from := rapid.IntRange(0, w.N-1).Draw(t, "from")
		lowest, highest := c.ranksOf(0).find(c.spans[taken[from]-1], 0)
		to := rapid.SampledFrom([]int{lowest - far - 1, highest + far - 1}).Draw(t, "to") // from 0
		if to < 0 || to >= w.N {
			return
		}
		id := taken[from]
		taken = slices.Insert(slices.Delete(slices.Clone(taken), from, from+1), to, id)
		if o := c.judge(taken); o.early+o.late == 0 {
			t.Fatalf("one of rank %d to %d came %dth, which nobody found", lowest, highest, to+1)
		}
	})
}
