package scenarios_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/channels"
	"weir/operators"
)

// because fails the test unless a contact waits for this reason: its code, and a
// part of the sentence.
func (w *world) because(id, code, sentence string) {
	w.Helper()
	w.until("it waits because of "+code, func() bool { return w.contact(id)["why_code"] == code })
	c := w.contact(id)
	if why := fmt.Sprint(c["why"]); !strings.Contains(why, sentence) {
		w.Errorf("it waits because of %q, want %q", why, sentence)
	}
	w.namesInstants(c)
	for _, listed := range w.want(200, "GET", "/v1/contacts?channel="+fmt.Sprint(c["channel"])+"&limit=1000", nil).Body["contacts"].([]any) {
		if l := listed.(map[string]any); l["id"] == id && l["why_code"] != code {
			w.Errorf("in the list it waits because of %v", l["why_code"])
		}
	}
}

// namesInstants fails the test unless a view has the instants of its reason as a
// field, in the order of the sentence.
func (w *world) namesInstants(view map[string]any) {
	w.Helper()
	var want []string
	for _, c := range operators.Clauses(fmt.Sprint(view["why"])) {
		if !c.At.IsZero() {
			want = append(want, c.At.Format(time.RFC3339))
		}
	}
	if got, _ := view["why_instants"].([]any); fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("%v has the instants %v, want %v", view["why"], got, want)
	}
}

// channelBecause waits until a channel dispatches nothing for this reason.
func (w *world) channelBecause(name, code string) {
	w.Helper()
	w.until(name+" starts none because of "+code, func() bool {
		return w.want(200, "GET", "/v1/channels/"+name, nil).Body["why_code"] == code
	})
	w.namesInstants(w.want(200, "GET", "/v1/channels/"+name, nil).Body)
}

// unexplained fails the test if a contact names a reason to wait.
func (w *world) unexplained(id string) {
	w.Helper()
	if why := w.contact(id)["why"]; why != nil {
		w.Errorf("it is done, and waits because of %v", why)
	}
}

// stamp formats an instant as sentences show it.
func stamp(t time.Time) string { return operators.WhyAt(t) }

// Scenario 112: a queued contact names what delays it: its window, slots, its size,
// the pause, slots reserved for replies, or the contacts ahead of it.
func TestWhy_QueuedContactsNameTheirReason(t *testing.T) {
	onStores(t, func(w *world) {
		w.channel("ch", 4)
		w.accept("ch", many("out", 4)...)
		w.sent(4)
		opens := time.Now().Add(time.Hour).Truncate(time.Second)
		ids := w.accept("ch", sms("later", fields{"not_before": opens}), sms("first"), sms("second"), sms("large", texts("large", 3), fields{"priority": "high"}))
		w.because(ids["later"], "not_before", "opens at "+stamp(opens))
		w.because(ids["large"], "capacity", "channel ch: 4 of 4 slots in use; it takes 3")
		w.because(ids["second"], "capacity", "channel ch: 4 of 4 slots in use; 1 of higher priority and 1 contact ahead")
		w.finish("out-0001")
		w.because(ids["first"], "turn", "1 of higher priority ahead") // it would fit, but the large one does not
		w.pause("ch", true)
		w.because(ids["first"], "channel_paused", "channel ch is paused")
		w.channelBecause("ch", "channel_paused")
		w.patch("ch", fields{"capacity": 2, "paused": false})
		w.because(ids["large"], "too_large", "it takes 3 slots and channel ch has 2")
		w.capacity("ch", 6)
		w.finish("out-0002", "out-0003")
		w.until("the large one is sent", func() bool { return w.sends("large") == 1 })
		w.finish("large")
		w.done(ids["large"])
		w.unexplained(ids["large"])
		w.channel("kept", 3, fields{"settings": fields{"reply_reserve": 2}})
		kept := w.accept("kept", many("kept", 2)...)
		w.until("one is sent", func() bool { return w.sends("kept-0001")+w.sends("kept-0002") == 1 })
		w.because(kept["kept-0002"], "reply_reserve", "1 of 3 slots in use; the free ones are kept for replies")
	})
}

// Scenario 112: contacts also name their reason while their process shuts down, and
// while their channel is deleted.
func TestWhy_ContactsNameTheEndOfTheirChannel(t *testing.T) {
	onStores(t, func(w *world) {
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		defer release()
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult { <-held; return w.lab.take(a) }
		})
		w.channel("ch", 1)
		first := w.accept("ch", sms("first"))["first"]
		w.because(first, "dispatching", "")
		id := w.accept("ch", sms("second"))["second"]
		drained := make(chan error, 1)
		go func() { drained <- w.system.Quiet(w.Context()) }()
		w.because(id, "stopping", "the process that runs the channel is shutting down")
		w.channelBecause("ch", "stopping")
		release()
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		w.crash()
		w.markDeleting("ch")
		w.because(id, "channel_deleting", "channel ch is being deleted; its contacts are being canceled")
		w.start()
		if got := w.done(id); got != "canceled" {
			t.Errorf("it ended as %s", got)
		}
	})
}

