package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
)

// way leads to a broker that runs. Whoever has a message for it sends it along
// the way; the manager opens it, and shuts it before it lets the broker stop.
// What comes after that goes through the manager, who knows what is next.
type way struct {
	pid  *actor.PID
	seat *seat

	mu   sync.Mutex
	seq  int64 // of the last message that went along it
	shut bool
}

// send hands a message on, under the next number. false: the way is shut.
func (w *way) send(root *actor.RootContext, msg any) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut {
		return false
	}
	w.seq++
	w.seat.handed.Store(w.seq)
	root.Send(w.pid, numbered{w.seq, msg}) // under the lock, so that they arrive as they are numbered
	return true
}

func (w *way) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = true
}

// closeAfter shuts the way if no message has gone along it since one that the
// broker has seen.
func (w *way) closeAfter(seen int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = w.shut || w.seq == seen
	return w.shut
}

// ways are those of all brokers that run.
type ways struct{ m sync.Map } // of *way by weir.ChannelID

func (w *ways) open(id weir.ChannelID, to *way) { w.m.Store(id, to) }

// remove forgets a way. One that leads to a successor stays.
func (w *ways) remove(id weir.ChannelID, to *way) {
	to.close()
	w.m.CompareAndDelete(id, to)
}

func (w *ways) closeAll() {
	for id, to := range w.m.Range {
		w.remove(id.(weir.ChannelID), to.(*way))
	}
}

// deliver hands a message to a channel's broker: straight if there is one, else
// through the manager, who starts one.
func (s *System) deliver(channel weir.ChannelID, msg any) {
	if w, ok := s.ways.m.Load(channel); ok && w.(*way).send(s.root, msg) {
		return
	}
	s.root.Send(s.manager, deliver{channel, msg})
}
