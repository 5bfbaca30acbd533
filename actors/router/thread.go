package router

import "github.com/asynkron/protoactor-go/actor"

// thread runs the desk on one goroutine that stays, whose stack has grown as far
// as the engine needs it. The library would start a goroutine whenever a message
// finds the mailbox empty: thousands of times a second.
type thread struct {
	work chan func()
	over chan struct{} // closed at the end
}

var _ actor.Dispatcher = (*thread)(nil)

// throughput is after how many messages the desk lets others run.
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

// end ends the goroutine. Nothing that matters may be scheduled any more.
func (t *thread) end() { close(t.over) }

// Schedule implements actor.Dispatcher. A mailbox has no more scheduled than
// what runs, which may be about to end, and one thing after it.
func (t *thread) Schedule(work func()) {
	select {
	case t.work <- work:
	default:
		go work()
	}
}

// Throughput implements actor.Dispatcher.
func (t *thread) Throughput() int { return throughput }
