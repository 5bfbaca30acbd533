package router_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"

	"weir"
	"weir/actors/router"
	"weir/persistence/storetest"
	routing "weir/router"
	"weir/router/journal"
)

// A router that starts again has the same state, whether it was drained or
// killed.
func TestRouter_FindsItsStateAgain(t *testing.T) {
	t.Parallel()
	for name, drained := range map[string]bool{"drained": true, "ended": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := storetest.SQLite(t)
			r := start(t, store, nil)
			r.furnish(2)
			offer, ok := find[*journal.OfferIssuedEvent](r.do(routing.PutJob{ID: "j1", Spec: job()}))
			if !ok {
				t.Fatal("no offer was made")
			}
			r.do(routing.AcceptOffer{WorkerID: offer.WorkerID, OfferID: offer.OfferID})
			r.do(routing.PutJob{ID: "j2", Spec: job()})
			want := r.bytes()
			if drained {
				if err := r.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else {
				r.Close()
			}
			if diff := cmp.Diff(want, start(t, store, nil).bytes()); diff != "" {
				t.Errorf("the state differs (-before +after):\n%s", diff)
			}
		})
	}
}

// Changed limits apply from the next start on, also to existing resources.
func TestRouter_ChangedLimitsHoldFromTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.SQLite(t)
		r := start(t, store, nil)
		r.furnish(1)
		r.do(routing.PutJob{ID: "j", Spec: job()})
		r.do(routing.CancelJob{ID: "j"})
		r.Close()
		brief := routing.DefaultSettings()
		brief.KeepFinished = time.Minute
		for range 2 {
			kinds, tell := watch()
			r = start(t, store, func(o *router.Options) { o.Settings, o.Watch = brief, tell })
			if took := within(t, kinds, "jobForgotten", 2*time.Minute); took > time.Minute {
				t.Errorf("it was kept for %v", took)
			}
			r.do(routing.PutJob{ID: "j", Spec: job()})
			r.do(routing.CancelJob{ID: "j"})
			r.Close()
		}
	})
}

// A caller whose function panics gets an error, and no other caller is
// affected.
func TestRouter_PanicOfACallerAffectsNoOther(t *testing.T) {
	t.Parallel()
	r := start(t, storetest.SQLite(t), nil)
	r.furnish(1)
	err := r.Do(t.Context(), func(*routing.State, time.Time) (routing.Command, error) { panic("oops") }, nil)
	if weir.CodeOf(err) != weir.CodeInternal {
		t.Error(err)
	}
	if err := r.View(t.Context(), func(*routing.State, time.Time) { panic("oops") }); weir.CodeOf(err) != weir.CodeInternal {
		t.Error(err)
	}
	r.do(routing.PutJob{ID: "j", Spec: job()})
}

// An actor that crashes answers its waiting callers and comes back with its
// state.
func TestRouter_ComesBackWithItsStateAfterACrash(t *testing.T) {
	t.Parallel()
	var crash atomic.Bool
	r := start(t, storetest.SQLite(t), func(o *router.Options) {
		o.Middleware = []actor.ReceiverMiddleware{func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(ctx actor.ReceiverContext, env *actor.MessageEnvelope) {
				if _, system := env.Message.(actor.SystemMessage); !system && crash.CompareAndSwap(true, false) {
					panic("injected")
				}
				next(ctx, env)
			}
		}}
	})
	r.furnish(1)
	want := r.bytes()
	crash.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := do(ctx, r.Router, routing.PutJob{ID: "j", Spec: job()}); weir.CodeOf(err) != weir.CodeUnavailable {
		t.Error(err)
	}
	if diff := cmp.Diff(body(want), body(r.bytes())); diff != "" {
		t.Error(diff)
	}
	r.do(routing.PutJob{ID: "j", Spec: job()})
}

// A call whose caller has left is not executed later.
func TestRouter_DropsTheCallOfACallerWhoHasGone(t *testing.T) {
	t.Parallel()
	r := start(t, storetest.SQLite(t), nil)
	r.furnish(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		ran := false
		err := r.View(ctx, func(*routing.State, time.Time) { ran = true })
		if seen := ran; err == nil && !seen {
			t.Error("it was answered and not run")
		}
	}
}
