package routing

import (
	"slices"
	"sort"
	"weir/routing/resource"
)

// line is a list of jobs ordered by place (see placeOf). It is kept in chunks,
// so that adding and removing cost the same at any length, and counting the
// jobs ahead of one costs one step per chunk.
type line struct {
	chunks []chunk
	n      int
}

type chunk struct {
	first uint64 // place of the first entry when the chunk was made; a lower bound
	jobs  []placed
}

type placed struct {
	place uint64
	job   *job
}

const (
	chunkSize = 256
	seqBits   = 55 // bits of a place; priority and expedite are above them
)

// placeOf packs the order of a queue's jobs into one number: expedited jobs
// first, then by falling priority, then by queueing order.
func placeOf(expedite bool, priority int, seq uint64) uint64 {
	p := uint64(resource.MaxPriority-priority) << seqBits
	if !expedite {
		p |= 1 << 63
	}
	return p | seq
}

// at returns the index of the chunk in which a place belongs.
func (l *line) at(place uint64) int {
	if n := len(l.chunks); n > 0 && l.chunks[n-1].first <= place {
		return n - 1
	}
	i := sort.Search(len(l.chunks), func(i int) bool { return l.chunks[i].first > place })
	return max(i-1, 0)
}

func (c *chunk) find(place uint64) (int, bool) {
	if n := len(c.jobs); n == 0 || c.jobs[n-1].place < place {
		return n, false
	}
	i := sort.Search(len(c.jobs), func(i int) bool { return c.jobs[i].place >= place })
	return i, c.jobs[i].place == place
}

func (l *line) add(place uint64, j *job) {
	l.n++
	if len(l.chunks) == 0 {
		l.chunks = append(l.chunks, chunk{first: place, jobs: make([]placed, 0, 4)})
	}
	i := l.at(place)
	c := &l.chunks[i]
	if len(c.jobs) >= chunkSize {
		i = l.split(i, place)
		c = &l.chunks[i]
	}
	k, _ := c.find(place)
	c.jobs = slices.Insert(c.jobs, k, placed{place, j})
	c.first = min(c.first, place)
}

// split makes room in a full chunk and returns the index of the chunk for
// place. At the end of the line, where most jobs are added, it starts a new
// chunk.
func (l *line) split(i int, place uint64) int {
	full := l.chunks[i].jobs
	if i == len(l.chunks)-1 && full[len(full)-1].place < place {
		l.chunks = append(l.chunks, chunk{first: place, jobs: make([]placed, 0, chunkSize)})
		return i + 1
	}
	half := len(full) / 2
	right := append(make([]placed, 0, chunkSize), full[half:]...)
	clear(full[half:])
	l.chunks[i].jobs = full[:half]
	l.chunks = slices.Insert(l.chunks, i+1, chunk{first: right[0].place, jobs: right})
	if place >= right[0].place {
		return i + 1
	}
	return i
}

func (l *line) remove(place uint64) {
	if l.n == 0 {
		return
	}
	i := l.at(place)
	c := &l.chunks[i]
	k, ok := c.find(place)
	if !ok {
		return
	}
	l.n--
	c.jobs = slices.Delete(c.jobs, k, k+1)
	if len(c.jobs) == 0 && len(l.chunks) > 1 {
		l.chunks = slices.Delete(l.chunks, i, i+1)
	}
}

// ahead counts the jobs before a place.
func (l *line) ahead(place uint64) int {
	if l.n == 0 {
		return 0
	}
	i, n := l.at(place), 0
	for _, c := range l.chunks[:i] {
		n += len(c.jobs)
	}
	k, _ := l.chunks[i].find(place)
	return n + k
}

// first returns the job at the head, nil if the line is empty.
func (l *line) first() *job {
	if l.n == 0 {
		return nil
	}
	return l.chunks[0].jobs[0].job
}

// all yields the jobs in order.
func (l *line) all(yield func(*job) bool) { l.from(0)(yield) }

// from yields the jobs in order, starting at a place.
func (l *line) from(place uint64) func(yield func(*job) bool) {
	return func(yield func(*job) bool) {
		if l.n == 0 {
			return
		}
		i := l.at(place)
		k, _ := l.chunks[i].find(place)
		for ; i < len(l.chunks); i, k = i+1, 0 {
			for _, p := range l.chunks[i].jobs[k:] {
				if !yield(p.job) {
					return
				}
			}
		}
	}
}
