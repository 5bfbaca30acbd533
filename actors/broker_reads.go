package actors

import (
	"context"

	"weir"
	"weir/actors/core"
)

// reads starts the reads of the store, each after the changes issued before it. A
// read runs even if its change failed: its incarnation is over, so the result is
// dropped.
func (b *broker) reads(e core.Effects) {
	life, gen := b.lifetime, b.gen
	read := func(do func()) { b.afterWrites(func(error) { go do() }) }
	for _, p := range e.Pages {
		read(func() { b.readPage(life, gen, p) })
	}
	if e.Lanes {
		read(func() { b.readLanes(life, gen) })
	}
	if e.Due != nil {
		read(func() { b.readInstant(life, gen, core.KindDue, *e.Due) })
	}
	if e.Overdue != nil {
		read(func() { b.readInstant(life, gen, core.KindOverdue, *e.Overdue) })
	}
	for _, l := range e.Loads {
		read(func() { b.readContact(life, gen, l) })
	}
}

func (b *broker) readPage(ctx context.Context, gen int64, p core.Page) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := pageRead{gen: gen, page: p}
	m.contacts, m.err = b.store.Head(io, b.state.channel, p.Lane, p.After, p.Limit)
	b.root.Send(b.self, m)
}

func (b *broker) readLanes(ctx context.Context, gen int64) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := lanesRead{gen: gen}
	if m.lanes, m.err = b.store.Lanes(io, b.state.channel); m.err == nil {
		m.queued, m.err = b.store.QueuedCount(io, b.state.channel)
	}
	b.root.Send(b.self, m)
}

func (b *broker) readInstant(ctx context.Context, gen int64, what core.ReadKind, r core.Read) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := instantRead{gen: gen, what: what}
	read := b.store.Due
	if what == core.KindOverdue {
		read = b.store.Overdue
	}
	m.contacts, m.next, m.err = read(io, b.state.channel, r.Until, r.Limit)
	b.root.Send(b.self, m)
}

func (b *broker) readContact(ctx context.Context, gen int64, l core.Load) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := contactRead{gen: gen, load: l, found: true}
	m.contact, _, m.err = b.store.Contact(io, l.Ref)
	if weir.CodeOf(m.err) == weir.CodeNotFound {
		m.found, m.err = false, nil
	}
	b.root.Send(b.self, m)
}
