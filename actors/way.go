package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
)

// way is the mailbox reference of a running broker. Senders use it directly; the
// manager opens it, and closes it before it lets the broker stop. Later messages
// go through the manager, which decides what follows.
type way struct {
	pid  *actor.PID
	seat *seat

	mu   sync.Mutex
	seq  int64 // number of the last message sent along it
	shut bool
}

// send passes a message on, under the next number. It returns false if the way is
// closed.
func (w *way) send(root *actor.RootContext, msg any) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut {
		return false
	}
	w.seq++
	w.seat.handed.Store(w.seq)
	root.Send(w.pid, numbered{w.seq, msg}) // under the lock, so that they arrive in the order of their numbers
	return true
}

func (w *way) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = true
}

// closeAfter closes the way if no message was sent along it after the last one
// that the broker has seen. It reports whether the way is closed.
func (w *way) closeAfter(seen int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = w.shut || w.seq == seen
	return w.shut
}

// ways holds the ways of all running brokers.
type ways struct{ m sync.Map } // of *way by weir.ChannelID

func (w *ways) open(id weir.ChannelID, to *way) { w.m.Store(id, to) }

// remove forgets a way, but not that of a successor.
func (w *ways) remove(id weir.ChannelID, to *way) {
	to.close()
	w.m.CompareAndDelete(id, to)
}

func (w *ways) closeAll() {
	for id, to := range w.m.Range {
		w.remove(id.(weir.ChannelID), to.(*way))
	}
}

// deliver passes a message to a channel's broker: directly if it runs, otherwise
// through the manager, which starts it.
func (s *System) deliver(channel weir.ChannelID, msg any) {
	if w, ok := s.ways.m.Load(channel); ok && w.(*way).send(s.root, msg) {
		return
	}
	s.root.Send(s.manager, deliver{channel, msg})
}
