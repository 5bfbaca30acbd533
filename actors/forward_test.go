package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"weir"
	"weir/actors/core"
)

type letterbox struct {
	Store
	items atomic.Int32
}

func (l *letterbox) Deliver(context.Context, weir.InboxItem) error {
	l.items.Add(1)
	return nil
}

// A process may hold a lease whose channel it cannot load, for example because it
// lacks the channel's type. Items that it finds in the inbox stay there; forwarding
// them would duplicate them with every poll.
func TestWhatCameFromTheInboxIsNotForwarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &letterbox{}
		b := &broker{System: &System{store: store, ctx: t.Context()}, state: newChannelState(1, 1), standby: true}
		ref := weir.Ref{Channel: 1, ID: 1}
		b.handle(reported{from: core.Origin{Inbox: 7}})
		b.handle(cancelRequest{ref: ref, from: core.Origin{Inbox: 8}})
		synctest.Wait()
		if n := store.items.Load(); n != 0 {
			t.Errorf("%d items were delivered again", n)
		}
		wait := make(chan core.Reply, 1)
		b.handle(cancelRequest{ref: ref, from: core.Origin{Waiter: wait}})
		if r := <-wait; r.Err != nil || r.Verdict != weir.Forwarded || store.items.Load() != 1 {
			t.Errorf("a client's cancel: %+v, %d items", r, store.items.Load())
		}
	})
}
