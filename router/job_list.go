package router

import (
	"slices"
	"sort"

	"weir/router/resource"
)

const (
	chunkSize = 256
	seqBits   = 55 // low bits of a sort key; priority and expedite are above them
)

// sortKeyOf packs the order of a queue's jobs into one number: expedited jobs
// first, then by falling priority, then by queueing order.
// One bit is for expedite, eight are for the 201 priorities and 55 for the number of an event,
// which last for a thousand years at a million events a second.
func sortKeyOf(expedite bool, priority int, seq uint64) uint64 {
	p := uint64(resource.MaxPriority-priority) << seqBits
	if !expedite {
		p |= 1 << 63
	}
	return p | seq
}

// at returns the index of the chunk in which a sort key belongs.
func (l *jobList) at(key uint64) int {
	// Most jobs are added at the end.
	if n := len(l.chunks); n > 0 && l.chunks[n-1].first <= key {
		return n - 1
	}
	i := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].first > key })
	return max(i-1, 0)
}

func (c *chunk) find(key uint64) (int, bool) {
	if n := len(c.jobs); n == 0 || c.jobs[n-1].sortKey < key {
		return n, false
	}
	i := sort.Search(len(c.jobs), func(i int) bool { return c.jobs[i].sortKey >= key })
	return i, c.jobs[i].sortKey == key
}

func (l *jobList) add(key uint64, j *job) {
	l.n++
	if len(l.chunks) == 0 {
		l.chunks = append(l.chunks, chunk{first: key, jobs: make([]listEntry, 0, 4)})
	}
	i := l.at(key)
	c := &l.chunks[i]
	if len(c.jobs) >= chunkSize {
		i = l.split(i, key)
		c = &l.chunks[i]
	}
	k, _ := c.find(key)
	c.jobs = slices.Insert(c.jobs, k, listEntry{key, j})
	c.first = min(c.first, key)
}

// split makes room in a full chunk and returns the index of the chunk for
// key. At the end of the list, where most jobs are added, it starts a new
// chunk.
func (l *jobList) split(i int, key uint64) int {
	full := l.chunks[i].jobs
	if i == len(l.chunks)-1 && full[len(full)-1].sortKey < key {
		l.chunks = append(l.chunks, chunk{first: key, jobs: make([]listEntry, 0, chunkSize)})
		return i + 1
	}
	half := len(full) / 2
	right := append(make([]listEntry, 0, chunkSize), full[half:]...)
	clear(full[half:])
	l.chunks[i].jobs = full[:half]
	l.chunks = slices.Insert(l.chunks, i+1, chunk{first: right[0].sortKey, jobs: right})
	if key >= right[0].sortKey {
		return i + 1
	}
	return i
}

func (l *jobList) remove(key uint64) {
	if l.n == 0 {
		return
	}
	i := l.at(key)
	c := &l.chunks[i]
	k, ok := c.find(key)
	if !ok {
		return
	}
	l.n--
	c.jobs = slices.Delete(c.jobs, k, k+1)
	if len(c.jobs) == 0 && len(l.chunks) > 1 {
		l.chunks = slices.Delete(l.chunks, i, i+1)
	}
}

// ahead counts the jobs before a sort key.
func (l *jobList) ahead(key uint64) int {
	if l.n == 0 {
		return 0
	}
	i, n := l.at(key), 0
	for _, c := range l.chunks[:i] {
		n += len(c.jobs)
	}
	k, _ := l.chunks[i].find(key)
	return n + k
}

// first returns the job at the head, nil if the list is empty.
func (l *jobList) first() *job {
	if l.n == 0 {
		return nil
	}
	return l.chunks[0].jobs[0].job
}

// all yields the jobs in order.
func (l *jobList) all(yield func(*job) bool) { l.from(0)(yield) }

// from yields the jobs in order, starting at a sort key.
func (l *jobList) from(key uint64) func(yield func(*job) bool) {
	return func(yield func(*job) bool) {
		if l.n == 0 {
			return
		}
		i := l.at(key)
		k, _ := l.chunks[i].find(key)
		for ; i < len(l.chunks); i, k = i+1, 0 {
			for _, p := range l.chunks[i].jobs[k:] {
				if !yield(p.job) {
					return
				}
			}
		}
	}
}
