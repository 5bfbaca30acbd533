package bench

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// calls are the calls that queued the contacts of a run, and when each began and ended
// relative to the others. Overlapping calls have no order: whichever began first, a
// broker may accept either first.
type calls struct {
	w     Workload
	clock atomic.Int64
	spans []span // by number of the call
}

// span is one call, in ticks of the clock.
type span struct {
	began, ended int64
	contacts     int
}

func newCalls(w Workload) *calls {
	each := (w.N + w.Channels - 1) / w.Channels // contacts of a channel
	return &calls{w: w, spans: make([]span, w.Channels*((each+w.Batch-1)/w.Batch))}
}

func (c *calls) begin(k, contacts int) {
	c.spans[k].began, c.spans[k].contacts = c.clock.Add(1), contacts
}

func (c *calls) end(k int) { c.spans[k].ended = c.clock.Add(1) }

// order holds how far contacts arrived from their turns.
type order struct {
	early, late         int // contacts before their turn, and after it, by more places than there are slots
	mostEarly, mostLate int // the max number of places
}

// judge compares the order in which contacts arrived, given by their numbers,
// with the order in which they were queued: the k-th contact of a channel to arrive
// has to be among the (k − capacity)th to the (k + capacity)th that were queued.
func (c *calls) judge(arrived []int) (o order) {
	at := make([]int, c.w.Channels) // how many contacts of a channel have arrived
	of := make([]ranks, c.w.Channels)
	for i := range of {
		of[i] = c.ranksOf(i)
	}
	for _, id := range arrived {
		channel, j := (id-1)%c.w.Channels, (id-1)/c.w.Channels
		at[channel]++
		lowest, highest := of[channel].find(c.spans[j/c.w.Batch*c.w.Channels+channel], j%c.w.Batch)
		if d := lowest - at[channel]; d > c.w.Capacity {
			o.early, o.mostEarly = o.early+1, max(o.mostEarly, d)
		}
		if d := at[channel] - highest; d > c.w.Capacity {
			o.late, o.mostLate = o.late+1, max(o.mostLate, d)
		}
	}
	return o
}

// ranks are the calls of a channel in the order of their beginnings, and in the order
// of their ends.
type ranks struct{ began, ended []mark }

// mark is a beginning or an end, with the number of contacts of all calls up to it.
type mark struct {
	tick int64
	upTo int
}

func (c *calls) ranksOf(channel int) ranks {
	var r ranks
	for k := channel; k < len(c.spans); k += c.w.Channels {
		s := c.spans[k]
		r.began, r.ended = append(r.began, mark{s.began, s.contacts}), append(r.ended, mark{s.ended, s.contacts})
	}
	for _, list := range [][]mark{r.began, r.ended} {
		slices.SortFunc(list, func(a, b mark) int { return cmp.Compare(a.tick, b.tick) })
		for i := range list[1:] {
			list[i+1].upTo += list[i].upTo
		}
	}
	return r
}

// find returns the lowest and the highest rank that a contact may have: calls that
// ended before its own began come before it, and calls that began after its own ended
// come after it. Within a call, contacts are ordered.
func (r ranks) find(s span, place int) (lowest, highest int) {
	return 1 + place + before(r.ended, s.began), 1 + place + before(r.began, s.ended) - s.contacts
}

// before returns the number of contacts of the calls with a mark before a tick.
func before(list []mark, tick int64) int {
	i, _ := slices.BinarySearchFunc(list, tick, func(m mark, tick int64) int { return cmp.Compare(m.tick, tick) })
	if i == 0 {
		return 0
	}
	return list[i-1].upTo
}
