package contacts_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"weir/channels"
	nuntium "weir/channels/nuntium/simulator"
	verboice "weir/channels/verboice/simulator"
	"weir/test/scenarios/world"
)

// Scenario 41: delivered, confirmed, or both: one message frees one slot.
func TestFaults_DeliveredAndConfirmedFreeOneSlot(t *testing.T) {
	for outcome, acks := range map[string]int{nuntium.Confirmed: 2, nuntium.ConfirmedOnly: 1, nuntium.Reversed: 2, nuntium.Delivered: 1} {
		t.Run(outcome, func(t *testing.T) {
			world.OnVirtualTime(t, func(w *world.World) {
				p := world.WithProviders(w, nuntium.Options{
					Outcomes: []string{outcome + ":*0001", nuntium.Stuck}, DeliverTime: 5 * time.Second, ConfirmTime: 20 * time.Second,
				}, verboice.Options{})
				p.SmsChannel("sms", 2)
				a := p.Accept("sms", world.SMS("a", world.Fields{"to": "+15550000001"}))["a"]
				p.Accept("sms", world.Many("stuck", 5)...)
				p.Pass(4 * time.Second)
				if n := p.SMS.Tally().Line("sms").Taken; n != 2 {
					t.Fatalf("%d messages went out, want 2", n)
				}
				p.Pass(time.Minute)
				if c := p.Contact(a); c["outcome"] != "completed" {
					t.Fatalf("the contact is %v", c)
				}
				if n := p.SMS.Records().Acks.Taken; n != acks {
					t.Fatalf("%d acks were taken, want %d", n, acks)
				}
				if n := p.SMS.Tally().Line("sms").Taken; n != 3 {
					t.Fatalf("%d messages went out, want one more for the unit that was freed", n)
				}
				if n := p.Figure("sms", "in_flight"); n != 2 {
					t.Fatalf("%d slots in flight, want 2", n)
				}
			})
		})
	}
}

// Scenario 39, an unknown path: its address is mistyped, so that the provider and the operator
// learn of it, and the provider may repeat it.
func TestFaults_UnknownPathIsRefused(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Channel("sms", 1, world.Fields{"type": "nuntium", "settings": world.Fields{
			"base_url": "http://nuntium.test", "account": "demo", "token": "token", "channel": "sms",
		}})
		ch, err := w.Store.Channel(w.Context(), "sms")
		if err != nil {
			t.Fatal(err)
		}
		w.Want(404, "GET", "/callbacks/sms/"+ch.Secret+"/nowhere?guid=x&state=delivered", nil)
		if n := w.Callbacks("unknown_path"); n != 1 {
			t.Fatalf("%d were counted, want 1", n)
		}
	})
}

// Scenario 46: the provider answers 500 for five minutes.
func TestFaults_FailingProviderLosesAndDoublesNothing(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		p := world.WithProviders(w, nuntium.Options{Outcomes: []string{nuntium.Delivered}, DeliverTime: 10 * time.Minute}, verboice.Options{})
		p.SmsChannel("sms", 100)
		p.Accept("sms", world.Many("a", 60)...)
		p.Pass(time.Second)
		p.Fails(500)
		before := p.Asked()
		p.Accept("sms", world.Many("b", 190)...)
		p.Pass(5 * time.Minute)
		if n := p.Figure("sms", "in_flight") - 60; n > 40 {
			t.Fatalf("%d slots are in flight beside the 60 that the provider has", n)
		}
		if s := p.State("sms"); s != "error" && s != "faulted" {
			t.Fatalf("the channel is %s", s)
		}
		if n := p.Asked() - before; n > 800 {
			t.Fatalf("the failing provider was called %d times", n)
		}

		p.Meddles(nil)
		p.Pass(time.Minute + time.Second) // one step of the back-off
		if n := p.SMS.Tally().Line("sms").Active; n != 100 {
			t.Fatalf("the provider has %d messages, want 100: %v", n, p.Outcomes("sms"))
		}
		if s := p.State("sms"); s != "up" {
			t.Fatalf("the channel is %s", s)
		}
		p.Pass(31 * time.Minute) // long enough for three batches of messages
		if got := fmt.Sprint(p.Outcomes("sms")); got != "map[completed:250]" {
			t.Fatalf("contacts: %s", got)
		}
		line := p.SMS.Tally().Line("sms")
		if line.Sent != 250 || line.Doubled != 0 || line.PeakActive > 100 || p.SMS.Records().Alike > 249 {
			t.Fatalf("the provider's own account: %+v", line)
		}
	})
}

