package channels_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	channelbroker "weir/actors/channels"
	"weir/persistence"
	"weir/persistence/storetest"
)

// idleAfter is longer than brokers of these tests stay idle before they rest.
const idleAfter = 2 * time.Hour

// resting is a system whose only broker rests, after it was set up once.
type resting struct {
	*claimStore
	system  *channelbroker.System
	channel weir.Channel
	sends   *atomic.Int32
}

func newResting(t *testing.T, wrap ...actor.ReceiverMiddleware) *resting {
	t.Helper()
	r := &resting{claimStore: &claimStore{Store: storetest.Open(t, "sqlite://:memory:", persistence.Options{})}}
	r.system, r.channel, r.sends = startMute(t, r.claimStore, wrap...)
	t.Cleanup(r.system.Close)
	r.system.Changed(t.Context(), r.channel.ID)
	r.rests(t, 1)
	return r
}

// rests waits until the broker is idle for long enough, and requires that it has loaded its
// state that often.
func (r *resting) rests(t *testing.T, incarnations int64) {
	t.Helper()
	time.Sleep(idleAfter)
	synctest.Wait()
	if n := r.incarnations.Load(); n != incarnations {
		t.Fatalf("%d incarnations began, want %d", n, incarnations)
	}
}

// An idle broker drops its state. Whatever needs the broker wakes it, and is handled.
func TestBroker_RestsUntilAMessageComes(t *testing.T) {
	unknown := func(r *resting) weir.AttemptRef {
		return weir.AttemptRef{Ref: weir.Ref{Channel: r.channel.ID, ID: 4711}, Number: 1}
	}
	for name, message := range map[string]func(*testing.T, *resting){
		"a change": func(t *testing.T, r *resting) { r.system.Changed(t.Context(), r.channel.ID) },
		"a report": func(t *testing.T, r *resting) {
			got, err := r.system.Report(t.Context(), r.channel.ID, []weir.Report{{Attempt: unknown(r)}})
			if err != nil || got[0] != weir.UnknownAttempt {
				t.Errorf("the verdict is %v, %v", got, err)
			}
		},
		"a cancel": func(t *testing.T, r *resting) {
			if _, err := r.system.Cancel(t.Context(), unknown(r).Ref); weir.CodeOf(err) != weir.CodeNotFound {
				t.Errorf("the cancel says %v", err)
			}
		},
		"the sweep": func(t *testing.T, r *resting) {
			// Nobody announces the contact.
			a, err := r.NewAcceptance(t.Context(), r.channel.ID, []weir.Spec{{To: "+15550001", Priority: weir.Normal, Messages: []string{"hello"}}})
			if err != nil {
				t.Fatal(err)
			}
			a.Submit(weir.Claims{})
			got, err := a.Wait()
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if r.sends.Load() != 1 {
				t.Errorf("it was sent %d times", r.sends.Load())
			}
			if _, err := r.system.Cancel(t.Context(), got[0].Contact.Ref); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := newResting(t)
				message(t, r)
				r.rests(t, 2)
			})
		})
	}
}

// A broker that crashes on the message that tells it to be quiet is waited for, and is quiet.
func TestSystem_QuietsABrokerThatCrashes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var armed atomic.Bool
		r := newResting(t, crashOn(".quieten", &armed))
		r.system.Changed(t.Context(), r.channel.ID)
		armed.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.system.Quiet(ctx); err != nil || armed.Load() {
			t.Errorf("it says %v; crashed: %v", err, !armed.Load())
		}
	})
}

// The broker of a deleted channel ends, and what is sent to the channel later is refused.
func TestBroker_EndsWithItsChannel(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newResting(t)
		if done, err := r.system.Delete(t.Context(), r.channel.ID); !done || err != nil {
			t.Fatalf("the deletion: %v, %v", done, err)
		}
		for _, ended := range []bool{false, true} {
			_, err := r.system.Cancel(t.Context(), weir.Ref{Channel: r.channel.ID, ID: 4711})
			// A cancel that is on its way while the broker ends may be lost.
			if code := weir.CodeOf(err); code != weir.CodeNotFound && (ended || code != weir.CodeUnavailable) {
				t.Errorf("a cancel says %v, want not found; the broker has ended: %v", err, ended)
			}
			time.Sleep(time.Second)
		}
	})
}
