package channels

import (
	"strconv"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
)

// managerName is the manager's actor name.
const managerName = "channels"

// mail passes messages to the brokers.
type mail struct {
	root    *actor.RootContext
	manager *actor.PID
	running sync.Map // of *child by weir.ChannelID
}

// deliver passes a message to a channel's broker: directly if it runs, otherwise
// through the manager, which starts it. A message that is on its way while the broker ends,
// because its channel was deleted, may be lost: whoever waits for an answer then hears
// [weir.CodeUnavailable] once the time for it is over.
func (m *mail) deliver(channel weir.ChannelID, msg any) {
	if c, running := m.running.Load(channel); running {
		m.root.Send(c.(*child).pid, msg)
		return
	}
	m.root.Send(m.manager, deliver{channel, msg})
}

// ifRunning passes a message to a channel's broker if it runs. Otherwise missing is called.
func (m *mail) ifRunning(channel weir.ChannelID, msg any, missing func()) {
	m.root.Send(m.manager, ifRunning{channel, msg, missing})
}

// submit leaves an acceptance to the channel's broker, if it seems to have free slots. If the
// message is lost, [weir.Acceptance.Wait] submits it.
func (m *mail) submit(channel weir.ChannelID, a *acceptance) bool {
	c, running := m.running.Load(channel)
	if !running || !c.(*child).state.claimsAtOnce.Load() {
		return false
	}
	m.root.Send(c.(*child).pid, accepting{a})
	return true
}

// manager spawns, addresses and quiets the brokers. It does no I/O and keeps nothing
// that is not in the store.
type manager struct {
	shared     *shared
	mail       *mail
	middleware []actor.ReceiverMiddleware       // of the brokers
	states     map[weir.ChannelID]*channelState // outlive a crash of the manager

	self     *actor.PID
	children map[weir.ChannelID]*child
	waiting  []chan struct{} // closed once all brokers are quiet
}

// child is one broker. It runs until its channel is deleted or the program ends.
type child struct {
	pid   *actor.PID
	state *channelState
	quiet bool // no provider is being called for a contact, nor will be
}

// Receive implements actor.Actor.
func (m *manager) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		m.self = ctx.Self()
		m.children = map[weir.ChannelID]*child{}
		for id := range m.states { // their brokers ended in a crash, together with the messages in their mailboxes
			m.shared.root.Send(m.self, deliver{id, sweepHint{}})
		}
	case *actor.Restarting: // its brokers end; it restarts once they have
		m.mail.running.Clear()
	case deliver:
		m.deliver(ctx, msg.channel, msg.msg)
	case ifRunning:
		if c := m.children[msg.channel]; c != nil {
			ctx.Send(c.pid, msg.msg)
		} else {
			msg.missing()
		}
	case broadcast:
		for _, c := range m.children {
			ctx.Send(c.pid, msg.msg)
		}
		msg.count <- len(m.children)
	case brokerEnded:
		m.ended(ctx, msg)
	case brokerQuiet:
		if c := m.children[msg.channel]; c != nil && c.pid.Id == msg.actor {
			c.quiet = true
		}
		m.checkQuiet()
	case quietAll:
		m.waiting = append(m.waiting, msg.done)
		for _, c := range m.children {
			ctx.Send(c.pid, quieten{})
		}
		m.checkQuiet()
	}
}

// deliver passes a message on.
func (m *manager) deliver(ctx actor.Context, id weir.ChannelID, msg any) {
	c := m.children[id]
	if c == nil {
		c = m.spawn(ctx, id)
	}
	ctx.Send(c.pid, msg)
}

// cancels returns the max concurrent cancels of a broker: few if the configured
// send concurrency is low, and never as many as a channel may have in flight.
func (m *manager) cancels() int {
	if n := m.shared.core.SendConcurrency; n > 0 {
		return min(n, maxCancels)
	}
	return maxCancels
}

// spawn starts a broker, with the channel state that a crash of the manager left,
// if any: provider calls may still be under way.
func (m *manager) spawn(ctx actor.Context, id weir.ChannelID) *child {
	s := m.states[id]
	if s == nil {
		s = newChannelState(id, m.cancels())
		s.meter = m.shared.minutes.of(id)
		m.states[id] = s
	}
	props := actor.PropsFromProducer(func() actor.Actor {
		return &broker{
			shared: m.shared, state: s, log: m.shared.logger.With("channel_id", int64(id)),
			reader: &reader{id, m.shared.store, m.shared.queue, m.shared.directory},
		}
	}, actor.WithReceiverMiddleware(m.middleware...), actor.WithDispatcher(m.shared.goroutines), actor.WithMailbox(func() actor.Mailbox {
		s.mailbox = actor.Unbounded()()
		return s.mailbox
	}))
	c := &child{pid: ctx.SpawnPrefix(props, "channel-"+strconv.FormatInt(int64(id), 10)+"-"), state: s}
	m.children[id] = c
	m.mail.running.Store(id, c)
	return c
}

// ended removes a broker. It refuses what is in its
// mailbox already.
func (m *manager) ended(ctx actor.Context, e brokerEnded) {
	c := m.children[e.channel]
	if c == nil || c.pid.Id != e.actor { // a broker that crashed while it ended may send this twice
		return
	}
	m.mail.running.Delete(e.channel)
	delete(m.children, e.channel)
	delete(m.states, e.channel)
	m.shared.restarter.Forget(c.pid.Id)
	c.state.setAwake(false, m.shared.metrics.brokers)
	ctx.Poison(c.pid)
	m.checkQuiet()
}

// checkQuiet releases whoever waits until all brokers are quiet, if they are.
func (m *manager) checkQuiet() {
	for _, c := range m.children {
		if !c.quiet {
			return
		}
	}
	for _, done := range m.waiting {
		close(done)
	}
	m.waiting = nil
}
