package channels_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"

	"weir"
	channelbroker "weir/actors/channels"
	core "weir/actors/contacts"
	"weir/actors/supervise"
	"weir/channels"
	"weir/persistence"
	"weir/persistence/storetest"
)

// claimStore lets a test intervene between the brokers and the store.
type claimStore struct {
	*persistence.Store
	onClaim func(weir.Change, func(weir.CommitResult)) // handles the next claim; nil passes it on
	onLanes func() error
	refused atomic.Int64                               // claims refused because they can never be written
	refuse  int64                                      // number of claims to refuse
	claims  atomic.Int64                               // of contacts that were queued
	lapsed  atomic.Bool                                // the lease of the database has run out
	onSent  func(weir.Change, func(weir.CommitResult)) // handles the next change of a contact that was dispatched; nil passes it on
	// onSubmit comes before a broker's Submit.
	onSubmit     func()
	incarnations atomic.Int64 // that began
}

// NewAcceptance has onSubmit called before contacts are submitted.
func (s *claimStore) NewAcceptance(ctx context.Context, id weir.ChannelID, specs []weir.Spec) (weir.Acceptance, error) {
	a, err := s.Store.NewAcceptance(ctx, id, specs)
	return acceptance{a, s}, err
}

type acceptance struct {
	weir.Acceptance
	s *claimStore
}

func (a acceptance) Submit(c weir.Claims) bool {
	if a.s.onSubmit != nil && c.First > 0 {
		a.s.onSubmit()
	}
	return a.Acceptance.Submit(c)
}

func (s *claimStore) Commit(c weir.Change, done func(weir.CommitResult)) {
	if len(c.Transitions) > 0 && c.Transitions[0].Was == weir.Queued {
		s.claims.Add(1)
	}
	if s.onClaim != nil && len(c.Transitions) > 0 && c.Transitions[0].Was == weir.Queued {
		act := s.onClaim
		s.onClaim = nil
		act(c, done)
		return
	}
	if len(c.Transitions) > 0 && c.Transitions[0].Was == weir.Queued && s.refused.Load() < s.refuse {
		s.refused.Add(1)
		go done(weir.CommitResult{Err: weir.Errorf(weir.CodeInternal, "the database refused this")})
		return
	}
	if s.onSent != nil && len(c.Transitions) > 0 && c.Transitions[0].Was == weir.Sending {
		act := s.onSent
		s.onSent = nil
		act(c, done)
		return
	}
	s.Store.Commit(c, done)
}

func (s *claimStore) Incarnate(ctx context.Context, id weir.ChannelID) (weir.Incarnation, error) {
	s.incarnations.Add(1)
	return s.Store.Incarnate(ctx, id)
}

func (s *claimStore) Lanes(ctx context.Context, id weir.ChannelID) ([]weir.Lane, error) {
	if s.onLanes != nil {
		if err := s.onLanes(); err != nil {
			return nil, err
		}
	}
	return s.Store.Lanes(ctx, id)
}

// mute is a provider that accepts everything and cannot report any outcome.
type mute struct{ sends *atomic.Int32 }

func (m mute) Send(context.Context, channels.Attempt) channels.SendResult {
	m.sends.Add(1)
	return channels.SendResult{Status: channels.Accepted}
}

func (mute) Query(context.Context, channels.Attempt) channels.Answer {
	return channels.Answer{Status: channels.CannotTell}
}

func (mute) Cancel(context.Context, channels.Attempt) channels.Cancellation {
	return channels.Cancellation{}
}
func (mute) ParseCallback(channels.Callback) (channels.CallbackResult, error) {
	return channels.CallbackResult{}, nil
}
func (mute) Prepare(context.Context) error          { return nil }
func (mute) Status(context.Context) channels.Status { return channels.Status{Health: weir.Up} }

// afterClaim accepts one contact and waits ten seconds. It returns the contact and
// how often it was sent.
func afterClaim(t *testing.T, set func(*claimStore), wrap ...actor.ReceiverMiddleware) (weir.Contact, int32) {
	return after(t, 10*time.Second, set, wrap...)
}

