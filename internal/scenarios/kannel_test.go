package scenarios_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/kannel"
	"weir/channels/kannel/simulator"
	"weir/channels/simulation/memnet"
)

// withKannel connects a world to a simulated Kannel, with a channel sms of a capacity.
// meddle may answer instead of Kannel.
func withKannel(w *world, capacity int, o simulator.Options, meddle func(http.ResponseWriter, *http.Request) bool) *simulator.Server {
	w.Helper()
	if !w.virtual {
		w.core.IdleAfter, w.core.ReconcileEvery, w.core.LostAfter, w.core.SettleAfter = 500*time.Millisecond, 500*time.Millisecond, 5*time.Second, 500*time.Millisecond
	}
	var network memnet.Network
	outgoing, incoming := network.Transport(), network.Transport()
	w.transport = func(weir.Channel) http.RoundTripper { return outgoing }
	w.more = func() []channels.Type { return []channels.Type{kannel.Type()} }
	o.Client = &http.Client{Transport: incoming}
	sim, err := simulator.New(o)
	if err != nil {
		w.Fatal(err)
	}
	provider := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !meddle(rw, r) {
			sim.ServeHTTP(rw, r)
		}
	})
	w.Cleanup(network.Serve("weir.test", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.handler.ServeHTTP(rw, r) })))
	w.Cleanup(network.Host("kannel.test", provider, sim.Run))
	w.Cleanup(func() {
		outgoing.CloseIdleConnections()
		incoming.CloseIdleConnections()
	})
	w.restart()
	w.channel("sms", capacity, fields{"type": "kannel", "settings": fields{
		"sendsms_url": "http://kannel.test/cgi-bin/sendsms", "username": "weir", "password": "secret", "final_state": "delivered",
	}})
	return sim
}

// Scenario 232: Kannel cannot be asked about a message, and its answers are cut, late
// or errors, its reports doubled and swapped: every message that it has is settled by
// its reports, none is sent twice, and never more are in flight than the capacity.
func TestScenario232_KannelSettlesByReports(t *testing.T) {
	onStores(t, func(w *world) {
		const contacts, capacity = 60, 7
		sim := withKannel(w, capacity, simulator.Options{
			Outcomes: []string{"failed:*3", "refused:*5", "reversed:*7"}, Seed: 4,
			Faults: []string{"cut@send:0.2", "after=500@send:0.2", "status=503@send:#9", "duplicate@dlr:0.3", "swap@dlr:0.1"},
		}, func(http.ResponseWriter, *http.Request) bool { return false })
		want := map[string]string{}
		var list []fields
		for i := range contacts {
			c := sms(fmt.Sprint("c", i), fields{"to": fmt.Sprintf("+1555%07d", i)})
			list = append(list, c)
			want[c["key"].(string)] = map[int]string{3: "failed", 5: "failed"}[i%10]
		}
		for key, id := range w.accept("sms", list...) {
			outcome := want[key]
			if outcome == "" {
				outcome = "completed"
			}
			if got := w.done(id); got != outcome {
				t.Errorf("%s ended as %s, want %s: %v", key, got, outcome, w.contact(id)["reason"])
			}
		}
		line := sim.Tally().Line("SMSC")
		if line.Doubled != 0 || line.Sent != contacts || line.PeakActive > capacity {
			t.Errorf("line %+v", line)
		}
	})
}

// Scenario 233: Kannel accepts only the first of two messages. The contact is not sent
// again, which would repeat the first one: it fails.
func TestScenario233_OneOfTwoMessagesAccepted(t *testing.T) {
	onStores(t, func(w *world) {
		var requests atomic.Int64
		sim := withKannel(w, 2, simulator.Options{}, func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("X-Kannel-To") == "" || requests.Add(1) != 2 {
				return false
			}
			rw.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		id := w.accept("sms", sms("two", texts("two", 2)))["two"]
		if got := w.done(id); got != "failed" {
			t.Errorf("it ended as %s", got)
		}
		c := w.contact(id)
		if reason, _ := c["reason"].(string); !strings.Contains(reason, "an earlier message was not accepted") || w.attempts(id)[0]["provider_ref"] != "1/2" {
			t.Errorf("contact %v", c)
		}
		if line := sim.Tally().Line("SMSC"); line.Taken != 1 || requests.Load() != 2 {
			t.Errorf("%d requests, line %+v", requests.Load(), line)
		}
	})
}
