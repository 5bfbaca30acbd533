package contacts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

func survey(name string) world.Fields { return world.Fields{"survey": name} }

// Scenario 14: high before normal, each in order of acceptance; and Weir's
// third priority, reply, before both.
func TestOrder_IsByPriorityThenArrival(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1)
		w.Accept("ch", world.SMS("out"))
		w.Sent(1)
		for _, c := range []world.Fields{world.SMS("A"), world.SMS("B", world.Priority("high")), world.SMS("C"), world.SMS("D", world.Priority("high")), world.SMS("E", world.Priority("reply"))} {
			w.Accept("ch", c)
		}
		if got := strings.Join(w.OneByOne(6), " "); got != "out E B D A C" {
			t.Fatalf("the order is %s", got)
		}
	})
}

// Scenario 16: contacts that arrive within one second are dispatched in strict
// order of arrival, within a request and across requests; a restart in between
// changes nothing.
func TestOrder_OfArrivalIsStrict(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 1)
		var want []string
		for i := range 4 {
			batch := world.Many(fmt.Sprint("c", i), 8)
			slices.Reverse(batch) // so that order of arrival differs from order of keys
			w.Accept("ch", batch...)
			for _, c := range batch {
				want = append(want, c["key"].(string))
			}
		}
		w.Nth(0)
		got := w.OneByOne(10)
		w.Nth(10)
		w.WaitIdle()
		w.Restart()
		got = append(got, w.OneByOne(len(want)-10)...)
		if !slices.Equal(got, want) {
			t.Fatalf("arrived %v\nwent    %v", want, got)
		}
	})
}

// Scenario 17: whatever the traffic of higher priorities, a contact of a lower
// priority is dispatched after a bounded number of others, and gets no more than
// its small share.
func TestOrder_NothingStarves(t *testing.T) {
	for _, traffic := range []string{"high", "reply"} {
		t.Run(traffic, func(t *testing.T) {
			world.OnVirtualTime(t, func(w *world.World) {
				w.Channel("ch", 1)
				w.Accept("ch", world.Many("early", 3, world.Priority(traffic))...)
				w.Nth(0)
				w.Accept("ch", world.Many("lone", 6)...)
				if traffic == "reply" {
					w.Accept("ch", world.SMS("lone-high", world.Priority("high")))
				}
				got := w.OneByOne(51, func(key string) {
					w.Accept("ch", world.SMS("after-"+key, world.Priority(traffic)))
				})
				var at []int
				for i, key := range got {
					if strings.HasPrefix(key, "lone-0") {
						at = append(at, i)
					}
				}
				if len(at) < 4 || at[0] > 12 {
					t.Fatalf("normal contacts went as numbers %v of %d; the first after more than 12, or fewer than 4", at, len(got))
				}
				for i := range at[1:] {
					if gap := at[i+1] - at[i]; gap < 9 || gap > 12 {
						t.Fatalf("normal contacts went as numbers %v: two of them %d apart", at, gap)
					}
				}
				if i := slices.Index(got, "lone-high"); traffic == "reply" && (i < 0 || i > 12) {
					t.Fatalf("the high contact went as number %d", i)
				}
			})
		})
	}
}

// Scenario 18: two surveys share a channel half and half, although one of them
// had queued all its contacts before the other.
func TestOrder_SurveysShareAChannel(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 200, world.Fields{"paused": true})
		w.Accept("ch", world.Many("a", 1000, survey("A"))...)
		w.Accept("ch", world.Many("b", 1000, survey("B"))...)
		w.Pause("ch", false)
		w.Sent(200)
		first := w.Lab.SentKeys()
		half(w, first)
		w.Finish(first[:40]...)
		w.Sent(240)
		half(w, w.Lab.SentKeys()[200:])
		// Within a survey the oldest contacts were dispatched.
		for _, prefix := range []string{"a", "b"} {
			if key := fmt.Sprintf("%s-%04d", prefix, 110); !slices.Contains(w.Lab.SentKeys(), key) {
				t.Fatalf("120 contacts of survey %s went, and %s was not among them", prefix, key)
			}
		}
	})
}