func after(t *testing.T, wait time.Duration, set func(*claimStore), wrap ...actor.ReceiverMiddleware) (weir.Contact, int32) {
	s := &claimStore{Store: storetest.Open(t, "sqlite://:memory:", persistence.Options{})}
	set(s)
	system, ch, sends := startMute(t, s, wrap...)
	defer system.Close()
	got, err := system.Accept(t.Context(), ch, []weir.Spec{{To: "+15550001", Priority: weir.Normal, Messages: []string{"hello"}}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(wait)
	synctest.Wait()
	contact, _, err := s.Contact(t.Context(), got[0].Contact.Ref)
	if err != nil {
		t.Fatal(err)
	}
	return contact, sends.Load()
}

// startMute starts a system with one channel, whose provider accepts everything and
// reports nothing. It counts what the provider was sent.
func startMute(t *testing.T, s *claimStore, wrap ...actor.ReceiverMiddleware) (*channelbroker.System, weir.Channel, *atomic.Int32) {
	sends := new(atomic.Int32)
	system, ch := startWith(t, s, mute{sends}, wrap...)
	return system, ch, sends
}

// startWith starts a system with one channel of the driver.
func startWith(t *testing.T, s *claimStore, d channels.Driver, wrap ...actor.ReceiverMiddleware) (*channelbroker.System, weir.Channel) {
	types := []channels.Type{{Name: "mute", Content: channels.Text, New: func(channels.Config) (channels.Driver, error) { return d, nil }}}
	tree := supervise.NewSystem(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { supervise.Shutdown(tree) })
	system, err := channelbroker.Start(channelbroker.Options{
		System: tree,
		Store:  s, Queue: s, Directory: channels.NewDirectory(types, "http://weir.test", nil), Logger: slog.New(slog.DiscardHandler),
		Metrics: channelbroker.NewMetrics(prometheus.NewRegistry()), SendTimeout: time.Second, AskTimeout: time.Second,
		Valid: func() bool { return !s.lapsed.Load() }, Middleware: wrap, Core: core.Config{
			IdleAfter: time.Minute, ReconcileEvery: time.Minute, SettleAfter: time.Minute, LostAfter: time.Hour,
			StopAfter: time.Hour, SendConcurrency: 4, AskConcurrency: 4, Chance: func() float64 { return 0.5 },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ch, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "ch", Type: "mute", Capacity: 5})
	if err != nil {
		t.Fatal(err)
	}
	return system, ch
}

// inBubble runs a test on virtual time.
func inBubble(t *testing.T, run func(*testing.T)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The actor library counts late messages for a second.
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		run(t)
	})
}

// The broker crashes between a claim and its dispatch, and the store fails while
// its successor loads. The contact certainly was not sent, so it is still sent,
// once.
func TestBroker_SendsAnUnsentClaimOnceAfterAFailedLoad(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var crashed, failed atomic.Bool
		crash := func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
				if supervise.MessageType(env.Message) == "channels.written" && crashed.CompareAndSwap(false, true) {
					panic("a fault in the test")
				}
				next(c, env)
			}
		}
		contact, sends := afterClaim(t, func(s *claimStore) {
			s.onLanes = func() error {
				if crashed.Load() && failed.CompareAndSwap(false, true) {
					return errors.New("the store is away for a moment")
				}
				return nil
			}
		}, crash)
		if !failed.Load() {
			t.Fatal("the load did not fail")
		}
		if sends != 1 || contact.State != weir.Active {
			t.Errorf("it was sent %d times and is %s, want once and active", sends, contact.State)
		}
	})
}

// The broker crashes after its claim was written and before the writer says so. Its
// successor waits for the answer: the contact certainly was not sent, so it is sent, once.
func TestBroker_WaitsForTheAnswersToItsPredecessor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var armed atomic.Bool
		s := &claimStore{Store: storetest.Open(t, "sqlite://:memory:", persistence.Options{})}
		s.onClaim = func(c weir.Change, done func(weir.CommitResult)) {
			armed.Store(true)
			s.Store.Commit(c, func(r weir.CommitResult) { time.AfterFunc(3*time.Second, func() { done(r) }) })
		}
		system, ch, sends := startMute(t, s, crashOn(".sweepHint", &armed))
		defer system.Close()
		got, err := system.Accept(t.Context(), ch, []weir.Spec{{To: "+15550001", Priority: weir.Normal, Messages: []string{"hello"}}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := system.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		contact, _, err := s.Contact(t.Context(), got[0].Contact.Ref)
		if err != nil {
			t.Fatal(err)
		}
		if armed.Load() || sends.Load() != 1 || contact.State != weir.Active {
			t.Errorf("crashed: %v; it was sent %d times and is %s, want once and active", !armed.Load(), sends.Load(), contact.State)
		}
	})
}

// The store refuses a change permanently. The broker decides the same again each
// time it has reloaded its state; the reloads back off.
func TestBroker_BacksOffWhenAChangeIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var store *claimStore
		afterClaim(t, func(s *claimStore) { store, s.refuse = s, 200 })
		if n := store.refused.Load(); n < 3 || n > 15 {
			t.Errorf("it tried %d times within ten seconds", n)
		}
	})
}

