package channels_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	channelbroker "weir/actors/channels"
	"weir/actors/supervise"
	"weir/persistence"
	"weir/persistence/storetest"
)

// second starts a system, has its broker dispatch a contact, and accepts another.
type second struct {
	*claimStore
	system  *channelbroker.System
	channel weir.Channel
	sends   *atomic.Int32
	with    bool // contacts are accepted with other work
}

// acceptedAlone accepts contacts by themselves, acceptedWith with other work.
const (
	acceptedAlone = false
	acceptedWith  = true
)

// bothWays runs a test with contacts that are accepted by themselves, and with other work.
func bothWays(t *testing.T, f func(t *testing.T, with bool)) {
	t.Run("alone", func(t *testing.T) { inBubble(t, func(t *testing.T) { f(t, acceptedAlone) }) })
	t.Run("with other work", func(t *testing.T) { inBubble(t, func(t *testing.T) { f(t, acceptedWith) }) })
}

func newSecond(t *testing.T, with bool, wrap ...actor.ReceiverMiddleware) *second {
	s := &second{claimStore: &claimStore{Store: storetest.Open(t, "sqlite://:memory:", persistence.Options{})}, with: with}
	s.system, s.channel, s.sends = startMute(t, s.claimStore, wrap...)
	t.Cleanup(s.system.Close)
	s.accept(t)
	time.Sleep(time.Second)
	synctest.Wait()
	return s
}

func (s *second) accept(t *testing.T) weir.Contact {
	t.Helper()
	specs := []weir.Spec{{To: "+15550001", Priority: weir.Normal, Messages: []string{"hello"}}}
	if !s.with {
		got, err := s.system.Accept(t.Context(), s.channel, specs)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Contact
	}
	stored, err := s.NewAcceptance(t.Context(), s.channel.ID, specs)
	if err != nil {
		t.Fatal(err)
	}
	work := &otherWork{Acceptance: stored}
	if err := s.system.AcceptWith(s.channel.ID, specs, work); err != nil {
		t.Fatal(err)
	}
	return work.accepted[0].Contact
}

// otherWork is work that contacts are accepted with: it alone learns what became of them.
type otherWork struct {
	weir.Acceptance
	accepted []weir.Accepted
}

func (w *otherWork) Wait() (_ []weir.Accepted, err error) {
	w.accepted, err = w.Acceptance.Wait()
	return w.accepted, err
}

// wantSent requires that the provider got both contacts, once, and that so many were
// claimed in the queue.
func (s *second) wantSent(t *testing.T, ref weir.Ref, claims int64) {
	t.Helper()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	contact, _, err := s.Contact(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if contact.State != weir.Active || s.sends.Load() != 2 || s.claims.Load() != claims {
		t.Errorf("it is %s, the provider got %d, %d were claimed in the queue; want active, 2, %d", contact.State, s.sends.Load(), s.claims.Load(), claims)
	}
}

// crashOn has the broker panic at the first message of a type after it is armed.
func crashOn(message string, armed *atomic.Bool) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
			if strings.HasSuffix(supervise.MessageType(env.Message), message) && armed.CompareAndSwap(true, false) {
				panic("a fault in the test")
			}
			next(c, env)
		}
	}
}

func TestAccept_ClaimsAContactAtOnce(t *testing.T) {
	bothWays(t, func(t *testing.T, with bool) {
		s := newSecond(t, with)
		c := s.accept(t)
		if c.State != weir.Sending {
			t.Errorf("it was answered as %s, want sending", c.State)
		}
		s.wantSent(t, c.Ref, 1)
	})
}

// The broker crashes after contacts were accepted and claimed, and before it hears of it.
// The contact certainly was not sent.
func TestAccept_ClaimOutlivesItsBroker(t *testing.T) {
	bothWays(t, func(t *testing.T, with bool) {
		var armed atomic.Bool
		s := newSecond(t, with, crashOn(".acceptedReserved", &armed))
		armed.Store(true)
		c := s.accept(t)
		s.wantSent(t, c.Ref, 2)
		if armed.Load() {
			t.Error("it did not crash")
		}
	})
}

