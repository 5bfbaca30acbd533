package scenarios_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"weir/channels"
	nuntium "weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
)

// Scenario 41: delivered, confirmed, or both: one message frees one slot.
func TestFaults_DeliveredAndConfirmedFreeOneSlot(t *testing.T) {
	for outcome, acks := range map[string]int{nuntium.Confirmed: 2, nuntium.ConfirmedOnly: 1, nuntium.Reversed: 2, nuntium.Delivered: 1} {
		t.Run(outcome, func(t *testing.T) {
			onVirtualTime(t, func(w *world) {
				p := withProviders(w, nuntium.Options{
					Outcomes: []string{outcome + ":*0001", nuntium.Stuck}, DeliverTime: 5 * time.Second, ConfirmTime: 20 * time.Second,
				}, verboice.Options{})
				p.smsChannel("sms", 2)
				a := p.accept("sms", sms("a", fields{"to": "+15550000001"}))["a"]
				p.accept("sms", many("stuck", 5)...)
				p.pass(4 * time.Second)
				if n := p.sms.Tally().Line("sms").Taken; n != 2 {
					t.Fatalf("%d messages went out, want 2", n)
				}
				p.pass(time.Minute)
				if c := p.contact(a); c["outcome"] != "completed" {
					t.Fatalf("the contact is %v", c)
				}
				if n := p.sms.Records().Acks.Taken; n != acks {
					t.Fatalf("%d acks were taken, want %d", n, acks)
				}
				if n := p.sms.Tally().Line("sms").Taken; n != 3 {
					t.Fatalf("%d messages went out, want one more for the unit that was freed", n)
				}
				if n := p.figure("sms", "in_flight"); n != 2 {
					t.Fatalf("%d slots in flight, want 2", n)
				}
			})
		})
	}
}

// Scenario 39, an unknown path: any answer other than 2xx would make the provider
// repeat the callback forever.
func TestFaults_UnknownPathIsAnswered2xx(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.channel("sms", 1, fields{"type": "nuntium", "settings": fields{
			"base_url": "http://nuntium.test", "account": "demo", "token": "token", "channel": "sms",
		}})
		ch, err := w.store.Channel(w.Context(), "sms")
		if err != nil {
			t.Fatal(err)
		}
		w.want(200, "GET", "/callbacks/sms/"+ch.Secret+"/nowhere?guid=x&state=delivered", nil)
		if n := w.callbacks("ignored"); n != 1 {
			t.Fatalf("%d were counted, want 1", n)
		}
	})
}

// Scenario 46: the provider answers 500 for five minutes.
func TestFaults_FailingProviderLosesAndDoublesNothing(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		p := withProviders(w, nuntium.Options{Outcomes: []string{nuntium.Delivered}, DeliverTime: 10 * time.Minute}, verboice.Options{})
		p.smsChannel("sms", 100)
		p.accept("sms", many("a", 60)...)
		p.pass(time.Second)
		p.fails(500)
		before := p.asked()
		p.accept("sms", many("b", 190)...)
		p.pass(5 * time.Minute)
		if n := p.figure("sms", "in_flight") - 60; n > 40 {
			t.Fatalf("%d slots are in flight beside the 60 that the provider has", n)
		}
		if s := p.state("sms"); s != "error" && s != "faulted" {
			t.Fatalf("the channel is %s", s)
		}
		if n := p.asked() - before; n > 800 {
			t.Fatalf("the failing provider was called %d times", n)
		}

		p.meddles(nil)
		p.pass(time.Minute + time.Second) // one step of the back-off
		if n := p.sms.Tally().Line("sms").Active; n != 100 {
			t.Fatalf("the provider has %d messages, want 100: %v", n, p.outcomes("sms"))
		}
		if s := p.state("sms"); s != "up" {
			t.Fatalf("the channel is %s", s)
		}
		p.pass(31 * time.Minute) // long enough for three batches of messages
		if got := fmt.Sprint(p.outcomes("sms")); got != "map[completed:250]" {
			t.Fatalf("contacts: %s", got)
		}
		line := p.sms.Tally().Line("sms")
		if line.Sent != 250 || line.Doubled != 0 || line.PeakActive > 100 || p.sms.Records().Alike > 249 {
			t.Fatalf("the provider's own account: %+v", line)
		}
	})
}