// A claim is committed after the lease of the database has run out: another process may
// own it by now, so the provider is not called.
func TestBroker_DispatchesOnlyUnderTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		written := false
		_, sends := after(t, 20*time.Second, func(s *claimStore) {
			s.onClaim = func(c weir.Change, done func(weir.CommitResult)) {
				s.lapsed.Store(true)
				time.AfterFunc(16*time.Second, func() {
					s.Store.Commit(c, func(r weir.CommitResult) {
						written = r.Err == nil && len(r.Stale) == 0
						done(r)
					})
				})
			}
		})
		if !written {
			t.Fatal("the claim was not written")
		}
		if sends != 0 {
			t.Errorf("the provider was called %d times", sends)
		}
	})
}

// A report that changes nothing is answered under the lease only: another process may own the
// database by now, and know of an attempt that this one does not.
func TestReport_AnswersOnlyUnderTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &claimStore{Store: storetest.Open(t, "sqlite://:memory:", persistence.Options{})}
		system, ch, _ := startMute(t, s)
		defer system.Close()
		late := []weir.Report{{Attempt: weir.AttemptRef{Ref: weir.Ref{Channel: ch.ID, ID: 1}, Number: 1}, Part: weir.WholeContact, Outcome: weir.Completed}}
		if verdicts, err := system.Report(t.Context(), ch.ID, late); err != nil || verdicts[0] != weir.UnknownAttempt {
			t.Fatalf("%v, %v", verdicts, err)
		}
		s.lapsed.Store(true)
		if verdicts, err := system.Report(t.Context(), ch.ID, late); weir.CodeOf(err) != weir.CodeUnavailable {
			t.Errorf("after the lease: %v, %v", verdicts, err)
		}
	})
}

// The change that a result causes cannot be written. The result is kept until it is: the
// next incarnation derives the change again, and the contact is not taken for one of
// unknown outcome.
func TestBroker_KeepsAResultUntilItIsDurable(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var refused atomic.Bool
		contact, sends := afterClaim(t, func(s *claimStore) {
			s.onSent = func(_ weir.Change, done func(weir.CommitResult)) {
				refused.Store(true)
				go done(weir.CommitResult{Err: weir.Errorf(weir.CodeInternal, "the database refused this")})
			}
		})
		if !refused.Load() {
			t.Fatal("no change of a dispatched contact was refused")
		}
		if sends != 1 || contact.State != weir.Active {
			t.Errorf("it was sent %d times and is %s, want once and active", sends, contact.State)
		}
	})
}

// slowSetUp is a provider whose set-ups end when the test says so.
type slowSetUp struct {
	mute
	begun chan chan error // each set-up sends the channel that ends it
}

func (p slowSetUp) Prepare(ctx context.Context) error {
	end := make(chan error, 1)
	p.begun <- end
	return <-end
}

// The broker crashes while its provider is being set up. Its successor sets it up again,
// and the end of the first set-up, which belongs to the crashed one, does not count.
func TestBroker_IgnoresResultsOfAnEarlierIncarnation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := &claimStore{Store: storetest.Open(t, "sqlite://:memory:", persistence.Options{})}
		var crash atomic.Bool
		wrap := func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, env *actor.MessageEnvelope) {
				next(c, env)
				if supervise.MessageType(env.Message) == "channels.sweepHint" && crash.CompareAndSwap(true, false) {
					panic("a fault in the test")
				}
			}
		}
		d := slowSetUp{mute{new(atomic.Int32)}, make(chan chan error, 5)}
		system, ch := startWith(t, s, d, wrap)
		defer system.Close()
		accept := func() {
			if _, err := system.Accept(t.Context(), ch, []weir.Spec{{To: "+15550001", Priority: weir.Normal, Messages: []string{"hello"}}}); err != nil {
				t.Fatal(err)
			}
		}
		accept()
		first := <-d.begun
		crash.Store(true)
		accept()
		second := <-d.begun
		if crash.Load() {
			t.Fatal("the broker did not crash")
		}
		first <- nil
		time.Sleep(time.Second)
		synctest.Wait()
		if n := d.sends.Load(); n != 0 {
			t.Errorf("%d contacts were dispatched before the provider was set up", n)
		}
		second <- nil
		time.Sleep(time.Second)
		synctest.Wait()
		if n := d.sends.Load(); n != 2 {
			t.Errorf("%d contacts were dispatched, want 2", n)
		}
	})
}
