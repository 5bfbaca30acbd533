package verboice_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/verboice"

	"github.com/google/go-cmp/cmp"
)

// The request that is sent.
func TestDriver_SendsWhatWasAsked(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 3, 4, 5, 600_000_000, time.FixedZone("", 3600))
	status := callbackBase + "/status/1-z-1"
	cases := []struct {
		name     string
		settings weir.Settings
		attempt  channels.Attempt
		method   string
		query    url.Values
		body     string
		auth     string
	}{
		{"callback url, name, password", settings(), channels.Attempt{To: "15550001", Call: &weir.Call{CallbackURL: "http://s.test/f?a=b"}},
			"GET", url.Values{"address": {"15550001"}, "channel": {"line one"}, "callback_url": {"http://s.test/f?a=b"}, "status_callback_url": {status}}, "", "Basic"},
		{"flow, number, token", settings("channel", nil, "channel_id", 3.0, "username", nil, "password", nil, "token", "tok"),
			channels.Attempt{To: "+15550001", Call: &weir.Call{CallFlowID: 7}},
			"GET", url.Values{"address": {"+15550001"}, "channel_id": {"3"}, "call_flow_id": {"7"}, "status_callback_url": {status}}, "", "Bearer tok"},
		{"inline", settings(), channels.Attempt{To: "1", Call: &weir.Call{TwiML: "<Response/>"}},
			"POST", url.Values{"address": {"1"}, "channel": {"line one"}, "status_callback_url": {status}}, "<Response/>", "Basic"},
		{"window, in whole seconds and never wider", settings(), channels.Attempt{To: "1", Call: &weir.Call{CallFlowID: 1}, NotBefore: at, NotAfter: at.Add(time.Hour)},
			"GET", url.Values{"address": {"1"}, "channel": {"line one"}, "call_flow_id": {"1"}, "status_callback_url": {status},
				"not_before": {"2030-01-02 02:04:06Z"}, "not_after": {"2030-01-02 03:04:05Z"}}, "", "Basic"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wire := &canned{status: 200, body: `{"call_id": 55, "state": "queued"}`}
			c.attempt.ID = weir.AttemptRef{Ref: weir.Ref{Channel: 1, ID: 35}, Number: 1}
			got := newDriver(t, c.settings, wire).Send(t.Context(), c.attempt)
			if d := cmp.Diff(channels.SendResult{Status: channels.Accepted, ProviderRef: "55"}, got); d != "" {
				t.Errorf("sent (-want +got):\n%s", d)
			}
			if wire.last.Method != c.method || wire.last.URL.Path != "/api/call" || wire.sent != c.body || !strings.HasPrefix(wire.last.Header.Get("Authorization"), c.auth) {
				t.Errorf("%s %s %q %s", wire.last.Method, wire.last.URL.Path, wire.sent, wire.last.Header)
			}
			if d := cmp.Diff(c.query, wire.query); d != "" {
				t.Errorf("query (-want +got):\n%s", d)
			}
		})
	}
}

