package channels

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir"
	core "weir/actors/contacts"
	"weir/actors/supervise"
	"weir/channels"
	"weir/persistence"
	"weir/persistence/storetest"
)

// slow is a provider that takes five seconds to accept a contact.
type slow struct{ sends atomic.Int32 }

func (s *slow) Send(ctx context.Context, _ channels.Attempt) channels.SendResult {
	s.sends.Add(1)
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
	return channels.SendResult{Status: channels.Accepted, ProviderRef: "known"}
}

func (*slow) Query(context.Context, channels.Attempt) channels.Answer {
	return channels.Answer{Status: channels.CannotTell}
}

func (*slow) Cancel(context.Context, channels.Attempt) channels.Cancellation {
	return channels.Cancellation{}
}
func (*slow) ParseCallback(channels.Callback) (channels.CallbackResult, error) {
	return channels.CallbackResult{}, nil
}
func (*slow) Prepare(context.Context) error          { return nil }
func (*slow) Status(context.Context) channels.Status { return channels.Status{Health: weir.Up} }

// When the manager itself crashes, its brokers end with it. They come back, no
// contact is sent twice, none is forgotten, and the results of calls that were
// under way are not lost.
func TestManager_CrashLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * time.Second) })
		store := storetest.Open(t, "sqlite://:memory:", persistence.Options{})
		var d slow
		types := []channels.Type{{Name: "slow", Content: channels.Text, New: func(channels.Config) (channels.Driver, error) { return &d, nil }}}
		tree := supervise.NewSystem(slog.New(slog.DiscardHandler))
		t.Cleanup(func() { supervise.Shutdown(tree) })
		s, err := Start(Options{
			System: tree,
			Store:  store, Queue: store, Directory: channels.NewDirectory(types, "http://weir.test", nil), Logger: slog.New(slog.DiscardHandler),
			Metrics: NewMetrics(prometheus.NewRegistry()), SendTimeout: 15 * time.Second, AskTimeout: time.Second,
			Valid: store.Valid, Core: core.Config{
				IdleAfter: time.Hour, ReconcileEvery: time.Minute, SettleAfter: time.Minute, LostAfter: time.Hour,
				StopAfter: time.Hour, SendConcurrency: 4, AskConcurrency: 4, Chance: func() float64 { return 0.5 },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ch, _, err := store.PutChannel(t.Context(), weir.Channel{Name: "ch", Type: "slow", Capacity: 5})
		if err != nil {
			t.Fatal(err)
		}
		accept := func() weir.Ref {
			got, err := s.Accept(t.Context(), ch, []weir.Spec{{To: "+15550001", Priority: weir.Normal, Messages: []string{"hello"}}})
			if err != nil {
				t.Fatal(err)
			}
			return got[0].Contact.Ref
		}
		first := accept()
		time.Sleep(time.Second) // it is being sent
		s.mail.ifRunning(99, nil, func() { panic("a fault in the test") })
		second := accept()
		time.Sleep(20 * time.Second)
		for name, ref := range map[string]weir.Ref{"the contact being sent": first, "the contact accepted then": second} {
			c, _, err := store.Contact(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if c.State != weir.Active || c.ProviderRef != "known" {
				t.Errorf("%s is %s (%q), want active and known", name, c.State, c.ProviderRef)
			}
		}
		if n := d.sends.Load(); n != 2 {
			t.Errorf("the provider was called %d times, want 2", n)
		}
	})
}
