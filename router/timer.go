package router

import (
	"time"
)

// heap is a heap of timers of one kind. There is one per kind, so that the busy
// ones stay small beside a million timers that are due in 90 days.
// Each entry has four children: the heap is half as deep as a binary one, and an entry's children
// are beside each other in memory.
type heap struct {
	entries []entry
}

// entry repeats at and order of its timer, so that comparing entries does not follow pointers.
type entry struct {
	at    int64
	order uint64
	t     *timer
}

func (e entry) before(o entry) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

// set arms or moves a timer; the zero time disarms it.
func (h *heap) set(t *timer, at time.Time) {
	if at.IsZero() {
		h.remove(t)
		return
	}
	us := at.UnixMicro()
	if t.index > 0 {
		if t.at == us {
			return
		}
		t.at = us
		h.entries[t.index-1].at = us
		h.fix(t.index - 1)
		return
	}
	t.at = us
	h.entries = append(h.entries, entry{us, t.order, t})
	t.index = len(h.entries)
	h.up(t.index - 1)
}

func (h *heap) remove(t *timer) {
	if t.index == 0 {
		return
	}
	i, last := t.index-1, len(h.entries)-1
	t.index = 0
	if i != last {
		h.entries[i] = h.entries[last]
		h.entries[i].t.index = i + 1
	}
	h.entries[last] = entry{}
	h.entries = h.entries[:last]
	if i != last {
		h.fix(i)
	}
}

func (h *heap) fix(i int) {
	if !h.up(i) {
		h.down(i)
	}
}

func (h *heap) up(i int) bool {
	e, moved := h.entries[i], false
	for i > 0 {
		p := (i - 1) / 4
		if !e.before(h.entries[p]) {
			break
		}
		h.put(i, h.entries[p])
		i, moved = p, true
	}
	h.put(i, e)
	return moved
}

func (h *heap) down(i int) {
	e := h.entries[i]
	for {
		earliest := -1
		for c := 4*i + 1; c <= 4*i+4 && c < len(h.entries); c++ {
			if earliest < 0 || h.entries[c].before(h.entries[earliest]) {
				earliest = c
			}
		}
		if earliest < 0 || !h.entries[earliest].before(e) {
			break
		}
		h.put(i, h.entries[earliest])
		i = earliest
	}
	h.put(i, e)
}

func (h *heap) put(i int, e entry) {
	h.entries[i] = e
	e.t.index = i + 1
}