// Scenario 47: Verboice reports that the window has closed.
func TestFaults_WindowClosedAtTheProviderExpiresTheContact(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		p := withProviders(w, nuntium.Options{}, verboice.Options{Channels: []verboice.Channel{{ID: 1, Name: "main", Limit: 10}}})
		p.meddles(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/api/call" {
				time.Sleep(2 * time.Second) // in transit
			}
			return false
		})
		p.callChannel("calls", 1)
		late, next := calls("late", 1)[0], calls("next", 1)[0]
		late["not_after"] = at(1500 * time.Millisecond)
		a, b := p.accept("calls", late)["late-0001"], p.accept("calls", next)["next-0001"]
		if o := p.done(a); o != "expired" {
			t.Fatalf("ended as %s", o)
		}
		if n := len(p.attempts(a)); n != 1 {
			t.Fatalf("%d attempts, want one, which Verboice refused", n)
		}
		if reason := p.contact(a)["reason"]; reason != "window closed" {
			t.Fatalf("the reason is %v: Verboice's answer was not understood", reason)
		}
		if o := p.done(b); o != "completed" {
			t.Fatalf("the next one ended as %s", o)
		}
		if s := p.state("calls"); s != "up" {
			t.Fatalf("the channel is %s: a closed window is not its fault", s)
		}
		if n := p.metric("weir_actor_panics_total"); n != 0 {
			t.Fatalf("%v panics", n)
		}
	})
}

// Scenario 48: the provider's token expires; the channel gets a new one.
func TestFaults_ExpiredTokenIsReplaced(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		p := withProviders(w, nuntium.Options{
			Applications: []nuntium.Application{{Name: "weir", Tokens: []string{"old", "new"}}},
			Outcomes:     []string{nuntium.Delivered}, DeliverTime: 20 * time.Minute,
		}, verboice.Options{})
		p.smsChannel("sms", 100, fields{"token": "old"})
		p.accept("sms", many("a", 5)...)
		p.pass(time.Second)
		p.meddles(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") == "Bearer new" {
				return false
			}
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		before := p.asked()
		p.accept("sms", many("b", 50)...)
		p.pass(10 * time.Minute)
		// All fifty at once, then the breaker's probes with a status check for each, and
		// five contacts that the reconciler asks about every two minutes.
		if n := p.asked() - before; n > 50+2*20+5*5 {
			t.Fatalf("the provider was called %d times", n)
		}
		if s := p.state("sms"); s != "error" && s != "faulted" {
			t.Fatalf("the channel is %s", s)
		}
		if got, want := fmt.Sprint(p.outcomes("sms")), "map[active:5 queued:50]"; got != want {
			t.Fatalf("contacts: %s, want %s", got, want)
		}

		p.patch("sms", fields{"settings": fields{"token": "new"}})
		p.pass(5 * time.Second)
		if n := p.sms.Tally().Line("sms").Active; n != 55 {
			t.Fatalf("with the new token the provider has %d messages, want 55: %v", n, p.outcomes("sms"))
		}
		if s := p.state("sms"); s != "up" {
			t.Fatalf("the channel is %s", s)
		}
		p.pass(21 * time.Minute)
		if got := fmt.Sprint(p.outcomes("sms")); got != "map[completed:55]" {
			t.Fatalf("contacts: %s", got)
		}
		if line := p.sms.Tally().Line("sms"); line.Sent != 55 || line.Doubled != 0 {
			t.Fatalf("the provider's own account: %+v", line)
		}
	})
}

