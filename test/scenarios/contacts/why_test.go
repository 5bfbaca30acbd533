package contacts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/channels"
	"weir/test/scenarios/world"
)

// channelBecause waits until a channel dispatches nothing for this reason.
func channelBecause(w *world.World, name, code string) {
	w.Helper()
	w.Until(name+" starts none because of "+code, func() bool {
		return w.Want(200, "GET", "/v1/channels/"+name, nil).Body["why_code"] == code
	})
	w.NamesInstants(w.Want(200, "GET", "/v1/channels/"+name, nil).Body)
}

// unexplained fails the test if a contact names a reason to wait.
func unexplained(w *world.World, id string) {
	w.Helper()
	if why := w.Contact(id)["why"]; why != nil {
		w.Errorf("it is done, and waits because of %v", why)
	}
}

// Scenario 112: a queued contact names what delays it: its window, slots, its size,
// the pause, slots reserved for replies, or the contacts ahead of it.
func TestWhy_QueuedContactsNameTheirReason(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		w.Channel("ch", 4)
		w.Accept("ch", world.Many("out", 4)...)
		w.Sent(4)
		opens := time.Now().Add(time.Hour).Truncate(time.Second)
		ids := w.Accept("ch", world.SMS("later", world.Fields{"not_before": opens}), world.SMS("first"), world.SMS("second"), world.SMS("large", world.Texts("large", 3), world.Fields{"priority": "high"}))
		w.Because(ids["later"], "not_before", "opens at "+world.Stamp(opens))
		w.Because(ids["large"], "capacity", "channel ch: 4 of 4 slots in use; it takes 3")
		w.Because(ids["second"], "capacity", "channel ch: 4 of 4 slots in use; 1 of higher priority and 1 contact ahead")
		w.Finish("out-0001")
		w.Because(ids["first"], "turn", "1 of higher priority ahead") // it would fit, but the large one does not
		w.Pause("ch", true)
		w.Because(ids["first"], "channel_paused", "channel ch is paused")
		channelBecause(w, "ch", "channel_paused")
		w.Patch("ch", world.Fields{"capacity": 2, "paused": false})
		w.Because(ids["large"], "too_large", "it takes 3 slots and channel ch has 2")
		w.Capacity("ch", 6)
		w.Finish("out-0002", "out-0003")
		w.Until("the large one is sent", func() bool { return w.Sends("large") == 1 })
		w.Finish("large")
		w.Done(ids["large"])
		unexplained(w, ids["large"])
		w.Channel("kept", 3, world.Fields{"settings": world.Fields{"reply_reserve": 2}})
		kept := w.Accept("kept", world.Many("kept", 2)...)
		w.Until("one is sent", func() bool { return w.Sends("kept-0001")+w.Sends("kept-0002") == 1 })
		w.Because(kept["kept-0002"], "reply_reserve", "1 of 3 slots in use; the free ones are kept for replies")
	})
}

// Scenario 112: contacts also name their reason while their process shuts down, and
// while their channel is deleted.
func TestWhy_ContactsNameTheEndOfTheirChannel(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		defer release()
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult { <-held; return w.Lab.Take(a) }
		})
		w.Channel("ch", 1)
		first := w.Accept("ch", world.SMS("first"))["first"]
		w.Because(first, "dispatching", "")
		id := w.Accept("ch", world.SMS("second"))["second"]
		drained := make(chan error, 1)
		go func() { drained <- w.System.Quiet(w.Context()) }()
		w.Because(id, "stopping", "the process that runs the channel is shutting down")
		channelBecause(w, "ch", "stopping")
		release()
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		w.Crash()
		markDeleting(w, "ch")
		w.Because(id, "channel_deleting", "channel ch is being deleted; its contacts are being canceled")
		w.Begin()
		if got := w.Done(id); got != "canceled" {
			t.Errorf("it ended as %s", got)
		}
	})
}

