package channels_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/channels/drivertest"
	"weir/channels/drivertest/peers"
	"weir/test/scenarios/world"
)

// Scenario 270: everything goes wrong at once. Answers are cut, errors or late, some
// requests are refused for their rate, callbacks come twice, late, in the wrong order
// or not at all, and the process is killed at each boundary of its conversation with
// the provider. No contact is forgotten, none is made twice, and never more are in
// flight than the capacity.
func TestChannelTypes_EveryTypeSurvivesChaos(t *testing.T) {
	// One that can be asked about messages, and one that only reports them.
	world.EachPeerOnSQLite(t, []string{"nuntium", "kannel"}, func(w *world.World, p drivertest.Provider) {
		const contacts, capacity = 40, 7
		began := time.Now()
		queue := 5 * time.Millisecond
		faults := []string{"cut@" + p.Send + ":0.1", "after=500@" + p.Send + ":0.1", "after=502@" + p.Send + ":0.05", "status=429@" + p.Send + ":#9"}
		if w.Virtual || p.Settles == 0 { // it takes minutes to be certain that the provider has nothing
			faults = append(faults, "reset@"+p.Send+":0.05", "status=500@"+p.Send+":0.05")
		}
		if w.Virtual {
			queue = 5 * time.Second
			faults = append(faults, "late=20s@"+p.Send+":0.05", "hang@"+p.Send+":0.05")
		}
		for _, fault := range []string{"drop:0.1", "duplicate:0.2", "swap:0.1", "delay=500ms:0.2"} {
			faults = append(faults, p.Reports(fault))
		}
		e := world.WithPeer(w, p, capacity, drivertest.Options{Outcomes: []string{p.Failed + ":*3"}, Faults: faults, Seed: 4, Queue: queue})
		e.Kills(map[string][]int{world.BeforeProvider: {3, 19}, world.AfterProvider: {7, 23}, world.BeforeCallback: {5, 29}, world.AfterCallback: {11, 37}})
		if !w.Virtual && p.Settles > 0 {
			e.Kills(map[string][]int{world.AfterProvider: {7, 23}, world.BeforeCallback: {5, 29}, world.AfterCallback: {11, 37}})
		}
		list := e.Contacts(contacts)
		ids := w.Accept("ch", list...)
		lost := 0
		ended := e.Ended(ids)
		for key, outcome := range ended {
			want := "completed"
			if strings.HasSuffix(key, "3") {
				want = "failed"
			}
			switch {
			case outcome == want:
			case outcome == "lost" && p.Asks != drivertest.ByContact && !e.Heard(ids[key]):
				lost++ // its answer and its callbacks were lost, and the provider cannot be asked
			default:
				t.Errorf("%s ended as %s, want %s: %v", key, outcome, want, w.Contact(ids[key])["reason"])
			}
		}
		line := e.Sim.Tally().Line(p.Line)
		if line.Doubled != 0 || line.PeakActive > capacity || line.Sent+lost < len(ended) {
			t.Errorf("line %+v, %d lost", line, lost)
		}
		if len(e.Killed) < 4 {
			t.Errorf("the process was killed at %v", e.Killed)
		}
		t.Logf("%v: %d lost, killed at %v, line %+v", time.Since(began), lost, e.Killed, line)
		for _, secret := range append(p.Secrets, "+15550000", "15550000") {
			if strings.Contains(w.Logs.String(), secret) {
				t.Errorf("the log shows %s", secret)
			}
		}
	})
}

// Scenario 271: the process is killed once, at each boundary of its conversation with
// the provider. What the provider has is not made again; what it certainly does not
// have is dispatched again, if it can be asked.
func TestChannelTypes_KillAtEachBoundaryDoublesNothing(t *testing.T) {
	t.Parallel()
	for point, drops := range map[string]bool{world.BeforeProvider: false, world.AfterProvider: false, world.BeforeCallback: false, world.AfterCallback: false, world.AfterProvider + ", no callback": true} {
		t.Run(point, func(t *testing.T) {
			world.EachPeer(t, func(w *world.World, p drivertest.Provider) {
				if !w.Virtual && p.Settles > 0 && point == world.BeforeProvider {
					return // it takes minutes to be certain; the same in virtual time
				}
				var faults []string
				if drops {
					faults = append(faults, p.Reports("drop"))
				}
				e := world.WithPeer(w, p, 1, drivertest.Options{Outcomes: []string{p.Completed}, Faults: faults, Queue: 50 * time.Millisecond})
				e.Kills(map[string][]int{strings.TrimSuffix(point, ", no callback"): {1}})
				ids := w.Accept("ch", e.Contacts(2)...)
				want, attempts, taken := "completed", 1, 2
				switch {
				case point == world.BeforeProvider && p.Asks == drivertest.ByContact:
					attempts = 2
				case point == world.BeforeProvider:
					want, taken = "lost", 1
				case drops && p.Asks != drivertest.ByContact:
					want = "lost"
				}
				outcomes := e.Ended(ids)
				missed := outcomes["c0"] == "lost" && !e.Heard(ids["c0"])
				if point == world.AfterProvider && missed && (!p.Repeats || !w.Virtual) {
					want = "lost" // the provider called while no process ran, and does so once, or too late for a busy machine
				}
				if outcomes["c0"] != want || len(w.Attempts(ids["c0"])) != attempts {
					w.Errorf("it ended as %s after %d attempts, want %s after %d", outcomes["c0"], len(w.Attempts(ids["c0"])), want, attempts)
				}
				if line := e.Sim.Tally().Line(p.Line); line.Taken != taken || line.Doubled != 0 || line.PeakActive > 1 || len(e.Killed) != 1 {
					w.Errorf("line %+v, killed at %v; the contacts ended as %v", line, e.Killed, outcomes)
				}
			})
		})
	}
}