// Scenario 47: Verboice reports that the window has closed.
func TestFaults_WindowClosedAtTheProviderExpiresTheContact(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		p := world.WithProviders(w, nuntium.Options{}, verboice.Options{Channels: []verboice.Channel{{ID: 1, Name: "main", Limit: 10}}})
		p.Meddles(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/api/call" {
				time.Sleep(2 * time.Second) // in transit
			}
			return false
		})
		p.CallChannel("calls", 1)
		late, next := world.Calls("late", 1)[0], world.Calls("next", 1)[0]
		late["not_after"] = world.At(1500 * time.Millisecond)
		a, b := p.Accept("calls", late)["late-0001"], p.Accept("calls", next)["next-0001"]
		if o := p.Done(a); o != "expired" {
			t.Fatalf("ended as %s", o)
		}
		if n := len(p.Attempts(a)); n != 1 {
			t.Fatalf("%d attempts, want one, which Verboice refused", n)
		}
		if reason := p.Contact(a)["reason"]; reason != "window closed" {
			t.Fatalf("the reason is %v: Verboice's answer was not understood", reason)
		}
		if o := p.Done(b); o != "completed" {
			t.Fatalf("the next one ended as %s", o)
		}
		if s := p.State("calls"); s != "up" {
			t.Fatalf("the channel is %s: a closed window is not its fault", s)
		}
		if n := p.Metric("weir_actor_panics_total"); n != 0 {
			t.Fatalf("%v panics", n)
		}
	})
}

// Scenario 48: the provider's token expires; the channel gets a new one.
func TestFaults_ExpiredTokenIsReplaced(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		p := world.WithProviders(w, nuntium.Options{
			Applications: []nuntium.Application{{Name: "weir", Tokens: []string{"old", "new"}}},
			Outcomes:     []string{nuntium.Delivered}, DeliverTime: 20 * time.Minute,
		}, verboice.Options{})
		p.SmsChannel("sms", 100, world.Fields{"token": "old"})
		p.Accept("sms", world.Many("a", 5)...)
		p.Pass(time.Second)
		p.Meddles(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") == "Bearer new" {
				return false
			}
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		before := p.Asked()
		p.Accept("sms", world.Many("b", 50)...)
		p.Pass(10 * time.Minute)
		// All fifty at once, then the breaker's probes with a status check for each, and
		// five contacts that the reconciler asks about every two minutes.
		if n := p.Asked() - before; n > 50+2*20+5*5 {
			t.Fatalf("the provider was called %d times", n)
		}
		if s := p.State("sms"); s != "error" && s != "faulted" {
			t.Fatalf("the channel is %s", s)
		}
		if got, want := fmt.Sprint(p.Outcomes("sms")), "map[active:5 queued:50]"; got != want {
			t.Fatalf("contacts: %s, want %s", got, want)
		}

		p.Patch("sms", world.Fields{"settings": world.Fields{"token": "new"}})
		p.Pass(5 * time.Second)
		if n := p.SMS.Tally().Line("sms").Active; n != 55 {
			t.Fatalf("with the new token the provider has %d messages, want 55: %v", n, p.Outcomes("sms"))
		}
		if s := p.State("sms"); s != "up" {
			t.Fatalf("the channel is %s", s)
		}
		p.Pass(21 * time.Minute)
		if got := fmt.Sprint(p.Outcomes("sms")); got != "map[completed:55]" {
			t.Fatalf("contacts: %s", got)
		}
		if line := p.SMS.Tally().Line("sms"); line.Sent != 55 || line.Doubled != 0 {
			t.Fatalf("the provider's own account: %+v", line)
		}
	})
}