// The meaning of each answer for the contact.
func TestDriver_UnderstandsEachAnswerToASend(t *testing.T) {
	t.Parallel()
	refused := func(reason string) channels.SendResult {
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: reason}
	}
	expired := channels.SendResult{Status: channels.Refused, Outcome: weir.Expired, Reason: "window closed"}
	fault := func(reason string) channels.SendResult {
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: reason}
	}
	unknown := channels.SendResult{Status: channels.NotSent, Reason: "refused for an unknown reason"}
	unread := channels.SendResult{Status: channels.Unclear, Answered: true, ChannelFault: true, Reason: "answer not understood"}
	cases := []struct {
		status int
		body   string
		want   channels.SendResult
	}{
		{400, `{"error":"Channel not found: x"}`, fault("channel not found")},
		{400, `{"error":"Channel is disabled"}`, fault("channel disabled")},
		{400, `{"error":"Call address cannot be empty"}`, refused("number not usable")},
		{400, `{"error":"Not After date can't be in the past"}`, expired},
		{400, `{"error":"Not After date can't be before Not Before date"}`, expired},
		{400, `{"error":"Not After date can't be before schedule's next available date"}`, expired},
		{400, `{"error":"Invalid date: Not Before"}`, refused("window refused")},
		{400, `{"error":"Time zone X not supported"}`, fault("time zone refused")},
		{400, `{"error":"Couldn't find CallFlow with id=7"}`, refused("call flow not found")},
		{400, `{"error":"Couldn't find Schedule with id=7"}`, fault("project or schedule not found")},
		{400, `{"error":"Mysql2::Error: Deadlock found"}`, unknown},
		{400, `<html>`, unknown},
		{400, ``, unknown},
		{200, `{"call_id":0,"state":"queued"}`, unread},
		{200, `{"call_id":"5"}`, unread},
		{200, `{}`, unread},
		{200, `OK`, unread},
		{302, ``, fault("provider redirects")},
		{401, ``, fault("credentials refused")},
		{404, ``, fault("not found at the provider")},
		{429, ``, fault("rate limited")},
		{500, ``, channels.SendResult{Status: channels.Unclear, Answered: true, ChannelFault: true, Reason: "provider error"}},
		{502, ``, channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: "gateway error"}},
		{503, ``, fault("provider unavailable")},
	}
	for _, c := range cases {
		got := newDriver(t, settings(), &canned{status: c.status, body: c.body}).Send(t.Context(), attempt(1, "1"))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%d %s (-want +got):\n%s", c.status, c.body, d)
		}
	}
	without := attempt(1, "1")
	without.Call = nil
	if got := newDriver(t, settings(), &canned{status: 200}).Send(t.Context(), without); got.Status != channels.Refused {
		t.Errorf("without a call: %+v", got)
	}
}

// The driver with the simulated server, one row of providers.md A.5 each.
func TestDriver_ReportsEachOutcomeOfACall(t *testing.T) {
	t.Parallel()
	cases := []struct {
		outcome string
		want    []string // outcome and reason of each report
		asked   channels.QueryStatus
		says    weir.Outcome
	}{
		{"completed", []string{" ", " ", "completed "}, channels.Finished, weir.Completed},
		{"busy", []string{" ", "busy "}, channels.Finished, weir.Failed},
		{"no-answer", []string{" ", "no_answer "}, channels.Finished, weir.Failed},
		{"hangup", []string{" ", " ", "failed hung up"}, channels.Finished, weir.Failed},
		{"failed=twilio:21211:1", []string{" ", " ", "failed flow failed (twilio:21211)"}, channels.Finished, weir.Failed},
		{"dial-failed", []string{" ", "failed dial failed"}, channels.Finished, weir.Failed},
		{"double", []string{" ", "busy ", "expired "}, channels.Finished, weir.Expired},
		{"refused", nil, channels.Finished, weir.Failed}, // only asking finds out
		{"silent", []string{" "}, channels.Finished, weir.Failed},
		{"stuck", []string{" ", " "}, channels.Underway, ""},
		{"unreachable", nil, channels.Underway, ""},
	}
	for _, c := range cases {
		t.Run(c.outcome, func(t *testing.T) {
			o := options()
			o.Outcomes = []string{c.outcome}
			run(t, o, settings(), func(w *world) {
				sent := w.send(7, "15550001")
				if sent.Status != channels.Accepted {
					t.Fatalf("sent %+v", sent)
				}
				w.pass(10 * time.Minute)
				a := attempt(7, "15550001")
				var got []string
				for _, r := range w.reports() {
					if r.Attempt != a.ID || r.ProviderRef != sent.ProviderRef || r.Part != weir.WholeContact || r.At.IsZero() {
						t.Errorf("report %+v", r)
					}
					got = append(got, string(r.Outcome)+" "+r.Reason)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("reports (-want +got):\n%s", d)
				}
				if answer := w.driver.Query(w.t.Context(), a); answer.Status != channels.CannotTell {
					t.Errorf("asked without the number of the call: %+v", answer)
				}
				a.ProviderRef = sent.ProviderRef
				answer := w.driver.Query(w.t.Context(), a)
				if answer.Status != c.asked || c.says != "" && (len(answer.Reports) != 1 || answer.Reports[0].Outcome != c.says || answer.Reports[0].Attempt != a.ID) {
					t.Errorf("asked: %+v", answer)
				}
			})
		})
	}
}

