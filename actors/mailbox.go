package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
)

// mailboxRef is the mailbox reference of a running broker. Senders use it directly; the
// manager opens it, and closes it before it lets the broker stop. Later messages
// go through the manager, which decides what follows.
type mailboxRef struct {
	pid   *actor.PID
	state *channelState

	mu     sync.Mutex
	seq    int64 // number of the last message sent along it
	closed bool
}

// send passes a message on, under the next number. It returns false if the
// mailbox is closed.
func (w *mailboxRef) send(root *actor.RootContext, msg any) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.seq++
	w.state.lastSent.Store(w.seq)
	root.Send(w.pid, numbered{w.seq, msg}) // under the lock, so that they arrive in the order of their numbers
	return true
}

func (w *mailboxRef) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// closeIfIdle closes the mailbox if no message was sent after the last one that
// the broker has handled. It reports whether the mailbox is closed.
func (w *mailboxRef) closeIfIdle(seen int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = w.closed || w.seq == seen
	return w.closed
}

// mailboxRefs holds the mailboxes of all running brokers.
type mailboxRefs struct{ m sync.Map } // of *way by weir.ChannelID

func (w *mailboxRefs) add(id weir.ChannelID, to *mailboxRef) { w.m.Store(id, to) }

// remove forgets a way, but not that of a successor.
func (w *mailboxRefs) remove(id weir.ChannelID, to *mailboxRef) {
	to.close()
	w.m.CompareAndDelete(id, to)
}

func (w *mailboxRefs) closeAll() {
	for id, to := range w.m.Range {
		w.remove(id.(weir.ChannelID), to.(*mailboxRef))
	}
}

// deliver passes a message to a channel's broker: directly if it runs, otherwise
// through the manager, which starts it.
func (s *System) deliver(channel weir.ChannelID, msg any) {
	if w, ok := s.mailboxes.m.Load(channel); ok && w.(*mailboxRef).send(s.root, msg) {
		return
	}
	s.root.Send(s.manager, deliver{channel, msg})
}
