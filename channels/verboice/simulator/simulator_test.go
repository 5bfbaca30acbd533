package simulator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/channels/simulation"
	"weir/channels/verboice/simulator"

	"github.com/google/go-cmp/cmp"
)

func quick() simulator.Options {
	return simulator.Options{Ring: time.Second, Talk: 10 * time.Second, SkipFlows: true}
}

// The real server's callbacks in each situation: providers.md A.5.
func TestSimulator_CallsBackAsTheRealServer(t *testing.T) {
	t.Parallel()
	cases := []struct {
		outcome string
		want    []string
		state   string
	}{
		{"completed", []string{"ringing   0", "in-progress   0", "completed   10"}, "completed"},
		{"failed=twilio:13224:1", []string{"ringing   0", "in-progress   0", "failed flow failed twilio:13224 10"}, "failed"},
		{"hangup", []string{"ringing   0", "in-progress   0", "failed Busy  10"}, "failed"},
		{"busy", []string{"ringing   0", "busy   0"}, "failed"},
		{"no-answer", []string{"ringing   0", "no-answer   0"}, "failed"},
		{"dial-failed=ISDN:17:1", []string{"ringing   0", "failed dial failed ISDN:17 0"}, "failed"},
		{"refused", nil, "failed"},
		{"silent", []string{"ringing   0"}, "failed"},
		{"double", []string{"ringing   0", "busy   0", "expired   0"}, "expired"},
		{"retry", []string{"ringing   0", "busy   0", "ringing   0", "in-progress   0", "completed   10"}, "completed"},
		{"stuck", []string{"ringing   0", "in-progress   0"}, "active"},
		{"unreachable", nil, "queued"},
	}
	for _, c := range cases {
		t.Run(c.outcome, func(t *testing.T) {
			o := quick()
			o.Outcomes = []string{c.outcome}
			run(t, o, func(w *world) {
				id := w.call("15550001")
				w.pass(30 * time.Minute)
				var want []string
				for _, line := range c.want {
					want = append(want, "/s/15550001 "+line)
				}
				if d := cmp.Diff(want, w.callbacks(), equateEmpty()); d != "" {
					t.Errorf("callbacks (-want +got):\n%s", d)
				}
				if got := w.state(id); got != c.state {
					t.Errorf("state %q, want %q", got, c.state)
				}
				active := 0
				if c.state == "active" || c.state == "queued" {
					active = 1
				}
				want1 := simulation.LineReport{Line: "main", Sent: 1, Taken: 1, Active: active, PeakActive: 1, Finished: 1 - active}
				got := w.sim.Tally().Line("main")
				got.FirstAt, got.LastAt = time.Time{}, time.Time{}
				if d := cmp.Diff(want1, got); d != "" {
					t.Errorf("tally (-want +got):\n%s", d)
				}
			})
		})
	}
}