func TestDriver_StrangeAnswersFailAQuery(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{"": 500, `{"call_id":5,"state":"dreaming"}`: 200, `{"call_id":6,"state":"queued"}`: 200, `{"call_id":5,"state":null}`: 200, "x": 200} {
		a := attempt(1, "1")
		a.ProviderRef = "5"
		if got := newDriver(t, settings(), &canned{status: status, body: body}).Query(t.Context(), a); got.Status != channels.QueryFailed || got.Reason == "" {
			t.Errorf("%d %s: %+v", status, body, got)
		}
		a.ProviderRef = "5/../cancel"
		wire := &canned{status: status, body: body}
		if got := newDriver(t, settings(), wire).Query(t.Context(), a); got.Status != channels.CannotTell || wire.last != nil {
			t.Errorf("a reference that is no number was asked about: %+v", got)
		}
	}
}

// A call that Verboice has forgotten is not sent again: it may have been held.
func TestDriver_PurgedCallIsLost(t *testing.T) {
	o := options()
	o.PurgeAfter = time.Minute
	run(t, o, settings(), func(w *world) {
		a := attempt(1, "1")
		a.ProviderRef = w.send(1, "1").ProviderRef
		w.pass(10 * time.Minute)
		got := w.driver.Query(w.t.Context(), a)
		if got.Status != channels.Finished || len(got.Reports) != 1 || got.Reports[0].Outcome != weir.Lost {
			t.Errorf("got %+v", got)
		}
	})
}

func TestDriver_CancelsOnlyQueuedCalls(t *testing.T) {
	o := options()
	o.Channels[0].Limit = 1
	run(t, o, settings(), func(w *world) {
		active, queued := attempt(1, "1"), attempt(2, "2")
		active.ProviderRef = w.send(1, "1").ProviderRef
		queued.ProviderRef = w.send(2, "2").ProviderRef
		w.pass(2 * time.Second)
		check := func(name string, a channels.Attempt, want channels.Cancellation) {
			t.Helper()
			if d := cmp.Diff(want, w.driver.Cancel(w.t.Context(), a)); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
		check("unknown", attempt(3, "3"), channels.Cancellation{Reason: "the number of the call is not known"})
		check("active", active, channels.Cancellation{Reason: "the call is being held"})
		if err := w.sim.Faults().Set("cut@cancel"); err != nil {
			t.Fatal(err)
		}
		check("queued, answer lost", queued, channels.Cancellation{Failed: true, Reason: "connection cut"})
		if err := w.sim.Faults().Set("status=500@state"); err != nil {
			t.Fatal(err)
		}
		check("queued, state cannot be asked", queued, channels.Cancellation{Failed: true, Reason: "provider error"})
		if err := w.sim.Faults().Set(); err != nil {
			t.Fatal(err)
		}
		check("canceled before", queued, channels.Cancellation{Canceled: true})
		another := attempt(4, "4")
		another.ProviderRef = w.send(4, "4").ProviderRef
		check("queued", another, channels.Cancellation{Canceled: true})
		w.pass(time.Minute)
		check("over", active, channels.Cancellation{Reason: "the call is over"})
		if got := w.sim.Tally().Line("line one"); got.Active != 0 || got.Finished != 3 || len(w.reports()) != 3 {
			t.Errorf("tally %+v, reports %+v", got, w.reports())
		}
	})
}

// However a request ends, the provider holds the call at most once and the
// driver never reports NotSent for a call that the provider holds.
func TestDriver_NoFaultDoublesACall(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"cut", "reset", "cut:/2", "hang", "late=1m", "after=500", "after=502", "status=500", "cut:0.5"} {
		t.Run(fault, func(t *testing.T) {
			o := options()
			o.Faults = []string{fault}
			run(t, o, settings(), func(w *world) {
				const n = 12
				for i := range int64(n) {
					sent := w.send(i+1, "1")
					taken := w.sim.Tally().Keys("line one")
					has := len(taken) > 0 && containsKey(w, i+1)
					if sent.Status == channels.NotSent && has || sent.Status == channels.Accepted && !has {
						t.Fatalf("sent %+v, but at the provider: %v", sent, has)
					}
				}
				if got := w.sim.Tally().Line("line one"); got.Doubled != 0 || got.Taken > n {
					t.Errorf("tally %+v", got)
				}
			})
		})
	}
}

