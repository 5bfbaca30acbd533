package ownersim

import (
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
)

const (
	lostAfter = 90 * time.Second
	sendLimit = 3 * time.Second
)

// wall is the clock of a process by which its broker goes.
func (p *process) wall() time.Time { return p.w.now.Add(p.clock) }

// tell passes an event to the core, once it is there.
func (p *process) tell(event func(*contacts.Core, time.Time)) {
	if p.core == nil {
		p.stash = append(p.stash, func() { p.tell(event) })
		return
	}
	event(p.core, p.wall())
	p.execute()
}

// execute carries out what the core decided.
func (p *process) execute() {
	e := p.core.Take()
	for _, k := range e.Commits {
		p.commit(k)
	}
	for _, r := range e.Replies {
		p.writer.afterAll(func(err error) { p.reply(r, err) })
	}
	for _, a := range e.Sends {
		p.call(a, p.w.now.Add(sendLimit))
	}
	for _, a := range e.Asks {
		p.after(20*time.Millisecond, func() {
			answer := p.w.provider.ask(a)
			p.after(20*time.Millisecond, func() { p.tell(func(c *contacts.Core, now time.Time) { c.AskDone(a.ID, answer, now) }) })
		})
	}
	p.reads(e)
	if e.Prepare {
		p.after(10*time.Millisecond, func() { p.tell(func(c *contacts.Core, now time.Time) { c.PrepareDone(nil, now) }) })
	}
	if e.Status {
		p.after(10*time.Millisecond, func() {
			p.tell(func(c *contacts.Core, now time.Time) { c.StatusDone(channels.Status{Health: weir.Up}, now) })
		})
	}
	switch {
	case !e.Drained:
	case p.w.rules.FlushFirst:
		p.writer.afterAll(func(error) { p.after(0, p.drained) })
	default:
		p.after(0, p.drained)
	}
	p.wakeSeq++
	if seq, at := p.wakeSeq, p.core.NextWake(p.wall()); !at.IsZero() {
		p.after(max(at.Sub(p.wall()), time.Millisecond), func() {
			if seq == p.wakeSeq {
				p.tell((*contacts.Core).Tick)
			}
		})
	}
}

func (p *process) commit(k contacts.Commit) {
	p.writer.submit(&write{
		apply: func() {
			for i := range k.Transitions {
				if t := &k.Transitions[i]; !p.w.store.apply(t) {
					p.w.fail("process %d commits an outdated change of contact %d to %v", p.start, t.Contact.ID, t.Contact.State)
				}
			}
		},
		done: func(err error) {
			for _, r := range k.Replies {
				p.reply(r, err)
			}
			if err == nil && len(k.Claimed) > 0 {
				p.tell(func(c *contacts.Core, now time.Time) { c.ClaimsCommitted(k.Claimed, nil, nil, now) })
			}
		},
	})
}

func (p *process) reply(r contacts.Reply, err error) {
	h, ok := r.Waiter.(*hop)
	switch {
	case !ok:
	case err != nil, r.Err != nil, r.Verdict != weir.Applied && !p.valid():
		h.refuse()
	default:
		h.answer(success)
	}
}

// reads reads what the core asks for, after what it has changed.
func (p *process) reads(e contacts.Effects) {
	s := p.w.store
	read := func(kind contacts.ReadKind, page contacts.Page, statement func() func(*contacts.Core, time.Time)) {
		p.writer.afterAll(func(error) {
			var tell func(*contacts.Core, time.Time)
			p.ask(sendLimit, func() { tell = statement() }, func(err error) {
				if err != nil {
					tell = func(c *contacts.Core, now time.Time) { c.ReadFailed(kind, page, now) }
				}
				p.tell(tell)
			})
		})
	}
	for _, page := range e.Pages {
		read(contacts.KindPage, page, func() func(*contacts.Core, time.Time) {
			list := s.page(page)
			return func(c *contacts.Core, now time.Time) { c.PageRead(page, list, now) }
		})
	}
	if e.Lanes {
		read(contacts.KindLanes, contacts.Page{}, func() func(*contacts.Core, time.Time) {
			lanes, n := s.lanes()
			return func(c *contacts.Core, now time.Time) { c.LanesRead(lanes, n, now) }
		})
	}
	if e.Due != nil {
		read(contacts.KindDue, contacts.Page{}, func() func(*contacts.Core, time.Time) {
			list, next := s.due(*e.Due)
			return func(c *contacts.Core, now time.Time) { c.DueRead(list, next, now) }
		})
	}
	for _, l := range e.Loads {
		p.writer.afterAll(func(error) {
			var row weir.Contact
			var found bool
			p.ask(sendLimit, func() { row, found = s.contacts[l.Ref.ID] }, func(err error) {
				if err != nil {
					p.tell(func(c *contacts.Core, now time.Time) { c.LoadFailed(l, err, now) })
					return
				}
				p.tell(func(c *contacts.Core, now time.Time) { c.Loaded(l, row, found, now) })
			})
		})
	}
}

