package channels

import (
	"context"

	"weir"
	core "weir/actors/contacts"
	"weir/channels"
	"weir/internal/backoff"
)

// reader reads the store for the broker of one channel. Its results are messages to the
// broker.
type reader struct {
	channel   weir.ChannelID
	store     Store
	queue     Queue
	directory *channels.Directory
}

// begin begins an incarnation and reads the state that the core starts from.
func (r *reader) begin(ctx context.Context, state *channelState) (m loaded) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m.err = func() error {
		ch, err := r.store.ChannelByID(io, r.channel)
		if err != nil {
			return err
		}
		m.snapshot.Channel = ch
		if ch.Deleted {
			return nil
		}
		if m.driver, err = r.directory.Driver(ch); err != nil {
			return err
		}
		// What an earlier incarnation had in the writer is written, and what it submits later is
		// refused. Once all is answered, each durable claim of ours is a local attempt.
		if m.by, err = r.queue.Incarnate(io, ch.ID); err != nil {
			return err
		}
		state.writes.wait()
		if m.snapshot.InFlight, err = r.queue.InFlight(io, ch.ID); err != nil {
			return err
		}
		m.snapshot.Brake = state.brake
		m.snapshot.LocalAttempts, m.results = state.localAttempts()
		if m.snapshot.Lanes, err = r.queue.Lanes(io, ch.ID); err != nil {
			return err
		}
		m.snapshot.Queued, err = r.queue.QueuedCount(io, ch.ID)
		return err
	}()
	return m
}

// row reads the channel's row after it was changed.
func (r *reader) row(ctx context.Context, done chan<- core.Reply) channelRead {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	m := channelRead{done: done}
	m.ch, m.err = r.store.ChannelByID(io, r.channel)
	if m.err == nil && !m.ch.Deleted {
		m.driver, m.err = r.directory.Driver(m.ch)
	}
	return m
}

// pause pauses the channel because its brake has acted, and reads its row. It repeats what
// the store does not take now: until then nothing is claimed, and after a crash what ends
// next is counted anew.
func (r *reader) pause(ctx context.Context, b weir.Braked) (m brakeDone) {
	m.braked = b
	for try := 1; ; try++ {
		m.acted, m.err = r.pauseOnce(ctx, b)
		if m.err == nil {
			m.channelRead = r.row(ctx, nil)
		}
		if m.err == nil || weir.CodeOf(m.err) == weir.CodeNotFound || !backoff.Wait(ctx, backoff.Delay(try, minReloadDelay, maxReloadDelay)) {
			return m
		}
	}
}

func (r *reader) pauseOnce(ctx context.Context, b weir.Braked) (acted bool, _ error) {
	io, cancel := background(ctx, ioTimeout)
	defer cancel()
	return r.queue.BrakeChannel(io, r.channel, b)
}

// reads lists the reads that the core asked for.
func (r *reader) reads(e *core.Effects) (list []func(context.Context) any) {
	add := func(read func(context.Context) any) { list = append(list, read) }
	for _, p := range e.Pages {
		add(func(ctx context.Context) any {
			list, err := r.queue.Head(ctx, r.channel, p.Lane, p.After, p.Limit)
			return pageRead{p, list, err}
		})
	}
	if e.Lanes {
		add(func(ctx context.Context) any {
			m := lanesRead{}
			if m.lanes, m.err = r.queue.Lanes(ctx, r.channel); m.err == nil {
				m.queued, m.err = r.queue.QueuedCount(ctx, r.channel)
			}
			return m
		})
	}
	if due := e.Due; due != nil {
		add(func(ctx context.Context) any {
			list, next, err := r.queue.Due(ctx, r.channel, due.Until, due.Limit)
			return instantRead{core.KindDue, list, next, err}
		})
	}
	if overdue := e.Overdue; overdue != nil {
		add(func(ctx context.Context) any {
			list, next, err := r.queue.Overdue(ctx, r.channel, overdue.Until, overdue.Limit)
			return instantRead{core.KindOverdue, list, next, err}
		})
	}
	for _, l := range e.Loads {
		add(func(ctx context.Context) any {
			contact, _, err := r.store.Contact(ctx, l.Ref)
			if weir.CodeOf(err) == weir.CodeNotFound {
				return contactRead{load: l}
			}
			return contactRead{l, contact, true, err}
		})
	}
	return list
}