// Scenario 49: a provider that takes half a minute delays no other channel.
func TestFaults_SlowProviderDelaysNoOther(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		slow := world.NewGate()
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(ctx context.Context, a world.LabAttempt) channels.SendResult {
				s := l.Take(a)
				if a.Channel == "slow" && a.Key != "quick" {
					slow.Wait(l, ctx)
				}
				return s
			}
		})
		w.Channel("slow", 20)
		w.Channel("fast", 5)
		ids := w.Accept("slow", append([]world.Fields{world.SMS("quick")}, world.Many("s", 10)...)...)
		w.Sent(11)
		w.Becomes(ids["quick"], "active")
		fast := map[string]string{}
		for what, do := range map[string]func(){
			"a status check":           func() { w.State("slow") },
			"a query":                  func() { w.Contact(ids["s-0001"]) },
			"a callback":               func() { w.Finish("quick"); w.Done(ids["quick"]) },
			"a callback of a slow one": func() { w.Finish("s-0002") },
			"an enqueue":               func() { w.Accept("slow", world.SMS("more")) },
			"a cancel":                 func() { w.Want(202, "DELETE", "/v1/contacts/"+ids["s-0003"], nil) },
			"a channel beside it": func() {
				fast = w.Accept("fast", world.Many("f", 5)...)
				w.Until("sent", func() bool { return w.Sends("f-0005") == 1 })
			},
		} {
			w.Within(w.Quick(), what+" while the provider is slow", do)
		}
		w.Until("the contacts of the other channel are active", func() bool { return w.Figure("fast", "active") == 5 })
		slow.Open()
		w.Until("the slow ones are active or over", func() bool { return w.Figure("slow", "sending") == 0 })
		for key := range fast {
			w.Finish(key)
		}
		w.InFlight("fast", 0)
		w.ExpectNoDuplicates()
	})
}

// Scenario 49 at the limit of Weir's own timeout: half a minute without an answer.
func TestFaults_ProviderAtTheTimeoutDelaysNoOther(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		w.Lab.Behave(func(l *world.Lab) {
			l.OnSend = func(ctx context.Context, a world.LabAttempt) channels.SendResult {
				s := l.Take(a)
				if a.Channel != "slow" {
					return s
				}
				select {
				case <-time.After(30 * time.Second):
					return s
				case <-ctx.Done():
					return world.Lost()
				}
			}
		})
		w.Channel("slow", 100)
		w.Channel("fast", 1)
		w.Accept("slow", world.Many("s", 200)...)
		fast := w.Accept("fast", world.Many("f", 30)...)
		for i := range 30 {
			key := fmt.Sprintf("f-%04d", i+1)
			w.Within(w.Quick(), "a contact of the other channel", func() {
				w.Speaks(key)
				w.Becomes(fast[key], "active")
				w.Finish(key)
				w.Done(fast[key])
				w.State("slow")
			})
			w.Pass(time.Second)
		}
		if now, most := w.Lab.Use("slow"); now < 64 || now > 70 || most > 100 {
			t.Fatalf("the slow provider has %d, and had %d; want the 64 that were let out before its silence was noticed, and a few probes", now, most)
		}
	})
}

// Scenario 50: the provider has purged a call.
func TestFaults_PurgedCallEndsAsLost(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		p := world.WithProviders(w, nuntium.Options{}, verboice.Options{
			Channels: []verboice.Channel{{ID: 1, Name: "main", Limit: 10}},
			Faults:   []string{"drop"}, PurgeAfter: 30 * time.Second,
		})
		p.CallChannel("calls", 1)
		ids := p.Accept("calls", world.Calls("c", 2)...)
		begun := time.Now()
		if o := p.Done(ids["c-0001"]); o != "lost" || time.Since(begun) > 4*time.Minute+20*time.Second {
			t.Fatalf("ended as %s after %v, want lost within the idle limit and one interval", o, time.Since(begun))
		}
		if o := p.Done(ids["c-0002"]); o != "lost" {
			t.Fatalf("the next one ended as %s", o)
		}
		if line := p.Voice.Tally().Line("main"); line.Sent != 2 || line.Doubled != 0 || line.PeakActive != 1 {
			t.Fatalf("the provider's own account: %+v", line)
		}
	})
}