// Scenario 113: while the provider fails, a contact names what it waits for: the
// set-up, the breaker, the pause that the provider asked for, the next attempt.
func TestWhy_TroubleNamesItsReason(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		asked := make(chan struct{})
		w.lab.behave(func(l *lab) {
			l.onPrepare = func() error { <-asked; return errors.New("no such account") }
		})
		w.channel("ch", 4)
		id := w.accept("ch", sms("a"))["a"]
		w.because(id, "channel_preparing", "the provider of channel ch is being set up")
		close(asked)
		w.because(id, "channel_error", "channel ch is in error: no such account; next try at ")
		w.lab.behave(func(l *lab) {
			l.onPrepare = nil
			l.onSend = func(context.Context, labAttempt) channels.SendResult {
				return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the provider is out of order"}
			}
		})
		w.because(id, "provider_failing", "; the provider is out of order")
		w.because(id, "channel_faulted", "the provider keeps failing; next try at ")
		w.lab.behave(func(l *lab) {
			l.onSend = func(context.Context, labAttempt) channels.SendResult {
				return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "rate limited", RetryAfter: 10 * time.Minute}
			}
		})
		w.because(id, "provider_pause", "the provider asked for a pause until "+stamp(time.Now())[:10])
		release := make(chan struct{})
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				<-release
				return channels.SendResult{Status: channels.NotSent, Reason: "it chokes on this one"}
			}
		})
		other := w.accept("ch", sms("b"), sms("c"))
		w.until("a probe is under way", func() bool { return w.figure("ch", "sending") == 1 })
		w.because(w.waiting(other["b"], other["c"]), "provider_probe", "a single contact probes")
		close(release)
		w.because(id, "retry", "is due at ")
		if why := fmt.Sprint(w.contact(id)["why"]); !strings.Contains(why, "it chokes on this one") {
			t.Errorf("a contact that is tried again waits because of %s", why)
		}
	})
}

// waiting returns the first of some contacts that is queued.
func (w *world) waiting(ids ...string) string {
	w.Helper()
	for _, id := range ids {
		if w.contact(id)["state"] == "queued" {
			return id
		}
	}
	w.Fatal("none of them waits")
	return ""
}

// Scenario 114: a contact in flight names what it waits for and until when: the
// provider's answer, its report, the resolution of a dispatch in doubt, a cancellation.
func TestWhy_FlightsNameTheirReason(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		release := make(chan struct{})
		w.lab.behave(func(l *lab) {
			l.onSend = func(_ context.Context, a labAttempt) channels.SendResult {
				switch a.key {
				case "slow":
					<-release
				case "unclear":
					return channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: "no answer in time"}
				}
				return w.lab.take(a)
			}
			l.onAsk = func(context.Context, labAttempt) channels.Answer {
				return channels.Answer{Status: channels.CannotTell}
			}
			l.onCancel = func(context.Context, labAttempt) channels.Cancellation { return channels.Cancellation{Failed: true} }
		})
		w.channel("ch", 10)
		begin := time.Now()
		ids := w.accept("ch", sms("slow"), sms("out"), sms("unclear"), sms("back"))
		w.because(ids["slow"], "dispatching", "being dispatched to the provider since "+stamp(begin))
		w.because(ids["out"], "report", "awaiting delivery report; next check at "+stamp(begin.Add(2*time.Minute))+"; marked lost at "+stamp(begin.Add(time.Hour)))
		w.because(ids["unclear"], "unknown", "was lost (no answer in time); next check at "+stamp(begin.Add(time.Minute))+"; marked lost at "+stamp(begin.Add(time.Hour)))
		w.want(202, "DELETE", "/v1/contacts/"+ids["back"], nil)
		w.because(ids["back"], "canceling", "cancellation requested")
		close(release)
		w.pass(2 * time.Hour)
		for _, id := range ids {
			w.unexplained(id)
		}
	})
}

// Scenario 116: as many contacts are dispatched concurrently as the channel has slots,
// however slow the provider; a configured limit that binds is visible.
func TestWhy_DispatchesFollowTheCapacity(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		slow := func(_ context.Context, a labAttempt) channels.SendResult {
			time.Sleep(400 * time.Millisecond)
			return w.lab.take(a)
		}
		w.lab.behave(func(l *lab) { l.onSend = slow })
		w.core.SendConcurrency = 0
		w.restart()
		w.channel("wide", 300)
		w.accept("wide", many("a", 300)...)
		w.within(time.Second, "all of them", func() { w.until("they are in flight", func() bool { return w.figure("wide", "active") == 300 }) })

		w.core.SendConcurrency = 3
		w.restart()
		w.channel("narrow", 300)
		ids := w.accept("narrow", many("b", 9)...)
		w.because(ids["b-0009"], "send_concurrency", "channel narrow: 3 dispatches to the provider are under way, the limit at one time")
		w.channelBecause("narrow", "send_concurrency")
	})
}
