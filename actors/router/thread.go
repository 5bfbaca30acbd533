package router

import "github.com/asynkron/protoactor-go/actor"

// thread runs the desk on one permanent goroutine whose stack has already grown
// to the size that the engine needs. The library would start a goroutine
// whenever a message finds the mailbox empty: thousands of times a second.
type thread struct {
	work chan func()
	over chan struct{} // closed at the end
}

var _ actor.Dispatcher = (*thread)(nil)

// throughput is the max number of messages that the desk handles before it
// yields.
const throughput = 300

func newThread() *thread {
	t := &thread{work: make(chan func(), 1), over: make(chan struct{})}
	go t.run()
	return t
}

func (t *thread) run() {
	for {
		select {
		case work := <-t.work:
			work()
		case <-t.over:
			return
		}
	}
}

// end stops the goroutine. No work that matters may be scheduled afterwards.
func (t *thread) end() { close(t.over) }

// Schedule implements actor.Dispatcher. A mailbox schedules at most one
// function beside the running one, which may be about to end.
func (t *thread) Schedule(work func()) {
	select {
	case t.work <- work:
	default:
		go work()
	}
}

// Throughput implements actor.Dispatcher.
func (t *thread) Throughput() int { return throughput }
