package database

import "sync"

// Hooks are functions that others want called.
type Hooks struct {
	mu   sync.Mutex
	next int
	list map[int]func()
}

func (h *Hooks) Add(f func()) (remove func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == nil {
		h.list = map[int]func(){}
	}
	n := h.next
	h.next++
	h.list[n] = f
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.list, n)
	}
}

func (h *Hooks) Call() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.list {
		f()
	}
}
