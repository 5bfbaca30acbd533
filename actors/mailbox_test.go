package actors

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"
)

// Messages arrive in the order of their numbers whichever goroutine sends them,
// and an idle mailbox is closed only if the broker has handled the last one: none
// is lost in between.
func TestMailboxKeepsItsNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const senders, each = 8, 50
		system := actor.NewActorSystem()
		defer system.Shutdown()
		var seen []int64
		pid := system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if m, ok := ctx.Message().(numbered); ok {
				seen = append(seen, m.seq)
			}
		}))
		w := &mailboxRef{pid: pid, state: newChannelState(1, 1)}
		var all sync.WaitGroup
		for range senders {
			all.Go(func() {
				for range each {
					if !w.send(system.Root, sweepHint{}) {
						t.Error("the mailbox was closed")
					}
				}
			})
		}
		all.Wait()
		synctest.Wait()
		for i, seq := range seen {
			if seq != int64(i+1) {
				t.Fatalf("message %d came as the %dth", seq, i+1)
			}
		}
		if len(seen) != senders*each || w.state.lastSent.Load() != senders*each {
			t.Fatalf("%d messages came of %d", len(seen), senders*each)
		}
		if w.closeIfIdle(senders*each-1) || !w.send(system.Root, sweepHint{}) {
			t.Error("the mailbox was closed behind an unhandled message")
		}
		if !w.closeIfIdle(senders*each+1) || w.send(system.Root, sweepHint{}) {
			t.Error("an idle mailbox stays open")
		}
		system.Root.Stop(pid)
		synctest.Wait()
	})
}