// Scenario 18, a survey that starts late: it has its share from then on, without
// compensation for the time before.
func TestOrder_LateSurveyHasItsShare(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Channel("ch", 20)
		w.Accept("ch", world.Many("a", 400, survey("A"))...)
		for n := range 6 {
			w.Sent(20 * (n + 1))
			if n == 1 {
				w.Accept("ch", world.Many("b", 300, survey("B"))...)
			}
			w.Finish(w.Lab.SentKeys()[20*n:]...)
		}
		w.Sent(140)
		half(w, w.Lab.SentKeys()[40:])
	})
}

// half requires that the keys of two surveys, a-… and b-…, are about equally many.
func half(w *world.World, keys []string) {
	w.Helper()
	a := 0
	for _, key := range keys {
		if strings.HasPrefix(key, "a-") {
			a++
		}
	}
	if b := len(keys) - a; max(a, b)-min(a, b) > len(keys)/10 {
		w.Fatalf("%d contacts of one survey went and %d of the other", a, b)
	}
}

// Scenario 19: while the provider fails, contacts keep their priority and
// place and take turns as the probe, and it is called rarely. When it works again all of them are dispatched.
func TestOrder_FailingProviderKeepsTheOrder(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		fail(w, 10*time.Minute)
		w.Channel("ch", 1)
		w.Accept("ch", world.SMS("A"), world.SMS("B"))
		w.Pass(6 * time.Minute)
		w.Accept("ch", world.SMS("C"), world.SMS("D", world.Priority("high")))
		w.Pass(2 * time.Minute)
		w.Accept("ch", world.SMS("E", world.Priority("high")), world.SMS("F"))
		w.Pass(time.Minute)
		if state := w.State("ch"); state != "faulted" {
			t.Fatalf("after 9 minutes of failures the channel is %s", state)
		}
		w.Pass(time.Minute)
		// One more back-off interval is enough.
		if calls := len(w.Lab.SentKeys()); calls < 10 || calls > 40 {
			t.Fatalf("the provider was called %d times in 10 minutes", calls)
		}
		w.Pass(time.Minute)
		// They take turns as the probe. The one whose turn it was goes first, the others in their order.
		w.Until("the probe goes", func() bool { return len(w.Lab.TakenKeys()) > 0 })
		probe := w.Lab.TakenKeys()[0]
		w.Finish(probe)
		rest := slices.DeleteFunc([]string{"D", "E", "A", "B", "C", "F"}, func(key string) bool { return key == probe })
		for i, want := range rest {
			i++
			w.Until(want+" goes", func() bool { return len(w.Lab.TakenKeys()) > i })
			if got := w.Lab.TakenKeys()[i]; got != want {
				t.Fatalf("%s went instead of %s: %v", got, want, w.Lab.TakenKeys())
			}
			w.Finish(want)
		}
		if state := w.State("ch"); state != "up" {
			t.Fatalf("the channel is %s though the provider works", state)
		}
	})
}

// Scenario 19, many at once: the back-off limits the calls of a large channel
// as it does for a small one, and every contact is dispatched in the end.
func TestOrder_BackOffLimitsCallsOfALargeChannel(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		fail(w, 10*time.Minute)
		w.Channel("ch", 50)
		w.Accept("ch", world.Many("c", 90)...)
		w.Pass(10 * time.Minute)
		if calls := len(w.Lab.SentKeys()); calls > 50+40 {
			t.Fatalf("the provider was called %d times in 10 minutes", calls)
		}
		w.Pass(time.Minute)
		if now, _ := w.Lab.Use("ch"); now != 50 {
			t.Fatalf("a minute after the provider works again it has %d in flight, want 50", now)
		}
		w.Finish(w.Lab.OutKeys()...)
		w.WaitIdle()
		if got := slices.Sorted(slices.Values(w.Lab.TakenKeys())); len(slices.Compact(got)) != 90 || len(w.Lab.TakenKeys()) != 90 {
			t.Fatalf("the provider took %d contacts, %d different ones; want 90", len(w.Lab.TakenKeys()), len(slices.Compact(got)))
		}
	})
}

// fail makes the provider answer errors for a while.
func fail(w *world.World, d time.Duration) {
	until := time.Now().Add(d)
	w.Lab.Behave(func(l *world.Lab) {
		l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
			if time.Now().Before(until) {
				return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "status 500"}
			}
			return l.Take(a)
		}
	})
}
