package actors

import (
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/actors/supervise"
)

// managerName is the manager's actor name.
const managerName = "channels"

// manager spawns, addresses, passivates and drains the brokers. It does no I/O and
// keeps nothing that is not in the store.
type manager struct {
	*System
	self     *actor.PID
	children map[weir.ChannelID]*child
	byID     map[string]weir.ChannelID
	draining []chan struct{}
	drained  bool
	crashed  bool // its brokers end; it restarts once they have
}

// child is one broker as the manager sees it.
type child struct {
	*mailboxRef
	stopping bool  // its mailbox is closed
	poisoned bool  // it takes no more messages
	waiting  []any // messages for its successor
}

// Receive implements actor.Actor.
func (m *manager) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		m.self = ctx.Self()
		m.children = map[weir.ChannelID]*child{}
		m.byID = map[string]weir.ChannelID{}
		for id := range m.states { // their brokers ended in a crash, together with the messages in their mailboxes
			m.root.Send(m.self, deliver{id, sweepHint{}})
		}
	case *actor.Restarting:
		m.crashed = true
		m.mailboxes.closeAll()
	case deliver:
		m.deliver(ctx, msg.channel, msg.msg)
	case ifRunning:
		m.deliverIfRunning(ctx, msg)
	case broadcast:
		for _, c := range m.children {
			ctx.Send(c.pid, msg.msg)
		}
		msg.count <- len(m.children)
	case passivate:
		m.passivate(ctx, msg)
	case brokerEnded:
		// A broker that crashed while it ended may send this twice.
		if c := m.children[msg.channel]; c != nil && c.pid.Id == msg.actor {
			c.stop()
			c.poisoned = true
			ctx.Poison(c.pid)
		}
	case *actor.Terminated:
		m.terminated(ctx, msg.Who)
	case drainAll:
		m.drainAll(ctx, msg)
	case leasesRenewed:
		m.renewed(ctx, msg)
	}
}

// deliver passes a message on. While a broker is stopping, its messages wait for
// its successor.
func (m *manager) deliver(ctx actor.Context, id weir.ChannelID, msg any) {
	c := m.children[id]
	if c == nil {
		if m.drained || len(m.draining) > 0 {
			m.refuse(msg)
			return
		}
		c = m.spawn(ctx, id)
	}
	if c.stopping {
		if len(m.draining) > 0 {
			m.refuse(msg)
			return
		}
		c.waiting = append(c.waiting, msg)
		return
	}
	if !c.send(m.root, msg) { // its mailbox is closed though this manager did not stop it
		c.waiting = append(c.waiting, msg)
	}
}

// deliverIfRunning passes a request to a broker, even to one that is stopping.
func (m *manager) deliverIfRunning(ctx actor.Context, p ifRunning) {
	if c := m.children[p.channel]; c != nil && !c.poisoned {
		ctx.Send(c.pid, p.msg)
		return
	}
	p.missing()
}

// cancels returns the max concurrent cancels of a broker: few if the configured
// send concurrency is low, and never as many as a channel may have in flight.
func (m *manager) cancels() int {
	if n := m.coreConfig.SendConcurrency; n > 0 {
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
		s.meter = m.minutes.of(id)
		m.states[id] = s
	}
	s.lastSeen = 0
	s.lastSent.Store(0)
	s.stopping.Store(false)
	props := actor.PropsFromProducer(func() actor.Actor {
		return &broker{System: m.System, state: s, log: m.logger.With("channel_id", int64(id))}
	}, actor.WithReceiverMiddleware(m.brokerMiddleware...))
	pid := ctx.SpawnPrefix(props, "channel-"+strconv.FormatInt(int64(id), 10)+"-")
	c := &child{mailboxRef: &mailboxRef{pid: pid, state: s}}
	m.mailboxes.add(id, c.mailboxRef)
	m.children[id], m.byID[pid.Id] = c, id
	m.metrics.brokers.Set(float64(len(m.children)))
	return c
}

// passivate lets an idle broker stop, unless a message is on its way to it.
func (m *manager) passivate(ctx actor.Context, p passivate) {
	c := m.children[p.channel]
	if c == nil || c.stopping || !c.closeIfIdle(p.lastSeen) {
		return
	}
	c.drain(ctx)
}

// stop closes the mailbox of a broker that is to end.
func (c *child) stop() {
	c.stopping = true
	c.close()
}

// drain stops a broker, even if it crashes before it receives the message.
func (c *child) drain(ctx actor.Context) {
	c.stop()
	c.state.stopping.Store(true)
	ctx.Send(c.pid, drain{})
}

func (m *manager) terminated(ctx actor.Context, who *actor.PID) {
	id, known := m.byID[who.Id]
	if !known {
		return
	}
	c := m.children[id]
	delete(m.byID, who.Id)
	delete(m.children, id)
	m.mailboxes.remove(id, c.mailboxRef)
	m.restarter.Forget(who.Id)
	m.metrics.brokers.Set(float64(len(m.children)))
	if len(m.draining) > 0 {
		m.finishDrain()
		return
	}
	if m.crashed {
		for _, msg := range c.waiting {
			m.refuseWith(msg, errRestarted())
		}
		return
	}
	delete(m.states, id)
	if len(c.waiting) == 0 {
		return
	}
	m.spawn(ctx, id)
	for _, msg := range c.waiting {
		m.deliver(ctx, id, msg)
	}
}

func (m *manager) drainAll(ctx actor.Context, d drainAll) {
	m.draining = append(m.draining, d.done)
	for _, c := range m.children {
		if !c.stopping {
			c.drain(ctx)
		}
		for _, msg := range c.waiting {
			m.refuse(msg)
		}
		c.waiting = nil
	}
	m.finishDrain()
}

func (m *manager) finishDrain() {
	if len(m.children) > 0 {
		return
	}
	m.drained = true
	for _, done := range m.draining {
		close(done)
	}
	m.draining = nil
}

// leasesRenewed lists the leases that were extended, and until when.
type leasesRenewed struct {
	asked    time.Time
	until    time.Time
	channels map[weir.ChannelID]struct{}
}

// renewed passes the renewal on to the brokers. A broker whose lease was acquired
// before the renewal was requested and is not in the result has lost it.
func (m *manager) renewed(ctx actor.Context, r leasesRenewed) {
	for id, c := range m.children {
		if _, ours := r.channels[id]; ours {
			ctx.Send(c.pid, renewed{r.until})
		} else if until := c.state.until.Load(); until != nil && until.Before(r.asked.Add(m.leaseTTL-supervise.LeaseMargin(m.leaseTTL))) {
			ctx.Send(c.pid, leaseGone{})
		}
	}
}

// refuse answers the waiter of a message that will not be handled.
func (m *manager) refuse(msg any) { m.refuseWith(msg, errDraining()) }

func (m *manager) refuseWith(msg any, err error) { (&broker{System: m.System}).refuse(msg, err) }

func errDraining() error {
	return &weir.Error{Code: weir.CodeDraining, Message: "the program is shutting down", RetryAfter: 5 * time.Second}
}