func containsKey(w *world, id int64) bool {
	for _, k := range w.sim.Tally().Keys("line one") {
		if k.Key == attempt(id, "").ID.Ref.String() {
			return true
		}
	}
	return false
}

func TestDriver_ReportsTheHealthOfTheChannel(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		settings weir.Settings
		want     channels.Status
	}{
		{"up", settings(), channels.Status{Health: weir.Up}},
		{"up by number", settings("channel", nil, "channel_id", 3.0), channels.Status{Health: weir.Up}},
		{"disabled", settings("channel", "off"), channels.Status{Health: weir.Down, Reason: "channel disabled"}},
		{"down", settings("channel", "ill"), channels.Status{Health: weir.Down, Reason: "reported down: Registration failed for [number]: x"}},
		{"no such channel", settings("channel", "none/such"), channels.Status{Health: weir.Erring, Reason: "not found at the provider"}},
		{"stale token", settings("username", nil, "password", nil, "token", "stale"), channels.Status{Health: weir.Erring, Reason: "credentials refused"}},
		{"unreachable", settings("base_url", "http://nowhere.test"), channels.Status{Health: weir.Erring, Reason: "connection refused"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run(t, options(), c.settings, func(w *world) {
				if d := cmp.Diff(c.want, w.driver.Status(w.t.Context())); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if err := w.driver.Prepare(w.t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
	if got := newDriver(t, settings(), &canned{status: 200, body: "[]"}).Status(t.Context()); got.Health != weir.Erring {
		t.Errorf("an answer that is no channel: %+v", got)
	}
}

func TestDriver_ChecksItsSettings(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		settings weir.Settings
		want     []string // pointer and code
	}{
		{"right", settings(), nil},
		{"nothing", weir.Settings{}, []string{"/base_url required", "/token required", "/channel required"}},
		{"base_url with credentials", settings("base_url", "http://u:p@x"), []string{"/base_url format"}},
		{"token and password", settings("token", "x"), []string{"/token conflict"}},
		{"no credentials", settings("username", nil, "password", nil), []string{"/token required"}},
		{"no password", settings("password", nil), []string{"/password required"}},
		{"no username", settings("username", nil), []string{"/username required"}},
		{"no channel", settings("channel", nil), []string{"/channel required"}},
		{"two channels", settings("channel_id", 3.0), []string{"/channel_id conflict"}},
		{"channel zero", settings("channel", nil, "channel_id", 0.0), []string{"/channel_id range"}},
		{"all at once", settings("base_url", "http://x?y", "channel", nil, "password", nil), []string{"/base_url format", "/password required", "/channel required"}},
	}
	for _, c := range cases {
		kind := verboice.Type()
		var got []string
		for _, e := range kind.CheckSettings(c.settings, 10) {
			got = append(got, e.Pointer+" "+e.Code)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	for _, s := range []weir.Settings{{}, settings("channel", nil)} {
		if _, err := verboice.Type().New(channels.Config{Settings: s, HTTP: http.DefaultClient}); err == nil {
			t.Errorf("a driver was made from %v", s)
		}
	}
	if shown := func() weir.Settings { k := verboice.Type(); return k.Redact(settings("token", "t")) }(); shown["password"] != nil || shown["token"] != nil {
		t.Errorf("secrets are read back: %v", shown)
	}
}
