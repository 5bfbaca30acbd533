package scenarios_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/channels"
)

func priority(word string) fields { return fields{"priority": word} }

func survey(name string) fields { return fields{"survey": name} }

// Scenario 14: high before normal, each in order of acceptance; and Weir's
// third priority, reply, before both.
func TestOrder_IsByPriorityThenArrival(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1)
		w.accept("ch", sms("out"))
		w.sent(1)
		for _, c := range []fields{sms("A"), sms("B", priority("high")), sms("C"), sms("D", priority("high")), sms("E", priority("reply"))} {
			w.accept("ch", c)
		}
		if got := strings.Join(w.oneByOne(6), " "); got != "out E B D A C" {
			t.Fatalf("the order is %s", got)
		}
	})
}

// Scenario 16: contacts that arrive within one second are dispatched in strict
// order of arrival, within a request and across requests; a restart in between
// changes nothing.
func TestOrder_OfArrivalIsStrict(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 1)
		var want []string
		for i := range 4 {
			batch := many(fmt.Sprint("c", i), 8)
			slices.Reverse(batch) // so that order of arrival differs from order of keys
			w.accept("ch", batch...)
			for _, c := range batch {
				want = append(want, c["key"].(string))
			}
		}
		w.nth(0)
		got := w.oneByOne(10)
		w.nth(10)
		w.waitIdle()
		w.restart()
		got = append(got, w.oneByOne(len(want)-10)...)
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
			onVirtualTime(t, func(w *world) {
				w.channel("ch", 1)
				w.accept("ch", many("early", 3, priority(traffic))...)
				w.nth(0)
				w.accept("ch", many("lone", 6)...)
				if traffic == "reply" {
					w.accept("ch", sms("lone-high", priority("high")))
				}
				got := w.oneByOne(51, func(key string) {
					w.accept("ch", sms("after-"+key, priority(traffic)))
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
	onStores(t, func(w *world) {
		w.channel("ch", 200, fields{"paused": true})
		w.accept("ch", many("a", 1000, survey("A"))...)
		w.accept("ch", many("b", 1000, survey("B"))...)
		w.pause("ch", false)
		w.sent(200)
		first := w.lab.sentKeys()
		w.half(first)
		w.finish(first[:40]...)
		w.sent(240)
		w.half(w.lab.sentKeys()[200:])
		// Within a survey the oldest contacts were dispatched.
		for _, prefix := range []string{"a", "b"} {
			if key := fmt.Sprintf("%s-%04d", prefix, 110); !slices.Contains(w.lab.sentKeys(), key) {
				t.Fatalf("120 contacts of survey %s went, and %s was not among them", prefix, key)
			}
		}
	})
}

// Scenario 18, a survey that starts late: it has its share from then on, without
// compensation for the time before.
func TestOrder_LateSurveyHasItsShare(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.channel("ch", 20)
		w.accept("ch", many("a", 400, survey("A"))...)
		for n := range 6 {
			w.sent(20 * (n + 1))
			if n == 1 {
				w.accept("ch", many("b", 300, survey("B"))...)
			}
			w.finish(w.lab.sentKeys()[20*n:]...)
		}
		w.sent(140)
		w.half(w.lab.sentKeys()[40:])
	})
}

// half requires that the keys of two surveys, a-… and b-…, are about equally many.
func (w *world) half(keys []string) {
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
// place, and it is called rarely. When it works again all of them are dispatched.
func TestOrder_FailingProviderKeepsTheOrder(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.fail(10 * time.Minute)
		w.channel("ch", 1)
		w.accept("ch", sms("A"), sms("B"))
		w.pass(6 * time.Minute)
		w.accept("ch", sms("C"), sms("D", priority("high")))
		w.pass(2 * time.Minute)
		w.accept("ch", sms("E", priority("high")), sms("F"))
		w.pass(time.Minute)
		if state := w.state("ch"); state != "faulted" {
			t.Fatalf("after 9 minutes of failures the channel is %s", state)
		}
		w.pass(time.Minute)
		// One more back-off interval is enough.
		if calls := len(w.lab.sentKeys()); calls < 10 || calls > 40 {
			t.Fatalf("the provider was called %d times in 10 minutes", calls)
		}
		w.pass(time.Minute)
		for i, want := range []string{"D", "E", "A", "B", "C", "F"} {
			w.until(want+" goes", func() bool { return len(w.lab.takenKeys()) > i })
			if got := w.lab.takenKeys()[i]; got != want {
				t.Fatalf("%s went instead of %s: %v", got, want, w.lab.takenKeys())
			}
			w.finish(want)
		}
		if state := w.state("ch"); state != "up" {
			t.Fatalf("the channel is %s though the provider works", state)
		}
	})
}

// Scenario 19, many at once: the back-off limits the calls of a large channel
// as it does for a small one, and every contact is dispatched in the end.
func TestOrder_BackOffLimitsCallsOfALargeChannel(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.fail(10 * time.Minute)
		w.channel("ch", 50)
		w.accept("ch", many("c", 90)...)
		w.pass(10 * time.Minute)
		if calls := len(w.lab.sentKeys()); calls > 50+40 {
			t.Fatalf("the provider was called %d times in 10 minutes", calls)
		}
		w.pass(time.Minute)
		if now, _ := w.lab.use("ch"); now != 50 {
			t.Fatalf("a minute after the provider works again it has %d in flight, want 50", now)
		}
		w.finish(w.lab.outKeys()...)
		w.waitIdle()
		if got := slices.Sorted(slices.Values(w.lab.takenKeys())); len(slices.Compact(got)) != 90 || len(w.lab.takenKeys()) != 90 {
			t.Fatalf("the provider took %d contacts, %d different ones; want 90", len(w.lab.takenKeys()), len(slices.Compact(got)))
		}
	})
}

// fail makes the provider answer errors for a while.
func (w *world) fail(d time.Duration) {
	until := time.Now().Add(d)
	w.lab.behave(func(l *lab) {
		l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
			if time.Now().Before(until) {
				return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "status 500"}
			}
			return l.take(a)
		}
	})
}
