package router

import "math/bits"

// bitset is a set of worker positions; positions are in order of availability.
// A second level has one bit for each nonzero word of the first, so that
// intersecting sparse sets skips 4096 positions at a time.
type bitset struct {
	words []uint64
	sum   []uint64
	n     int
}

func (b *bitset) has(i int) bool {
	w := i >> 6
	return w < len(b.words) && b.words[w]&(1<<(i&63)) != 0
}

func (b *bitset) set(i int) {
	w := i >> 6
	for w >= len(b.words) {
		b.words = append(b.words, 0)
	}
	for w>>6 >= len(b.sum) {
		b.sum = append(b.sum, 0)
	}
	if b.words[w]&(1<<(i&63)) != 0 {
		return
	}
	b.words[w] |= 1 << (i & 63)
	b.sum[w>>6] |= 1 << (w & 63)
	b.n++
}

func (b *bitset) clear(i int) {
	w := i >> 6
	if w >= len(b.words) || b.words[w]&(1<<(i&63)) == 0 {
		return
	}
	b.words[w] &^= 1 << (i & 63)
	if b.words[w] == 0 {
		b.sum[w>>6] &^= 1 << (w & 63)
	}
	b.n--
}

// put sets or clears a position.
func (b *bitset) put(i int, in bool) {
	if in {
		b.set(i)
	} else {
		b.clear(i)
	}
}

// query is an intersection of sets minus the union of others.
type query struct {
	all  []*bitset
	none []*bitset
}

// word returns the result of the query within one word.
func (q *query) word(w int) uint64 {
	x := q.all[0].words[w]
	for _, b := range q.all[1:] {
		x &= b.words[w]
	}
	for _, b := range q.none {
		if w < len(b.words) {
			x &^= b.words[w]
		}
	}
	return x
}

// summaries returns the number of second-level words that the query must scan.
func (q *query) summaries() int {
	n := len(q.all[0].sum)
	for _, b := range q.all[1:] {
		n = min(n, len(b.sum))
	}
	return n
}

func (q *query) summary(s int) uint64 {
	x := q.all[0].sum[s]
	for _, b := range q.all[1:] {
		x &= b.sum[s]
	}
	return x
}

// next returns the first position at or after from, or -1.
func (q *query) next(from int) int {
	n := q.summaries()
	for s := from >> 12; s < n; s++ {
		sum := q.summary(s)
		if s == from>>12 {
			sum &= ^uint64(0) << (from >> 6 & 63)
		}
		for ; sum != 0; sum &= sum - 1 {
			w := s<<6 | bits.TrailingZeros64(sum)
			x := q.word(w)
			if w == from>>6 {
				x &= ^uint64(0) << (from & 63)
			}
			if x != 0 {
				return w<<6 | bits.TrailingZeros64(x)
			}
		}
	}
	return -1
}

// prev returns the last position before the given one, or -1.
func (q *query) prev(before int) int {
	last := before - 1
	if last < 0 {
		return -1
	}
	for s := min(q.summaries()-1, last>>12); s >= 0; s-- {
		sum := q.summary(s)
		if s == last>>12 {
			sum &= ^uint64(0) >> (63 - last>>6&63)
		}
		for sum != 0 {
			top := 63 - bits.LeadingZeros64(sum)
			sum &^= 1 << top
			w := s<<6 | top
			x := q.word(w)
			if w == last>>6 {
				x &= ^uint64(0) >> (63 - last&63)
			}
			if x != 0 {
				return w<<6 | (63 - bits.LeadingZeros64(x))
			}
		}
	}
	return -1
}