// Scenario 233: Kannel accepts only the first of two messages. The contact is not sent
// again, which would repeat the first one: it fails.
func TestChannelTypes_HalfAcceptedContactFailsUnrepeated(t *testing.T) {
	world.OnStores(t, func(w *world.World) {
		e := world.WithPeer(w, peers.Kannel(), 2, drivertest.Options{})
		var requests atomic.Int64
		e.Meddle = func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("X-Kannel-To") == "" || requests.Add(1) != 2 {
				return false
			}
			rw.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		id := w.Accept("ch", world.SMS("two", world.Texts("two", 2)))["two"]
		if got := w.Done(id); got != "failed" {
			t.Errorf("it ended as %s", got)
		}
		c := w.Contact(id)
		if reason, _ := c["reason"].(string); !strings.Contains(reason, "an earlier message was not accepted") || w.Attempts(id)[0]["provider_ref"] != "1/2" {
			t.Errorf("contact %v", c)
		}
		if line := e.Sim.Tally().Line(e.Line); line.Taken != 1 || requests.Load() != 2 {
			t.Errorf("%d requests, line %+v", requests.Load(), line)
		}
	})
}

// Scenario 238: a call that is canceled while Twilio has it queued ends at once and
// frees its slot, though no callback comes.
func TestChannelTypes_CallCanceledInTwiliosQueueFreesItsSlot(t *testing.T) {
	world.OnVirtualTime(t, func(w *world.World) {
		e := world.WithPeer(w, peers.TwilioVoice(), 1, drivertest.Options{Queue: time.Minute})
		ids := w.Accept("ch", e.Contacts(2)...)
		w.Until("it is at Twilio", func() bool { return w.Contact(ids["c0"])["state"] == "active" })
		w.Want(http.StatusAccepted, "DELETE", "/v1/contacts/"+ids["c0"], nil)
		if got := w.Done(ids["c0"]); got != "canceled" {
			t.Errorf("ended as %s", got)
		}
		if got := w.Done(ids["c1"]); got != "completed" {
			t.Errorf("ended as %s", got)
		}
		if line := e.Sim.Tally().Line(e.Line); line.PeakActive != 1 {
			t.Errorf("line %+v", line)
		}
	})
}

// Scenario 272: requests to a channel's callback address that its provider does not
// make change nothing: another secret, another method, too large, another channel's
// attempt.
func TestChannelTypes_StrangeCallbacksChangeNothing(t *testing.T) {
	world.EachPeer(t, func(w *world.World, p drivertest.Provider) {
		queue := time.Minute
		if !w.Virtual {
			queue = time.Hour
		}
		e := world.WithPeer(w, p, 1, drivertest.Options{Outcomes: []string{p.Completed}, Queue: queue})
		id := w.Accept("ch", e.Contacts(1)...)["c0"]
		w.Until("it is at the provider", func() bool { return w.Contact(id)["state"] == "active" })
		ch, err := w.Store.Channel(w.Context(), "ch")
		if err != nil {
			t.Fatal(err)
		}
		good := "/callbacks/ch/" + ch.Secret
		for name, tt := range map[string]struct {
			method, path, body string
			want               int // 0: any but 2xx
		}{
			"secret":    {"POST", "/callbacks/ch/other/status/" + id + "-1", "CallStatus=completed", http.StatusNotFound},
			"no secret": {"POST", "/callbacks/ch", "", http.StatusNotFound},
			"HEAD":      {"HEAD", good + "/status/" + id + "-1", "", http.StatusMethodNotAllowed},
			"PUT":       {"PUT", good + "/status/" + id + "-1", "CallStatus=completed", 0},
			"oversized": {"POST", good + "/status/" + id + "-1", strings.Repeat("CallStatus=completed&", 100_000), 0},
		} {
			r := httptest.NewRequestWithContext(w.Context(), tt.method, tt.path, strings.NewReader(tt.body))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			rec := httptest.NewRecorder()
			w.Handler.ServeHTTP(rec, r)
			if rec.Code < 300 || tt.want != 0 && rec.Code != tt.want {
				t.Errorf("%s: answered %d", name, rec.Code)
			}
		}
		if c := w.Contact(id); c["state"] != "active" {
			t.Errorf("the contact is %v", c)
		}
		if strings.Contains(w.Logs.String(), ch.Secret) {
			t.Error("the log shows the secret")
		}
	})
}
