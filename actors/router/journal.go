package router

import (
	"context"
	"slices"
	"time"

	"weir"
	"weir/events"
	"weir/internal/failpoint"
	"weir/router/journal"
)

// addEvents adds applied events to the open group.
// They are applied and not durable: answers that rest on them wait.
func (d *routerActor) addEvents(list []journal.Event) {
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
	p.current = make([]journal.Event, 0, len(g.events)) // Watch may keep the old slice
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

// encodeGroups encodes groups and passes them to the journal in order.
func (r *Router) encodeGroups(ctx context.Context, gen generation, in <-chan group, by weir.Incarnation) {
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-in:
			last := g.last()
			encoded, err := encode(g.events)
			if err != nil {
				// Nothing is written behind it: the journal must not have a gap.
				r.post(committed{gen, last, err})
				return
			}
			failpoint.Hit("route.before")
			r.o.Store.Append(by, encoded, func(err error) { r.post(committed{gen, last, err}) })
		}
	}
}

// encode converts a group to the form of the journal: segments of bounded size
// with at least one event each, and the public events.
func encode(list []journal.Event) (journal.Group, error) {
	var out journal.Group
	data := make([]byte, 0, min(segmentBytes, usualBytes*len(list)))
	first := list[0].Head().Seq
	for i, e := range list {
		var err error
		if data, err = journal.Append(data, e); err != nil {
			return out, err
		}
		if i == len(list)-1 || len(data) >= segmentBytes {
			seq := e.Head().Seq
			out.Segments = append(out.Segments, journal.Segment{First: first, Last: seq, Data: slices.Clip(data)})
			first, data = seq+1, data[len(data):]
		}
	}
	public, err := publicEvents(list)
	out.Public = public
	return out, err
}

func publicEvents(list []journal.Event) ([]events.Event, error) {
	out := make([]events.Event, 0, len(list))
	for _, e := range list {
		if !journal.Public(e) {
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

// committed counts a group that became durable.
func (m *Metrics) committed(g *group) {
	m.commits.WithLabelValues(resultCommitted).Inc()
	m.duration.Observe(time.Since(g.begun).Seconds())
	m.events.Add(float64(len(g.events)))
	for _, e := range g.events {
		switch e.(type) {
		case *journal.OfferIssuedEvent:
			m.matches.Inc()
		case *journal.OfferExpiredEvent:
			m.expired.Inc()
		}
	}
}