// call calls the provider, while this process may act.
func (p *process) call(a channels.Attempt, limit time.Time) {
	switch {
	case p.valid():
		p.w.provider.begin(p, a)
	case p.w.now.Before(limit):
		p.after(50*time.Millisecond, func() { p.call(a, limit) })
	default:
		p.tell(func(c *contacts.Core, now time.Time) {
			c.SendDone(a.ID, channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the lease ran out"}, now)
		})
	}
}

// write is one change for the writer; apply is executed in the database.
type write struct {
	apply func()
	done  func(error)
	after []func(error)
}

// writer commits batches, one after the other.
type writer struct {
	p      *process
	queue  []*write
	tail   *write // the last one that is not answered
	since  time.Time
	number int64
	fence  int64 // negative: it is not known
	closed bool
}

func (b *writer) submit(one *write) {
	if b.closed {
		one.done(errDown)
		return
	}
	b.queue, b.tail = append(b.queue, one), one
	b.next()
}

// afterAll does something after all that was submitted.
func (b *writer) afterAll(do func(error)) {
	if b.tail == nil {
		do(nil)
		return
	}
	b.tail.after = append(b.tail.after, do)
}

func (b *writer) flush(do func()) {
	if b.tail == nil {
		b.closed = true
		do()
		return
	}
	b.p.after(10*time.Millisecond, func() { b.flush(do) })
}

func (b *writer) stuck() time.Duration {
	if b.since.IsZero() {
		return 0
	}
	return b.p.w.now.Sub(b.since)
}

func (b *writer) next() {
	if len(b.queue) > 0 && b.since.IsZero() {
		list := b.queue
		b.queue, b.since = nil, b.p.w.now
		b.try(list)
	}
}

func (b *writer) again(list []*write) {
	b.p.after(200*time.Millisecond, func() { b.try(list) })
}

// try commits a batch, under the fence that is known.
func (b *writer) try(list []*write) {
	p, s := b.p, b.p.w.store
	if p.w.now.Before(p.jammed) {
		b.again(list)
		return
	}
	if b.fence < 0 {
		var fence int64
		var refused error
		p.ask(sendLimit, func() { fence, refused = s.learn(p) }, func(err error) {
			switch {
			case err != nil:
				b.again(list)
			case refused != nil:
				b.end(list, refused)
			default:
				b.fence = fence
				b.try(list)
			}
		})
		return
	}
	b.number++
	number, fence, ok := b.number, b.fence, false
	p.ask(sendLimit, func() { ok = s.batch(p, number, fence, list) }, func(err error) {
		switch {
		case err != nil:
			b.doubt(list, number)
		case ok:
			b.end(list, nil)
		default:
			b.fence = -1
			b.try(list)
		}
	})
}

// doubt finds out whether a batch was committed whose answer was lost.
func (b *writer) doubt(list []*write, number int64) {
	committed := false
	b.p.ask(sendLimit, func() { committed = b.p.w.store.look(b.p, number) }, func(err error) {
		b.fence = -1
		switch {
		case err != nil:
			b.p.after(200*time.Millisecond, func() { b.doubt(list, number) })
		case committed:
			b.end(list, nil)
		default:
			b.try(list)
		}
	})
}

func (b *writer) end(list []*write, err error) {
	b.since = time.Time{}
	if b.tail == list[len(list)-1] {
		b.tail = nil
	}
	if err != nil {
		b.p.lose("its writes are refused")
	}
	for _, one := range list {
		one.done(err)
		for _, do := range one.after {
			do(err)
		}
	}
	b.next()
}