func equateEmpty() cmp.Option {
	return cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

// A call that is active for too long fails without a callback to the call's own
// URL.
func TestSimulator_StuckCallFailsSilently(t *testing.T) {
	o := quick()
	o.Outcomes = []string{"stuck"}
	run(t, o, func(w *world) {
		id := w.call("1")
		w.pass(3 * time.Hour)
		if got := w.state(id); got != "failed" || len(w.callbacks()) != 2 {
			t.Errorf("state %s, callbacks %v", got, w.callbacks())
		}
	})
}

func TestSimulator_KeepsTheLimitAndThePause(t *testing.T) {
	o := quick()
	o.Channels = []simulator.Channel{{ID: 1, Name: "main", Limit: 2, Pause: 5 * time.Second}}
	run(t, o, func(w *world) {
		for i := range 5 {
			w.call(fmt.Sprint(i))
		}
		// 11 s for each pair, and 5 s between.
		for _, step := range []struct {
			until time.Duration
			rung  int
		}{{10 * time.Second, 2}, {15 * time.Second, 2}, {17 * time.Second, 4}, {31 * time.Second, 4}, {33 * time.Second, 5}} {
			w.pass(step.until - sinceStart(w))
			rung := 0
			for _, c := range w.callbacks() {
				if strings.Contains(c, " ringing") {
					rung++
				}
			}
			if rung != step.rung {
				t.Errorf("after %v %d calls had rung, want %d", step.until, rung, step.rung)
			}
		}
		// An accepted call is active, even while it waits at the provider.
		if got := w.sim.Tally().Line("main"); got.PeakActive != 5 {
			t.Errorf("most active %d, want 5", got.PeakActive)
		}
	})
}

func sinceStart(w *world) time.Duration {
	return time.Since(w.sim.Tally().Line("main").FirstAt)
}

func TestSimulator_CallsWithinTheirWindows(t *testing.T) {
	run(t, quick(), func(w *world) {
		format := func(d time.Duration) string { return time.Now().Add(d).UTC().Format("2006-01-02 15:04:05Z") }
		first := w.call("1") // keeps the only place for 11 s
		late := w.call("2", "not_before", format(time.Minute))
		expires := w.call("3", "not_after", format(5*time.Second))
		w.pass(30 * time.Second)
		for id, want := range map[int64]string{first: "completed", late: "queued", expires: "expired"} {
			if got := w.state(id); got != want {
				t.Errorf("call %d is %s, want %s", id, got, want)
			}
		}
		w.pass(time.Minute)
		if got := w.state(late); got != "completed" {
			t.Errorf("call is %s after its not_before", got)
		}
		var ofThird []string
		for _, c := range w.callbacks() {
			if strings.HasPrefix(c, "/s/3") {
				ofThird = append(ofThird, c)
			}
		}
		if d := cmp.Diff([]string{"/s/3 expired   0"}, ofThird); d != "" {
			t.Errorf("expired comes alone (-want +got):\n%s", d)
		}
	})
}

func TestSimulator_CancelsQueuedAndActiveCalls(t *testing.T) {
	run(t, quick(), func(w *world) {
		active, queued := w.call("1"), w.call("2")
		w.pass(5 * time.Second)
		cancel := func(id int64) {
			t.Helper()
			status, body := w.ask(http.MethodPost, fmt.Sprintf("/api/calls/%d/cancel.json", id), nil)
			if want := fmt.Sprintf(`{"call_id":%d,"state":"cancelled"}`, id); status != 200 || body != want {
				t.Errorf("cancel: %d %s", status, body)
			}
			if got := w.state(id); got != "cancelled" {
				t.Errorf("state %s after cancel", got)
			}
		}
		cancel(queued)
		if n := w.sim.Tally().Line("main").Active; n != 1 {
			t.Errorf("%d active after the queued call was canceled, want 1", n)
		}
		cancel(active)
		if n := w.sim.Tally().Line("main").Active; n != 1 {
			t.Errorf("%d active after the active call was canceled: it is not hung up", n)
		}
		w.pass(time.Minute)
		if got := w.state(active); got != "completed" {
			t.Errorf("the active call ended as %s, want completed: its end overwrites the state", got)
		}
		want := []string{"/s/1 ringing   0", "/s/1 in-progress   0", "/s/1 completed   10"}
		if d := cmp.Diff(want, w.callbacks()); d != "" {
			t.Errorf("callbacks (-want +got):\n%s", d)
		}
		cancel(active) // finished by now: only the state changes
		if n := w.sim.Tally().Line("main").Finished; n != 2 {
			t.Errorf("%d finished, want 2", n)
		}
		for _, path := range []string{"/api/calls/99/cancel", "/api/calls/99/state", "/api/calls/x/state.json"} {
			if status, body := w.ask(http.MethodGet, path, nil); status != 404 || body != "" {
				t.Errorf("%s: %d %q, want 404 without a body", path, status, body)
			}
		}
	})
}

func TestSimulator_RefusesAsTheRealServer(t *testing.T) {
	o := quick()
	o.Channels = []simulator.Channel{{ID: 1, Name: "main"}, {ID: 2, Name: "off", Disabled: true}}
	o.CallFlows = []int64{7}
	run(t, o, func(w *world) {
		past, future := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		cases := []struct {
			more []string
			want string
		}{
			{[]string{"channel_id", "9"}, "Channel not found: 9"},
			{[]string{"channel", "none"}, "Channel not found: none"}, // the name takes precedence
			{[]string{"channel_id", "2"}, "Channel is disabled"},
			{[]string{"address", " "}, "Call address cannot be empty"},
			{[]string{"not_after", past}, "Not After date can't be in the past"},
			{[]string{"not_before", future, "not_after", time.Now().Add(time.Minute).UTC().Format(time.RFC3339)}, "Not After date can't be before Not Before date"},
			{[]string{"not_before", "soon"}, "Invalid date: Not Before"},
			{[]string{"not_after", "later"}, "Invalid date: Not After"},
			{[]string{"time_zone", "Atlantis"}, "Time zone Atlantis not supported"},
			{[]string{"call_flow_id", "8"}, "Couldn't find CallFlow with id=8"},
		}
		for _, c := range cases {
			status, body := w.ask(http.MethodGet, callPath("1", c.more...), nil)
			if want := fmt.Sprintf(`{"error":%q}`, c.want); status != 400 || body != want {
				t.Errorf("%v: %d %s, want 400 %s", c.more, status, body, want)
			}
		}
		if got := w.sim.Tally().Line("main"); got.Taken != 0 || got.Refused != 7 {
			t.Errorf("tally %+v, want 7 refused", got)
		}
		w.call("1", "call_flow_id", "7", "time_zone", "Europe/Paris", "not_after", "2100-01-01 10:00")
	})
}

func TestSimulator_ChecksCredentials(t *testing.T) {
	o := quick()
	o.Accounts = []simulator.Account{{Username: "a@b.c", Password: "pw", Tokens: []string{"good"}}, {Username: "other", Password: "pw"}}
	run(t, o, func(w *world) {
		basic := func(user, password string) string {
			r, _ := http.NewRequest(http.MethodGet, "/", nil)
			r.SetBasicAuth(user, password)
			return r.Header.Get("Authorization")
		}
		status, body := w.ask(http.MethodGet, callPath("1"), nil, "Authorization", "Bearer good")
		if status != 200 {
			t.Fatalf("bearer: %d %s", status, body)
		}
		for _, c := range []struct {
			header string
			want   int
		}{{"", 401}, {"Bearer stale", 401}, {basic("a@b.c", "wrong"), 401}, {basic("", ""), 401}, {basic("a@b.c", "pw"), 200}, {basic("other", "pw"), 404}} {
			status, body := w.ask(http.MethodGet, "/api/calls/1/state", nil, "Authorization", c.header)
			if status != c.want || status != 200 && body != "" {
				t.Errorf("%q: %d %q, want %d", c.header, status, body, c.want)
			}
		}
		w.sim.Revoke("good")
		if status, body := w.ask(http.MethodGet, "/api/calls/1/state", nil, "Authorization", "Bearer good"); status != 401 || body != "" {
			t.Errorf("revoked: %d %q", status, body)
		}
	})
}

func TestSimulator_ForgetsPurgedCalls(t *testing.T) {
	o := quick()
	o.PurgeAfter = time.Minute
	run(t, o, func(w *world) {
		id := w.call("1")
		w.pass(30 * time.Second)
		if got := w.state(id); got != "completed" {
			t.Errorf("state %s", got)
		}
		w.pass(time.Minute)
		if got := w.state(id); got != "404" {
			t.Errorf("state %s after the purge, want 404", got)
		}
	})
}

// The tally must be able to prove a violation: more calls at once than a
// capacity, or one outreach made twice.
func TestSimulator_TallyShowsExcessAndDoubles(t *testing.T) {
	run(t, quick(), func(w *world) {
		const capacity = 3
		for i := range capacity + 1 {
			w.call(fmt.Sprint(i), "status_callback_url", fmt.Sprintf("%s/callbacks/c/secret/status/1-%d-1", receiver, i+1))
		}
		w.call("0", "status_callback_url", receiver+"/callbacks/c/secret/status/1-1-2") // a second attempt of the first
		got := w.sim.Tally().Line("main")
		if got.PeakActive <= capacity || got.Doubled != 1 || got.Sent != capacity+1 || got.Taken != capacity+2 {
			t.Errorf("tally %+v", got)
		}
		status, body := w.ask(http.MethodGet, "/_simulator/keys?line=main", nil)
		if want := `{"key":"1-1","address":"0","taken":2,"active":2,"at":"2000-01-01T00:00:00Z"}`; status != 200 || !strings.Contains(body, want) {
			t.Errorf("keys: %d %s, want %s in it", status, body, want)
		}
	})
}

func TestSimulator_ServesItsChannels(t *testing.T) {
	o := quick()
	o.Channels = []simulator.Channel{{ID: 4, Name: "main"}, {ID: 5, Name: "ill", Problems: []string{"not registered"}}}
	run(t, o, func(w *world) {
		main := `{"id":4,"name":"main","kind":"custom","config":{"limit":1},"enabled":true,"status":{"ok":true,"messages":[]}}`
		ill := `{"id":5,"name":"ill","kind":"custom","config":{"limit":1},"enabled":true,"status":{"ok":false,"messages":["not registered"]}}`
		taken := `{"properties":[{"name":"has already been taken"}],"summary":"There were problems creating the Channel"}`
		cases := []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"GET", "/api/channels", "", 200, `["main","ill"]`},
			{"GET", "/api/channels/all", "", 200, "[" + main + "," + ill + "]"},
			{"GET", "/api/channels/all/4", "", 200, main},
			{"GET", "/api/channels/ill", "", 200, ill},
			{"GET", "/api/channels/none", "", 404, ""},
			{"POST", "/api/channels", `{"name":"main"}`, 200, taken},
			{"PUT", "/api/channels/main", `{"limit":0}`, 200, `{"properties":[{"limit":"must be greater than 0"}],"summary":"There were problems updating the Channel"}`},
			{"PUT", "/api/channels/main", `{"limit":1}`, 200, main},
			{"POST", "/api/channels", `{"channel":{"name":"new","limit":3}}`, 200, `{"id":6,"name":"new","kind":"custom","config":{"limit":3},"enabled":true,"status":{"ok":true,"messages":[]}}`},
			{"POST", "/api/channels/9/disable", "", 404, ""},
		}
		for _, c := range cases {
			if status, body := w.ask(c.method, c.path, strings.NewReader(c.body)); status != c.status || body != c.want {
				t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, status, body, c.status, c.want)
			}
		}
		active, queued := w.call("1", "channel", "main"), w.call("2", "channel", "main")
		w.pass(2 * time.Second)
		if status, body := w.ask("POST", "/api/channels/4/disable", nil); status != 200 || body != "" {
			t.Errorf("disable: %d %s", status, body)
		}
		w.pass(time.Minute)
		if a, q := w.state(active), w.state(queued); a != "completed" || q != "cancelled" {
			t.Errorf("after disabling: the active call %s, the queued one %s", a, q)
		}
		if status, _ := w.ask("GET", callPath("3", "channel", "main"), nil); status != 400 {
			t.Errorf("a call on a disabled channel: %d", status)
		}
		w.ask("POST", "/api/channels/4/enable", nil)
		w.call("3", "channel", "main")
	})
}

func TestSimulator_OptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]simulator.Options{
		"outcome": {Outcomes: []string{"nonsense"}}, "rule": {Outcomes: []string{"busy:2"}}, "fault": {Faults: []string{"boom"}},
		"twice": {Channels: []simulator.Channel{{ID: 1, Name: "a"}, {ID: 1, Name: "b"}}}, "number": {Channels: []simulator.Channel{{Name: "a"}}},
	} {
		if _, err := simulator.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
