package judge

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Calls are the calls that queued the contacts of a run, and when each began and ended
// relative to the others. Overlapping calls have no order: whichever began first, a
// broker may accept either first.
type Calls struct {
	n        int
	channels int
	capacity int
	batch    int
	clock    atomic.Int64
	spans    []span // by number of the call
}

// span is one call, in ticks of the clock.
type span struct {
	began, ended int64
	contacts     int
}

// NewCalls returns the calls that queue the contacts of a run, batch in each.
func NewCalls(e Expectation, batch int) *Calls {
	each := (e.N + e.Channels - 1) / e.Channels // contacts of a channel
	return &Calls{n: e.N, channels: e.Channels, capacity: e.Capacity, batch: batch, spans: make([]span, e.Channels*((each+batch-1)/batch))}
}

// Len returns the number of calls.
func (c *Calls) Len() int { return len(c.spans) }

// Contacts returns the numbers of the contacts of the k-th call, all of channel
// k mod channels: contact i, from 1, has channel (i − 1) mod channels.
func (c *Calls) Contacts(k int) []int {
	var ids []int
	first := k/c.channels*c.batch*c.channels + k%c.channels
	for i := range c.batch {
		if id := first + i*c.channels; id < c.n {
			ids = append(ids, id+1)
		}
	}
	return ids
}

// Begin records that the k-th call begins, with a number of contacts.
func (c *Calls) Begin(k, contacts int) {
	c.spans[k].began, c.spans[k].contacts = c.clock.Add(1), contacts
}

// End records that the k-th call ended.
func (c *Calls) End(k int) { c.spans[k].ended = c.clock.Add(1) }

// Judge compares the order in which contacts arrived, given by their numbers,
// with the order in which they were queued: the k-th contact of a channel to arrive
// has to be among the (k − capacity)th to the (k + capacity)th that were queued.
func (c *Calls) Judge(arrived []int) (o Order) {
	at := make([]int, c.channels) // how many contacts of a channel have arrived
	of := make([]ranks, c.channels)
	for i := range of {
		of[i] = c.ranksOf(i)
	}
	for _, id := range arrived {
		channel, j := (id-1)%c.channels, (id-1)/c.channels
		at[channel]++
		lowest, highest := of[channel].find(c.spans[j/c.batch*c.channels+channel], j%c.batch)
		if d := lowest - at[channel]; d > c.capacity {
			o.Early, o.MaxEarly = o.Early+1, max(o.MaxEarly, d)
		}
		if d := at[channel] - highest; d > c.capacity {
			o.Late, o.MaxLate = o.Late+1, max(o.MaxLate, d)
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

func (c *Calls) ranksOf(channel int) ranks {
	var r ranks
	for k := channel; k < len(c.spans); k += c.channels {
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