// The broker crashes before it has submitted the contacts: the message is lost, and the
// caller submits them.
func TestAccept_OutlivesABrokerThatCrashes(t *testing.T) {
	bothWays(t, func(t *testing.T, with bool) {
		var armed atomic.Bool
		s := newSecond(t, with, crashOn(".accepting", &armed))
		armed.Store(true)
		begun := time.Now()
		c := s.accept(t)
		if took := time.Since(begun); took > 100*time.Millisecond || armed.Load() {
			t.Errorf("it took %v; crashed: %v", took, !armed.Load())
		}
		s.wantSent(t, c.Ref, 2)
	})
}

// Another incarnation begins between the reservation and the commit: the contact waits, and is
// claimed by the next one.
func TestAccept_LeavesTheClaimToTheNextIncarnation(t *testing.T) {
	bothWays(t, func(t *testing.T, with bool) {
		s := newSecond(t, with)
		taken := make(chan struct{})
		s.onSubmit = func() {
			s.onSubmit = nil
			done := make(chan struct{})
			go func() { // Receive does no I/O
				defer close(done)
				if _, err := s.Store.Incarnate(context.Background(), s.channel.ID); err != nil {
					t.Error(err)
				}
			}()
			<-done
			close(taken)
		}
		c := s.accept(t)
		<-taken
		if c.State != weir.Queued {
			t.Errorf("it was answered as %s, want queued", c.State)
		}
		s.wantSent(t, c.Ref, 3) // refused once
	})
}

// The caller goes away while its contacts are stored: what is stored is dispatched all
// the same.
func TestAccept_DispatchesAfterItsCallerHasGone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSecond(t, acceptedAlone)
		ctx, cancel := context.WithCancel(t.Context())
		s.onSubmit = func() { s.onSubmit = nil; time.AfterFunc(0, cancel) }
		_, err := s.system.Accept(ctx, s.channel, []weir.Spec{{To: "+15550002", Priority: weir.Normal, Messages: []string{"hello"}}})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		list, _, readErr := s.Contacts(t.Context(), weir.ContactFilter{Channel: s.channel.ID, Limit: 10})
		if readErr != nil {
			t.Fatal(readErr)
		}
		if int(s.sends.Load()) != len(list) || err == nil && len(list) != 2 {
			t.Errorf("accept said %v; %d contacts are stored and %d were sent", err, len(list), s.sends.Load())
		}
		if c := s.accept(t); c.State != weir.Sending { // nothing is reserved for ever
			t.Errorf("the next one is %s, want sending", c.State)
		}
	})
}

// refusedWork is work that the store refuses, and the contacts with it.
type refusedWork struct{ done chan struct{} }

var errRefused = &weir.Error{Code: weir.CodeConflict, Message: "the turn has passed"}

func (w *refusedWork) Submit(c weir.Claims) bool {
	if c.Done != nil {
		c.Done(nil, errRefused)
	}
	close(w.done)
	return true
}

func (w *refusedWork) Wait() ([]weir.Accepted, error) {
	<-w.done
	return nil, errRefused
}

// Work that is refused has nothing dispatched, and gives back the slots that were reserved for its contacts.
func TestAccept_GivesBackWhatRefusedWorkHasReserved(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSecond(t, acceptedWith)
		for range 20 { // more than there are slots
			err := s.system.AcceptWith(s.channel.ID, []weir.Spec{{To: "+15550002", Priority: weir.Normal, Messages: []string{"hello"}}}, &refusedWork{make(chan struct{})})
			if weir.CodeOf(err) != weir.CodeConflict {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		c := s.accept(t)
		if c.State != weir.Sending {
			t.Errorf("the next one is %s, want sending", c.State)
		}
		s.wantSent(t, c.Ref, 1)
	})
}
