package scenarios_test

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Steps shared by several scenarios.

// capacity changes the capacity of a channel.
func (w *world) capacity(channel string, n int) {
	w.Helper()
	w.patch(channel, fields{"capacity": n})
}

// pause pauses or resumes a channel.
func (w *world) pause(channel string, paused bool) {
	w.Helper()
	w.patch(channel, fields{"paused": paused})
}

// atOnce runs a step that must not need time to pass. In real time the limit of
// until checks that: the periodic sweeps of the queue and questions to the provider
// are further apart.
func (w *world) atOnce(do func()) {
	w.Helper()
	begun := time.Now()
	do()
	if spent := time.Since(begun); w.virtual && spent > 100*time.Millisecond {
		w.Fatalf("it took %s of waiting for something else", spent)
	}
}

// oneByOne plays a channel of capacity 1: n times, the contact in flight ends and
// the next may start. It returns the keys in order of dispatch, beginning with the
// contact in flight.
func (w *world) oneByOne(n int, after ...func(key string)) []string {
	w.Helper()
	begin := len(w.lab.sentKeys()) - 1
	for i := range n {
		key := w.nth(begin + i)
		w.finish(key)
		for _, f := range after {
			f(key)
		}
	}
	return w.lab.sentKeys()[begin : begin+n]
}

// nth waits for the contact that is sent as number n, counted from 0, and returns
// its key.
func (w *world) nth(n int) string {
	w.Helper()
	w.until("the next contact is sent", func() bool { return len(w.lab.sentKeys()) > n })
	return w.lab.sentKeys()[n]
}

// sentSet returns the keys of all sent contacts, sorted: contacts that were claimed
// together are sent together, in any order.
func (w *world) sentSet() []string { return slices.Sorted(slices.Values(w.lab.sentKeys())) }

// instant parses an instant of a contact or an attempt; zero if it has none.
func instant(w *world, from map[string]any, name string) time.Time {
	w.Helper()
	text, ok := from[name].(string)
	if !ok {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		w.Fatal(err)
	}
	return at
}

// claimed returns when the latest attempt of a contact was claimed.
func (w *world) claimed(id string) time.Time {
	w.Helper()
	attempts := w.contact(id)["attempts"].([]any)
	if len(attempts) == 0 {
		return time.Time{}
	}
	return instant(w, attempts[len(attempts)-1].(map[string]any), "claimed_at")
}

// finished returns when a contact ended.
func (w *world) finished(id string) time.Time {
	w.Helper()
	return instant(w, w.contact(id), "finished_at")
}

// fuse acts once on the next message of a broker after it was lit.
type fuse struct{ lit, out atomic.Bool }

func (f *fuse) light()      { f.lit.Store(true) }
func (f *fuse) blown() bool { return f.out.Load() }

// fuse restarts the brokers with a fuse that makes them panic.
func (w *world) fuse() *fuse {
	w.Helper()
	return w.fuseThat(func() { panic("a fuse blew") })
}

func (w *world) fuseThat(blows func()) *fuse {
	w.Helper()
	f := &fuse{}
	w.wrap = append(w.wrap, func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
			if f.lit.CompareAndSwap(true, false) {
				f.out.Store(true)
				blows()
			}
			next(c, env)
		}
	})
	w.restart()
	return f
}

// calledBack lists the contacts that the provider was asked to cancel.
func (l *lab) calledBack() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.canceled)
}

// takenKeys lists the contacts that the provider accepted, in order.
func (l *lab) takenKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.taken)
}

// outKeys lists the contacts that are in flight at the provider now.
func (l *lab) outKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []string
	for _, s := range l.sends {
		for _, open := range l.open[s.id].open {
			if open {
				keys = append(keys, s.key)
				break
			}
		}
	}
	return keys
}
