package judge

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// taking makes the calls of a run, up to atOnce at a time, and returns the order in
// which a broker accepts their contacts, each call at some instant between its
// beginning and its end.
func taking(t *rapid.T, e Expectation, batch, atOnce int) (c *Calls, taken []int) {
	c = NewCalls(e, batch)
	var waiting, ending []int
	step := func() {
		if len(waiting) > 0 && (len(ending) == 0 || rapid.Bool().Draw(t, "take")) {
			i := rapid.IntRange(0, len(waiting)-1).Draw(t, "which is taken")
			k := waiting[i]
			waiting, ending = slices.Delete(waiting, i, i+1), append(ending, k)
			taken = append(taken, c.Contacts(k)...)
			return
		}
		i := rapid.IntRange(0, len(ending)-1).Draw(t, "which ends")
		c.End(ending[i])
		ending = slices.Delete(ending, i, i+1)
	}
	for k := range c.spans {
		for len(waiting)+len(ending) == atOnce {
			step()
		}
		c.Begin(k, len(c.Contacts(k)))
		waiting = append(waiting, k)
	}
	for len(waiting)+len(ending) > 0 {
		step()
	}
	return c, taken
}

func someRun(t *rapid.T) (e Expectation, batch int) {
	return Expectation{
		N: rapid.IntRange(1, 120).Draw(t, "n"), Channels: rapid.IntRange(1, 4).Draw(t, "channels"),
		Capacity: rapid.IntRange(1, 6).Draw(t, "capacity"), Order: true,
	}, rapid.IntRange(1, 5).Draw(t, "batch")
}

// A broker that starts contacts in the order in which it accepted them, with no more in
// flight than there are slots, is never reported as early, whatever order concurrent
// callers leave open; nor as late, if no contact is delayed for longer than that.
func TestOrder_ABrokerThatKeepsTheOrderPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e, batch := someRun(t)
		c, taken := taking(t, e, batch, rapid.IntRange(1, 8).Draw(t, "callers"))
		if o := c.Judge(taken); o != (Order{}) {
			t.Fatalf("in its own order: %+v", o)
		}
		patient := rapid.Bool().Draw(t, "none is held up")
		o := c.Judge(outOfSlots(t, e, taken, patient))
		if o.Early > 0 || patient && o.Late > 0 {
			t.Fatalf("with no more out than there are slots: %+v", o)
		}
	})
}

// outOfSlots makes contacts leave the slots of their channels in any order; if patient,
// none is overtaken by more later contacts than there are slots.
func outOfSlots(t *rapid.T, e Expectation, taken []int, patient bool) (arrived []int) {
	type out struct{ id, passed int }
	for channel := range e.Channels {
		var slots []out
		leave := func() {
			i := rapid.IntRange(0, len(slots)-1).Draw(t, "which arrives")
			if patient && slots[0].passed == e.Capacity {
				i = 0
			}
			arrived = append(arrived, slots[i].id)
			for j := range i {
				slots[j].passed++
			}
			slots = slices.Delete(slots, i, i+1)
		}
		for _, id := range taken {
			if (id-1)%e.Channels != channel {
				continue
			}
			if len(slots) == e.Capacity {
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
func TestOrder_WhoLeavesTheOrderIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := Expectation{N: 60, Channels: 1, Capacity: rapid.IntRange(1, 6).Draw(t, "capacity")}
		c, taken := taking(t, e, 1, rapid.IntRange(1, 4).Draw(t, "callers"))
		far := e.Capacity + 1
		from := rapid.IntRange(0, e.N-1).Draw(t, "from")
		lowest, highest := c.ranksOf(0).find(c.spans[taken[from]-1], 0)
		to := rapid.SampledFrom([]int{lowest - far - 1, highest + far - 1}).Draw(t, "to") // from 0
		if to < 0 || to >= e.N {
			return
		}
		id := taken[from]
		taken = slices.Insert(slices.Delete(slices.Clone(taken), from, from+1), to, id)
		if o := c.Judge(taken); o.Early+o.Late == 0 {
			t.Fatalf("one of rank %d to %d came %dth, and Judge found no fault", lowest, highest, to+1)
		}
	})
}