// Scenario 49: a provider that takes half a minute delays no other channel.
func TestFaults_SlowProviderDelaysNoOther(t *testing.T) {
	onStores(t, func(w *world) {
		slow := newGate()
		w.lab.behave(func(l *lab) {
			l.onSend = func(ctx context.Context, a labAttempt) channels.SendResult {
				s := l.take(a)
				if a.channel == "slow" && a.key != "quick" {
					slow.wait(l, ctx)
				}
				return s
			}
		})
		w.channel("slow", 20)
		w.channel("fast", 5)
		ids := w.accept("slow", append([]fields{sms("quick")}, many("s", 10)...)...)
		w.sent(11)
		w.becomes(ids["quick"], "active")
		fast := map[string]string{}
		for what, do := range map[string]func(){
			"a status check":           func() { w.state("slow") },
			"a query":                  func() { w.contact(ids["s-0001"]) },
			"a callback":               func() { w.finish("quick"); w.done(ids["quick"]) },
			"a callback of a slow one": func() { w.finish("s-0002") },
			"an enqueue":               func() { w.accept("slow", sms("more")) },
			"a cancel":                 func() { w.want(202, "DELETE", "/v1/contacts/"+ids["s-0003"], nil) },
			"a channel beside it": func() {
				fast = w.accept("fast", many("f", 5)...)
				w.until("sent", func() bool { return w.sends("f-0005") == 1 })
			},
		} {
			w.within(w.quick(), what+" while the provider is slow", do)
		}
		w.until("the contacts of the other channel are active", func() bool { return w.figure("fast", "active") == 5 })
		slow.open()
		w.until("the slow ones are active or over", func() bool { return w.figure("slow", "sending") == 0 })
		for key := range fast {
			w.finish(key)
		}
		w.inFlight("fast", 0)
		w.expectNoDuplicates()
	})
}

// Scenario 49 at the limit of Weir's own timeout: half a minute without an answer.
func TestFaults_ProviderAtTheTimeoutDelaysNoOther(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		w.lab.behave(func(l *lab) {
			l.onSend = func(ctx context.Context, a labAttempt) channels.SendResult {
				s := l.take(a)
				if a.channel != "slow" {
					return s
				}
				select {
				case <-time.After(30 * time.Second):
					return s
				case <-ctx.Done():
					return lost()
				}
			}
		})
		w.channel("slow", 100)
		w.channel("fast", 1)
		w.accept("slow", many("s", 200)...)
		fast := w.accept("fast", many("f", 30)...)
		for i := range 30 {
			key := fmt.Sprintf("f-%04d", i+1)
			w.within(w.quick(), "a contact of the other channel", func() {
				w.speaks(key)
				w.becomes(fast[key], "active")
				w.finish(key)
				w.done(fast[key])
				w.state("slow")
			})
			w.pass(time.Second)
		}
		if now, most := w.lab.use("slow"); now < 64 || now > 70 || most > 100 {
			t.Fatalf("the slow provider has %d, and had %d; want the 64 that were let out before its silence was noticed, and a few probes", now, most)
		}
	})
}

// Scenario 50: the provider has purged a call.
func TestFaults_PurgedCallEndsAsLost(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		p := withProviders(w, nuntium.Options{}, verboice.Options{
			Channels: []verboice.Channel{{ID: 1, Name: "main", Limit: 10}},
			Faults:   []string{"drop"}, PurgeAfter: 30 * time.Second,
		})
		p.callChannel("calls", 1)
		ids := p.accept("calls", calls("c", 2)...)
		begun := time.Now()
		if o := p.done(ids["c-0001"]); o != "lost" || time.Since(begun) > 4*time.Minute+20*time.Second {
			t.Fatalf("ended as %s after %v, want lost within the idle limit and one interval", o, time.Since(begun))
		}
		if o := p.done(ids["c-0002"]); o != "lost" {
			t.Fatalf("the next one ended as %s", o)
		}
		if line := p.voice.Tally().Line("main"); line.Sent != 2 || line.Doubled != 0 || line.PeakActive != 1 {
			t.Fatalf("the provider's own account: %+v", line)
		}
	})
}
