package events_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"weir/actors/events"
	"weir/internal/outbound"
)

// A receiver may demand to be left alone for at most six hours.
func TestRunner_DemandedPauseIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHookRig(t)
		g.o.PollEvery = time.Minute
		g.add("a")
		g.start()
		defer g.stop()
		after(time.Second)
		g.judged(func(string, hookEvent) (int, string, error) { return 429, "86400", nil })
		g.emit(0, 1, "s")
		after(6*time.Hour - time.Minute)
		if n := len(g.tried("a")); n != 1 {
			t.Errorf("%d tries within six hours", n)
		}
		g.judged(nil)
		after(2 * time.Minute)
		g.wantAll("a", "s", 1)
	})
}

// scripted is a caller whose handshakes get an error each, and deliveries succeed.
type scripted struct {
	shakes []error
	calls  []string
}

func (s *scripted) Do(_ context.Context, method, _ string, header http.Header, _ []byte) (outbound.Answer, error) {
	kind := method + header.Get("Aeg-Event-Type")
	s.calls = append(s.calls, kind)
	if kind == http.MethodPost || kind == "POSTNotification" || len(s.shakes) == 0 {
		return outbound.Answer{Status: http.StatusOK}, nil
	}
	err := s.shakes[0]
	s.shakes = s.shakes[1:]
	return outbound.Answer{}, err
}

// A subscriber that cannot be reached is asked again before its first event. Any answer is
// one, even if it is too large.
func TestSubscriber_RepeatsTheHandshakeUntilAnAnswer(t *testing.T) {
	t.Parallel()
	unreachable, large := &outbound.Error{Kind: outbound.Unreachable}, &outbound.Error{Kind: outbound.TooLarge}
	for format, shake := range map[events.Format]string{events.EventGrid: "POSTSubscriptionValidation", events.CloudEvents: "OPTIONS"} {
		calls := &scripted{shakes: []error{unreachable, large}}
		r := events.Subscriber(events.Subscription{URL: "https://a.example", Format: format}, calls)
		if err := r.Deliver(t.Context(), queued()); outbound.KindOf(err) != outbound.Unreachable || len(calls.calls) != 1 {
			t.Errorf("%s: %v after %v", format, err, calls.calls)
		}
		for range 2 {
			if err := r.Deliver(t.Context(), queued()); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
		if len(calls.calls) != 4 || calls.calls[1] != shake || calls.calls[2] == shake || calls.calls[3] == shake {
			t.Errorf("%s: %v", format, calls.calls)
		}
	}
}
