package router

import (
	"context"
	"slices"
	"time"

	"weir"
	"weir/events"
	"weir/internal/failpoint"
	"weir/routing/eventlog"
)

// pipe carries events to the journal: applied events collect in the open group
// while earlier groups are being written.
type pipe struct {
	durable uint64 // the last event that is durable
	current []eventlog.Event
	ahead   []group // passed to the scribe and not durable, in order
	events  int     // applied and not durable
	asked   bool    // a flush message is pending
	scribe  chan<- group
}

// group is a set of events that become durable as one.
type group struct {
	events []eventlog.Event
	begun  time.Time
}

func (g *group) last() uint64 { return g.events[len(g.events)-1].Head().Seq }

// collect adds applied events to the open group.
func (d *desk) collect(list []eventlog.Event) {
	d.pipe.current = append(d.pipe.current, list...)
	d.pipe.events += len(list)
}

// askFlush schedules a flush of the open group behind the messages that already
// wait, so that they share the group.
func (d *desk) askFlush() {
	p := &d.pipe
	if len(p.current) == 0 || p.asked || len(p.ahead) >= groupsAhead || p.grows() {
		return
	}
	if len(p.current) >= groupEvents {
		d.handOver()
		return
	}
	p.asked = true
	d.tell(flush{d.gen})
}

// grows reports whether the open group is small and would only wait behind
// another one. It is then flushed when the earlier group is durable, unless that
// takes unusually long.
func (p *pipe) grows() bool {
	n := len(p.ahead)
	return n > 0 && len(p.current) < groupWorth && time.Since(p.ahead[n-1].begun) < groupWait
}

// handOver closes the open group and passes it to the scribe.
func (d *desk) handOver() {
	p := &d.pipe
	if len(p.current) == 0 || len(p.ahead) >= groupsAhead {
		return
	}
	g := group{p.current, time.Now()}
	p.current = make([]eventlog.Event, 0, len(g.events)) // watchers keep the old slice
	p.ahead = append(p.ahead, g)
	p.scribe <- g // never blocks: the capacity is groupsAhead
	d.cut(g.last())
}

// next flushes the group after a durable one. After a large group it waits
// briefly for more events, because a commit costs as much as dozens of events.
func (d *desk) next(before *group) {
	p := &d.pipe
	if len(p.ahead) > 0 || p.asked {
		return
	}
	if d.mode != serving || len(before.events) < groupBusy || len(p.current) >= groupWorth {
		d.handOver()
		return
	}
	p.asked = true
	gen := d.gen
	time.AfterFunc(groupRest, func() { d.tell(flush{gen}) })
}

// committed handles the result of a group.
func (d *desk) committed(c committed) {
	if c.err != nil {
		d.metrics.commits.WithLabelValues(resultFailed).Inc()
		d.fail(c.err)
		return
	}
	failpoint.Hit("route.committed")
	p := &d.pipe
	g := p.ahead[0]
	p.ahead[0] = group{}
	p.ahead = p.ahead[1:]
	p.durable = c.last
	p.events -= len(g.events)
	d.row = 0
	d.metrics.committed(&g)
	d.next(&g)
	d.heard.told = c.last
	d.watchers.tell(g.events)
	for _, e := range g.events {
		d.functions.see(d.gen, d.state, e)
	}
	d.save()
	d.settle()
	d.drainFurther()
}

// scribe encodes groups and passes them to the journal in order.
func (r *Router) scribe(ctx context.Context, gen int64, in <-chan group, l weir.Lease) {
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-in:
			last := g.last()
			encoded, err := encode(g.events)
			if err != nil {
				r.tell(committed{gen, last, err})
				return
			}
			failpoint.Hit("route.before")
			r.o.Store.Append(l, encoded, func(err error) { r.tell(committed{gen, last, err}) })
		}
	}
}

// encode converts a group to the form of the journal: segments of bounded size
// with at least one event each, and the public events.
func encode(list []eventlog.Event) (eventlog.Group, error) {
	var out eventlog.Group
	data := make([]byte, 0, min(segmentBytes, usualBytes*len(list)))
	first := list[0].Head().Seq
	for i, e := range list {
		var err error
		if data, err = eventlog.Append(data, e); err != nil {
			return out, err
		}
		if i == len(list)-1 || len(data) >= segmentBytes {
			seq := e.Head().Seq
			out.Segments = append(out.Segments, eventlog.Segment{First: first, Last: seq, Data: slices.Clip(data)})
			first, data = seq+1, data[len(data):]
		}
	}
	public, err := publicEvents(list)
	out.Public = public
	return out, err
}

func publicEvents(list []eventlog.Event) ([]events.Event, error) {
	out := make([]events.Event, 0, len(list))
	for _, e := range list {
		if !eventlog.Public(e) {
			continue
		}
		p, err := Announce(e)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