// Scenario 113: while the provider fails, a contact names what it waits for: the
// set-up, the breaker, the pause that the provider asked for, the next attempt.
func TestWhy_TroubleNamesItsReason(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		asked := make(chan struct{})
		w.Lab.Behave(func(l *world.Lab) {
			l.OnPrepare = func() error { <-asked; return errors.New("no such account") }
		})
		w.Channel("ch", 4)
		id := w.Accept("ch", world.SMS("a"))["a"]
		w.Because(id, "channel_preparing", "the provider of channel ch is being set up")
		close(asked)
		w.Because(id, "channel_error", "channel ch is in error: no such account; next try at ")
		w.Lab.Behave(func(l *world.Lab) {
			l.OnPrepare = nil
			l.OnSend = func(context.Context, world.LabAttempt) channels.SendResult {
				return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "the provider is out of order"}
			}
		})
		w.Because(id, "provider_failing", "; the provider is out of order")
		w.Because(id, "channel_faulted", "the provider keeps failing; next try at ")
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(context.Context, world.LabAttempt) channels.SendResult {
				return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "rate limited", RetryAfter: 10 * time.Minute}
			}
		})
		w.Because(id, "provider_pause", "the provider asked for a pause until "+world.Stamp(time.Now())[:10])
		release := make(chan struct{})
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				<-release
				return channels.SendResult{Status: channels.NotSent, Reason: "it chokes on this one"}
			}
		})
		other := w.Accept("ch", world.SMS("b"), world.SMS("c"))
		w.Until("a probe is under way", func() bool { return w.Figure("ch", "sending") == 1 })
		w.Because(waiting(w, other["b"], other["c"]), "provider_probe", "a single contact probes")
		close(release)
		w.Because(id, "retry", "is due at ")
		if why := fmt.Sprint(w.Contact(id)["why"]); !strings.Contains(why, "it chokes on this one") {
			t.Errorf("a contact that is tried again waits because of %s", why)
		}
	})
}

// waiting returns the first of some contacts that is queued.
func waiting(w *world.World, ids ...string) string {
	w.Helper()
	for _, id := range ids {
		if w.Contact(id)["state"] == "queued" {
			return id
		}
	}
	w.Fatal("none of them waits")
	return ""
}

// Scenario 114: a contact in flight names what it waits for and until when: the
// provider's answer, its report, the resolution of a dispatch in doubt, a cancellation.
func TestWhy_FlightsNameTheirReason(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		release := make(chan struct{})
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(_ context.Context, a world.LabAttempt) channels.SendResult {
				switch a.Key {
				case "slow":
					<-release
				case "unclear":
					return channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: "no answer in time"}
				}
				return w.Lab.Take(a)
			}
			l.OnAsk = func(context.Context, world.LabAttempt) channels.Answer {
				return channels.Answer{Status: channels.CannotTell}
			}
			l.OnCancel = func(context.Context, world.LabAttempt) channels.Cancellation {
				return channels.Cancellation{Failed: true}
			}
		})
		w.Channel("ch", 10)
		begin := time.Now()
		ids := w.Accept("ch", world.SMS("slow"), world.SMS("out"), world.SMS("unclear"), world.SMS("back"))
		w.Because(ids["slow"], "dispatching", "being dispatched to the provider since "+world.Stamp(begin))
		w.Because(ids["out"], "report", "awaiting delivery report; next check at "+world.Stamp(begin.Add(2*time.Minute))+"; marked lost at "+world.Stamp(begin.Add(time.Hour)))
		w.Because(ids["unclear"], "unknown", "was lost (no answer in time); next check at "+world.Stamp(begin.Add(time.Minute))+"; marked lost at "+world.Stamp(begin.Add(time.Hour)))
		w.Want(202, "DELETE", "/v1/contacts/"+ids["back"], nil)
		w.Because(ids["back"], "canceling", "cancellation requested")
		close(release)
		w.Pass(2 * time.Hour)
		for _, id := range ids {
			unexplained(w, id)
		}
	})
}

// Scenario 116: as many contacts are dispatched concurrently as the channel has slots,
// however slow the provider; a configured limit that binds is visible.
func TestWhy_DispatchesFollowTheCapacity(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		slow := func(_ context.Context, a world.LabAttempt) channels.SendResult {
			time.Sleep(400 * time.Millisecond)
			return w.Lab.Take(a)
		}
		w.Lab.Behave(func(l *world.Lab) { l.OnSend = slow })
		w.Core.SendConcurrency = 0
		w.Restart()
		w.Channel("wide", 300)
		w.Accept("wide", world.Many("a", 300)...)
		w.Within(time.Second, "all of them", func() { w.Until("they are in flight", func() bool { return w.Figure("wide", "active") == 300 }) })

		w.Core.SendConcurrency = 3
		w.Restart()
		w.Channel("narrow", 300)
		ids := w.Accept("narrow", world.Many("b", 9)...)
		w.Because(ids["b-0009"], "send_concurrency", "channel narrow: 3 dispatches to the provider are under way, the limit at one time")
		channelBecause(w, "narrow", "send_concurrency")
	})
}
