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

// journalQueue carries events to the journal: applied events collect in the open
// group while earlier groups are being written.
type journalQueue struct {
	durable    uint64 // the last event that is durable
	current    []eventlog.Event
	submitted  []group // passed to the encoder and not durable, in order
	events     int     // applied and not durable
	flushAsked bool    // a flush message is pending
	encoder    chan<- group
}

// group is a set of events that become durable as one.
type group struct {
	events []eventlog.Event
	begun  time.Time
}

func (g *group) last() uint64 { return g.events[len(g.events)-1].Head().Seq }

// addEvents adds applied events to the open group.
func (d *routerActor) addEvents(list []eventlog.Event) {
	d.journal.current = append(d.journal.current, list...)
	d.journal.events += len(list)
}

// scheduleFlush schedules a flush of the open group behind the messages that already
// wait, so that they share the group.
func (d *routerActor) scheduleFlush() {
	p := &d.journal
	if len(p.current) == 0 || p.flushAsked || len(p.submitted) >= maxSubmitted || p.mayGrow() {
		return
	}
	if len(p.current) >= groupEvents {
		d.submit()
		return
	}
	p.flushAsked = true
	d.post(flush{d.gen})
}

// mayGrow reports whether the open group is small and would only wait behind
// another one. It is then flushed when the earlier group is durable, unless that
// takes unusually long.
func (p *journalQueue) mayGrow() bool {
	n := len(p.submitted)
	return n > 0 && len(p.current) < minGroup && time.Since(p.submitted[n-1].begun) < maxGroupWait
}

// submit closes the open group and passes it to the encoder.
func (d *routerActor) submit() {
	p := &d.journal
	if len(p.current) == 0 || len(p.submitted) >= maxSubmitted {
		return
	}
	g := group{p.current, time.Now()}
	p.current = make([]eventlog.Event, 0, len(g.events)) // watchers keep the old slice
	p.submitted = append(p.submitted, g)
	p.encoder <- g // never blocks: the capacity is maxSubmitted
	d.maybeCut(g.last())
}

// submitNext flushes the group after a durable one. After a large group it waits
// briefly for more events, because a commit costs as much as dozens of events.
func (d *routerActor) submitNext(before *group) {
	p := &d.journal
	if len(p.submitted) > 0 || p.flushAsked {
		return
	}
	if d.mode != serving || len(before.events) < busyGroup || len(p.current) >= minGroup {
		d.submit()
		return
	}
	p.flushAsked = true
	gen := d.gen
	time.AfterFunc(groupDelay, func() { d.post(flush{gen}) })
}

// committed handles the result of a group.
func (d *routerActor) committed(c committed) {
	if c.err != nil {
		d.metrics.commits.WithLabelValues(resultFailed).Inc()
		d.fail(c.err)
		return
	}
	failpoint.Hit("route.committed")
	p := &d.journal
	g := p.submitted[0]
	p.submitted[0] = group{}
	p.submitted = p.submitted[1:]
	p.durable = c.last
	p.events -= len(g.events)
	d.failures = 0
	d.metrics.committed(&g)
	d.submitNext(&g)
	d.published.upTo = c.last
	d.watchers.publish(g.events)
	for _, e := range g.events {
		d.functions.issue(d.gen, d.state, e)
	}
	d.save()
	d.afterEvents()
	d.continueDrain()
}

// encodeGroups encodes groups and passes them to the journal in order.
func (r *Router) encodeGroups(ctx context.Context, gen int64, in <-chan group, l weir.Lease) {
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-in:
			last := g.last()
			encoded, err := encode(g.events)
			if err != nil {
				r.post(committed{gen, last, err})
				return
			}
			failpoint.Hit("route.before")
			r.o.Store.Append(l, encoded, func(err error) { r.post(committed{gen, last, err}) })
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
