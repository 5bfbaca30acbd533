package scenarios_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/simulation/memnet"
	"weir/channels/twilio"
	"weir/channels/twilio/simulator"
)

// withTwilio connects a world to a simulated Twilio, with channels sms and calls of a
// capacity.
func withTwilio(w *world, capacity int, o simulator.Options) *simulator.Server {
	w.Helper()
	if !w.virtual {
		w.core.IdleAfter, w.core.ReconcileEvery, w.core.SettleAfter = 500*time.Millisecond, 500*time.Millisecond, 500*time.Millisecond
	}
	var network memnet.Network
	outgoing, incoming := network.Transport(), network.Transport()
	w.transport = func(weir.Channel) http.RoundTripper { return outgoing }
	w.more = func() []channels.Type { return []channels.Type{twilio.Type(), twilio.VoiceType()} }
	o.Client = &http.Client{Transport: incoming}
	sim, err := simulator.New(o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(network.Serve("weir.test", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.handler.ServeHTTP(rw, r) })))
	w.Cleanup(network.Host("twilio.test", sim, sim.Run))
	w.Cleanup(func() {
		outgoing.CloseIdleConnections()
		incoming.CloseIdleConnections()
	})
	w.restart()
	settings := fields{"base_url": "http://twilio.test", "account_sid": simulator.AccountSID, "auth_token": simulator.AuthToken, "from": "+15559990000"}
	w.channel("calls", capacity, fields{"type": "twilio_voice", "settings": settings})
	texts := fields{"final_state": "delivered"}
	for k, v := range settings {
		texts[k] = v
	}
	w.channel("sms", capacity, fields{"type": "twilio", "settings": texts})
	return sim
}

// Scenario 236: answers of Twilio are cut, late or errors, its signed callbacks
// doubled and swapped: each message and call that it has is settled by its callbacks,
// none is made twice, and never more are in flight than the capacity.
func TestScenario236_TwilioSettlesByCallbacks(t *testing.T) {
	onStores(t, func(w *world) {
		const contacts, capacity = 40, 7
		sim := withTwilio(w, capacity, simulator.Options{
			Outcomes: []string{"failed=21610:*3", "failed=30005:*5", "busy:*7", "reversed:*8"}, Seed: 4, RetryDelay: 10 * time.Millisecond,
			Faults: []string{"cut@send:0.2", "after=503@send:0.2", "status=429@send:#9", "duplicate@status:0.3", "swap@status:0.1"},
		})
		ends := map[string]map[int]string{"sms": {3: "failed", 5: "failed"}, "calls": {3: "failed", 5: "failed", 7: "busy"}}
		for channel, end := range ends {
			var list []fields
			want := map[string]string{}
			for i := range contacts {
				c := sms(fmt.Sprint(channel, i), fields{"to": fmt.Sprintf("+1555%07d", i)})
				if channel == "calls" {
					delete(c, "messages")
					c["call"] = fields{"twiml": "<Response/>"}
				}
				list = append(list, c)
				want[c["key"].(string)] = end[i%10]
			}
			for key, id := range w.accept(channel, list...) {
				outcome := want[key]
				if outcome == "" {
					outcome = "completed"
				}
				if got := w.done(id); got != outcome {
					t.Errorf("%s ended as %s, want %s: %v", key, got, outcome, w.contact(id)["reason"])
				}
			}
		}
		line := sim.Tally().Line("+15559990000")
		if line.Doubled != 0 || line.PeakActive > capacity {
			t.Errorf("line %+v", line)
		}
	})
}

// Scenario 237: the answer to a message is lost, and so are its callbacks: after a
// crash of Weir, Twilio's list settles it. A message that Twilio never had is
// dispatched again, some time later.
func TestScenario237_TwiliosListSettlesWithoutCallbacks(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		sim := withTwilio(w, 2, simulator.Options{Faults: []string{"cut@send:*1", "reset@send:#2", "drop@status"}})
		has := w.accept("sms", sms("has", fields{"to": "+15550000001"}))["has"]
		w.until("it is unclear", func() bool { return w.contact(has)["state"] == "unknown" })
		not := w.accept("sms", sms("not", fields{"to": "+15550000002"}))["not"]
		w.until("it is unclear", func() bool { return w.contact(not)["state"] == "unknown" })
		w.restart()
		for _, id := range []string{has, not} {
			if got := w.done(id); got != "completed" {
				t.Errorf("ended as %s: %v", got, w.contact(id))
			}
		}
		line := sim.Tally().Line("+15559990000")
		if line.Taken != 2 || line.Doubled != 0 {
			t.Errorf("line %+v", line)
		}
		if n := len(w.attempts(has)); n != 1 {
			t.Errorf("%d attempts of the message that Twilio had", n)
		}
		if n := len(w.attempts(not)); n != 2 {
			t.Errorf("%d attempts of the message that was lost", n)
		}
	})
}

// Scenario 238: a call that is canceled while Twilio has it queued ends at once and
// frees its slot, though no callback comes.
func TestScenario238_CallCanceledInTwiliosQueue(t *testing.T) {
	onVirtualTime(t, func(w *world) {
		sim := withTwilio(w, 1, simulator.Options{QueueTime: time.Minute})
		call := fields{"call": fields{"twiml": "<Response/>"}}
		first := sms("first", call)
		delete(first, "messages")
		second := sms("second", call)
		delete(second, "messages")
		ids := w.accept("calls", first, second)
		w.until("it is at Twilio", func() bool { return w.contact(ids["first"])["state"] == "active" })
		if a := w.call("DELETE", "/v1/contacts/"+ids["first"], nil); a.Status >= 300 {
			t.Fatalf("%d %s", a.Status, a.Text)
		}
		if got := w.done(ids["first"]); got != "canceled" {
			t.Errorf("ended as %s", got)
		}
		if got := w.done(ids["second"]); got != "completed" {
			t.Errorf("ended as %s", got)
		}
		if line := sim.Tally().Line("+15559990000"); line.PeakActive != 1 {
			t.Errorf("line %+v", line)
		}
	})
}
