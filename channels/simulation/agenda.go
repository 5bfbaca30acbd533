package simulation

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Agenda runs functions at their time, one after the other, on a single
// goroutine. The functions should be quick. It is safe for concurrent use.
type Agenda struct {
	mu    sync.Mutex
	items items
	order uint64
	wake  chan struct{}
}

type item struct {
	at    time.Time
	order uint64 // at equal instants, the earlier request is first
	do    func()
}

// NewAgenda returns an empty agenda. Nothing runs before Run.
func NewAgenda() *Agenda { return &Agenda{wake: make(chan struct{}, 1)} }

// After schedules a function to run after the delay.
func (a *Agenda) After(delay time.Duration, do func()) {
	a.mu.Lock()
	a.order++
	heap.Push(&a.items, item{at: time.Now().Add(delay), order: a.order, do: do})
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Clear drops everything that is scheduled.
func (a *Agenda) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.items = nil
}

// Run runs scheduled functions until the context ends. The rest never runs.
func (a *Agenda) Run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		do, wait := a.next()
		if do != nil {
			do()
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-a.wake:
		case <-timer.C:
		}
	}
}

// next returns a function that is due, or how long to wait.
func (a *Agenda) next() (do func(), wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 {
		return nil, time.Hour
	}
	if wait = time.Until(a.items[0].at); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&a.items).(item).do, 0
}

type items []item

func (q items) Len() int { return len(q) }
func (q items) Less(i, j int) bool {
	if q[i].at.Equal(q[j].at) {
		return q[i].order < q[j].order
	}
	return q[i].at.Before(q[j].at)
}
func (q items) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *items) Push(x any)   { *q = append(*q, x.(item)) }
func (q *items) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = item{} // release the closure
	*q = old[:len(old)-1]
	return last
}
