package router_test

import (
	"context"
	"sync"
	"time"

	"weir"
	"weir/router/journal"
)

// diary is a journal in memory, for tests with so many commits that a database
// would dominate the time. The guarantees of the real journals are tested
// separately.
type diary struct {
	mu    sync.Mutex
	epoch int64
	list  []journal.Segment
	saved journal.Saved
	prior chan struct{} // closed once the previous group was answered
}

func newDiary() *diary {
	first := make(chan struct{})
	close(first)
	return &diary{prior: first}
}

// Append takes a moment, during which other groups can be appended.
func (d *diary) Append(l weir.Incarnation, g journal.Group, done func(error)) {
	d.mu.Lock()
	prior, mine := d.prior, make(chan struct{})
	d.prior = mine
	d.mu.Unlock()
	go func() {
		<-prior
		time.AfterFunc(100*time.Microsecond, func() {
			defer close(mine)
			done(d.write(l, g))
		})
	}()
}

func (d *diary) write(l weir.Incarnation, g journal.Group) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case l.Number != d.epoch:
		return weir.ErrSuperseded
	case g.Segments[0].First != d.saved.Last+1:
		return journal.ErrGap
	}
	d.list = append(d.list, g.Segments...)
	d.saved.Last = g.Segments[len(g.Segments)-1].Last
	return nil
}

func (d *diary) Segments(_ context.Context, after uint64, limit int) ([]journal.Segment, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []journal.Segment
	for _, s := range d.list {
		if s.First > after && len(out) < limit {
			out = append(out, s)
		}
	}
	return out, nil
}

func (d *diary) SaveSnapshot(_ context.Context, l weir.Incarnation, seq uint64, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.Number != d.epoch {
		return weir.ErrSuperseded
	}
	d.saved.Seq, d.saved.Data = seq, data
	return nil
}

func (d *diary) LoadSnapshot(context.Context) (journal.Saved, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.saved, nil
}

func (d *diary) Incarnate(context.Context, weir.ChannelID) (weir.Incarnation, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
	return weir.Incarnation{Number: d.epoch}, nil
}
