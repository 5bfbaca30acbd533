package twilio_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/twilio"
	"weir/channels/twilio/simulator"

	"github.com/google/go-cmp/cmp"
)

func TestSend_GivesAMessageWhatWasAsked(t *testing.T) {
	t.Parallel()
	const status = callbacks + "/message/7-1z-2"
	const policy = "#rc=5&rp=ct,rt,5xx&tt=15000"
	for name, tt := range map[string]struct {
		settings weir.Settings
		change   func(*channels.Attempt)
		want     []map[string][]string
	}{
		"SMS": {nil, nil, []map[string][]string{{"To": {number}, "From": {"+15559990000"}, "Body": {"hello & good-bye"}, "StatusCallback": {status + policy}}}},
		"without plus": {nil, func(a *channels.Attempt) { a.To = number[1:] }, []map[string][]string{
			{"To": {number}, "From": {"+15559990000"}, "Body": {"hello & good-bye"}, "StatusCallback": {status + policy}},
		}},
		"WhatsApp": {weir.Settings{"from": "whatsapp:+15559990000"}, nil, []map[string][]string{
			{"To": {"whatsapp:" + number}, "From": {"whatsapp:+15559990000"}, "Body": {"hello & good-bye"}, "StatusCallback": {status + policy}},
		}},
		"service and window": {
			weir.Settings{"from": nil, "messaging_service_sid": "MG" + strings.Repeat("0", 32)},
			func(a *channels.Attempt) { a.NotAfter = time.Now().Add(90 * time.Second) },
			[]map[string][]string{{
				"To": {number}, "MessagingServiceSid": {"MG" + strings.Repeat("0", 32)}, "Body": {"hello & good-bye"},
				"StatusCallback": {status + policy}, "ValidityPeriod": {"90"},
			}},
		},
		"long window, two messages": {
			nil, func(a *channels.Attempt) { a.Messages, a.NotAfter = []string{"a", "b"}, time.Now().Add(48*time.Hour) },
			[]map[string][]string{
				{"To": {number}, "From": {"+15559990000"}, "Body": {"a"}, "StatusCallback": {status + "/0" + policy}, "ValidityPeriod": {"36000"}},
				{"To": {number}, "From": {"+15559990000"}, "Body": {"b"}, "StatusCallback": {status + "/1" + policy}, "ValidityPeriod": {"36000"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, twilio.Type(), simulator.Options{}, textSettings(tt.settings), func(w *world) {
				a := attempt("hello & good-bye")
				if tt.change != nil {
					tt.change(&a)
				}
				if s := w.send(a); s.Status != channels.Accepted {
					t.Fatalf("got %+v", s)
				}
				var got []map[string][]string
				for _, r := range w.sim.Records().Requests {
					got = append(got, r.Form)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestSend_GivesACallWhatWasAsked(t *testing.T) {
	t.Parallel()
	base := func(more map[string][]string) map[string][]string {
		form := map[string][]string{
			"To": {number}, "From": {"+15559990000"}, "Timeout": {"60"}, "StatusCallback": {callbacks + "/call/7-1z-2#rc=5&rp=ct,rt,5xx&tt=15000"},
			"StatusCallbackEvent": {"initiated", "ringing", "answered", "completed"},
		}
		for k, v := range more {
			form[k] = v
		}
		return form
	}
	const twiml = "<Response><Say>hello</Say></Response>"
	for name, tt := range map[string]struct {
		settings weir.Settings
		change   func(*channels.Attempt)
		want     map[string][]string // nil: refused
		reason   string
	}{
		"TwiML": {nil, nil, base(map[string][]string{"Twiml": {twiml}}), ""},
		"URL": {nil, func(a *channels.Attempt) { a.Call = &weir.Call{CallbackURL: "https://x.test/flow?a=b"} },
			base(map[string][]string{"Url": {"https://x.test/flow?a=b"}}), ""},
		"window": {nil, func(a *channels.Attempt) { a.NotAfter = time.Now().Add(20 * time.Second) },
			base(map[string][]string{"Twiml": {twiml}, "Timeout": {"20"}}), ""},
		"settings": {weir.Settings{"ring_seconds": 30.0, "machine_detection": "Enable"}, nil,
			base(map[string][]string{"Twiml": {twiml}, "Timeout": {"30"}, "MachineDetection": {"Enable"}}), ""},
		"flow":      {nil, func(a *channels.Attempt) { a.Call = &weir.Call{CallFlowID: 5} }, nil, "Twilio has no call flows: give callback_url or twiml"},
		"too long":  {nil, func(a *channels.Attempt) { a.Call = &weir.Call{TwiML: strings.Repeat("é", 4001)} }, nil, channels.MessageNotAcceptable},
		"no call":   {nil, func(a *channels.Attempt) { a.Call = nil }, nil, "the contact has no call"},
		"past":      {nil, func(a *channels.Attempt) { a.NotAfter = time.Now() }, nil, channels.WindowClosed},
		"just fits": {nil, func(a *channels.Attempt) { a.Call = &weir.Call{TwiML: strings.Repeat("é", 4000)} }, base(map[string][]string{"Twiml": {strings.Repeat("é", 4000)}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, twilio.VoiceType(), simulator.Options{}, voiceSettings(tt.settings), func(w *world) {
				a := callAttempt()
				if tt.change != nil {
					tt.change(&a)
				}
				s := w.send(a)
				requests := w.sim.Records().Requests
				if tt.want == nil {
					if s.Status != channels.Refused || s.Reason != tt.reason || len(requests) > 0 {
						t.Errorf("got %+v, %d requests", s, len(requests))
					}
					return
				}
				if s.Status != channels.Accepted || len(requests) != 1 {
					t.Fatalf("got %+v", s)
				}
				if diff := cmp.Diff(tt.want, requests[0].Form); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// Codes and statuses of answers that are not a success.
func TestSend_UnderstandsEachFailure(t *testing.T) {
	t.Parallel()
	refused := func(reason string) channels.SendResult {
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: reason}
	}
	fault := func(reason string, after time.Duration) channels.SendResult {
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: reason, RetryAfter: after}
	}
	unclear := func(reason string, answered bool) channels.SendResult {
		return channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: reason, Answered: answered}
	}
	type answer struct{ status, code, after int }
	tests := map[answer]channels.SendResult{
		{400, 21610, 0}: refused(channels.OptedOut), {400, 21654, 0}: refused(channels.MessageNotAcceptable),
		{429, 20429, 0}: fault(channels.RateLimited, 0), {429, 20429, 7}: fault(channels.RateLimited, 7*time.Second), {429, 0, 0}: fault(channels.RateLimited, 0),
		{401, 20003, 0}: fault("credentials refused", 0), {401, 0, 0}: fault("credentials refused", 0), {403, 0, 0}: fault("credentials refused", 0),
		{403, 70051, 0}: fault("credentials refused", 0), {404, 20404, 0}: fault("not found at the provider", 0),
		{403, 20005, 0}: fault("account not active", time.Minute), {400, 10001, 0}: fault("account not active", time.Minute),
		{400, 63038, 0}: fault("daily limit of the account", time.Minute), {429, 63038, 0}: fault(channels.RateLimited, 0),
		{400, 63018, 0}: {Status: channels.NotSent, Later: true, Reason: channels.RateLimited},
		{429, 63018, 7}: {Status: channels.NotSent, Later: true, Reason: channels.RateLimited, RetryAfter: 7 * time.Second},
		{400, 99999, 0}: {Status: channels.NotSent, Reason: "request refused"}, {400, 0, 0}: {Status: channels.NotSent, Reason: "request refused"},
		{408, 0, 0}: unclear("request refused", false), {500, 0, 0}: unclear("provider error", false), {500, 20500, 0}: unclear("provider error", true),
		{502, 0, 0}: unclear("gateway error", false), {503, 0, 0}: unclear("provider unavailable", false), {503, 20503, 0}: unclear("provider unavailable", true),
		{503, 21610, 0}: unclear("provider unavailable", true), {504, 0, 0}: unclear("gateway error", false),
		{307, 0, 0}: fault("provider redirects", 0), {200, 0, 0}: unclear("answer not understood", true),
	}
	for _, code := range []int{21211, 21214, 21217, 21614, 21635, 13224, 13225, 21612, 21201, 21202, 21216, 21265, 21266, 63003, 63024, 63031} {
		tests[answer{400, code, 0}] = refused(channels.NumberNotUsable)
	}
	for _, code := range []int{21617, 21602, 21604, 21619, 21656, 63028, 63027} {
		tests[answer{400, code, 0}] = refused(channels.MessageNotAcceptable)
	}
	for _, code := range []int{21606, 21659, 21660, 21661, 21212, 21213, 21210, 21267, 21601, 21603, 21701, 21703, 21704, 63001, 63007, 63020} {
		tests[answer{400, code, 0}] = fault("sender not usable", 0)
	}
	for _, code := range []int{21611, 22005, 10004} {
		tests[answer{400, code, 0}] = fault(channels.RateLimited, time.Minute)
	}
	// About the person: https://www.twilio.com/docs/api/errors
	for _, status := range []int{400, 403} {
		for _, code := range []int{21408, 21215, 13227, 21657} {
			tests[answer{status, code, 0}] = channels.SendResult{Status: channels.NotSent, Reason: "region not permitted"}
		}
		for _, code := range []int{21608, 21219, 63015} {
			tests[answer{status, code, 0}] = channels.SendResult{Status: channels.NotSent, Reason: "recipient not verified"}
		}
	}
	for in, want := range tests {
		head := fmt.Sprintf("HTTP/1.1 %d X\r\n", in.status)
		if in.after > 0 {
			head += fmt.Sprintf("Retry-After: %d\r\n", in.after)
		}
		body := "<html>"
		if in.code > 0 {
			body = fmt.Sprintf(`{"code": %d, "message": "to %s", "status": %d}`, in.code, number, in.status)
		}
		got := sendTo(t, canned(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", in, diff)
		}
		keepsSecrets(t, got.Reason)
	}
}

// canned answers every request with the same bytes.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(strings.NewReader(string(c))), r)
}

func driverOver(t testing.TB, typ channels.Type, transport http.RoundTripper, settings weir.Settings) channels.Driver {
	t.Helper()
	d, err := typ.New(channels.Config{Settings: settings, CallbackURL: callbacks, HTTP: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sendTo(t testing.TB, transport http.RoundTripper) channels.SendResult {
	t.Helper()
	return driverOver(t, twilio.Type(), transport, textSettings()).Send(t.Context(), attempt("hello"))
}

// An answer that was cut anywhere is unclear: Twilio has the message.
func TestSend_AnswerCutAnywhereIsUnclear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ  channels.Type
		sid  string
		send channels.Attempt
	}{
		{twilio.Type(), "SM" + strings.Repeat("a", 32), attempt("hello")},
		{twilio.VoiceType(), "CA" + strings.Repeat("a", 32), callAttempt()},
	} {
		body := `{"sid": "` + c.sid + `", "status": "queued", "error_code": null}`
		whole := fmt.Sprintf("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		for n := range len(whole) {
			got := driverOver(t, c.typ, canned(whole[:n]), textSettings()).Send(t.Context(), c.send)
			if got.Status != channels.Unclear || got.Answered {
				t.Fatalf("cut at %d: got %+v", n, got)
			}
		}
		if got := driverOver(t, c.typ, canned(whole), textSettings()).Send(t.Context(), c.send); got.Status != channels.Accepted || got.ProviderRef != c.sid {
			t.Errorf("whole: got %+v", got)
		}
	}
}

func TestSend_EachFaultHasItsResult(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]channels.SendStatus{
		"cut@send": channels.Unclear, "reset@send": channels.Unclear, "hang@send": channels.Unclear, "late=20s@send": channels.Unclear,
		"after=503@send": channels.Unclear, "status=503@send": channels.Unclear, "status=429@send": channels.NotSent, "late=2s@send": channels.Accepted,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			inWorld(t, twilio.Type(), simulator.Options{Faults: []string{rule}}, textSettings(), func(w *world) {
				got := w.send(attempt("hello"))
				if got.Status != want {
					t.Errorf("got %+v", got)
				}
				keepsSecrets(t, got.Reason)
				w.after(time.Minute)
			})
		})
	}
	for name, settings := range map[string]weir.Settings{"token": {"auth_token": "wrong"}, "account": {"account_sid": "AC" + strings.Repeat("f", 32)}} {
		inWorld(t, twilio.Type(), simulator.Options{}, textSettings(settings), func(w *world) {
			if got := w.send(attempt("hello")); got.Status != channels.NotSent || !got.ChannelFault || got.Reason != "credentials refused" {
				t.Errorf("%s: got %+v", name, got)
			}
			if got := w.driver.Status(w.t.Context()); got.Health != weir.Erring {
				t.Errorf("%s: got %+v", name, got)
			}
		})
	}
}

func TestStatus_FollowsTheAccount(t *testing.T) {
	t.Parallel()
	inWorld(t, twilio.Type(), simulator.Options{}, textSettings(), func(w *world) {
		if got := w.driver.Status(w.t.Context()); got.Health != weir.Up {
			t.Errorf("got %+v", got)
		}
		if err := w.driver.Prepare(w.t.Context()); err != nil {
			t.Error(err)
		}
	})
	inWorld(t, twilio.Type(), simulator.Options{APIKey: "SK" + strings.Repeat("1", 32), APISecret: "key"},
		textSettings(weir.Settings{"api_key": "SK" + strings.Repeat("1", 32), "api_secret": "key"}), func(w *world) {
			if got := w.driver.Status(w.t.Context()); got.Health != weir.Up {
				t.Errorf("with a key: got %+v", got)
			}
		})
	body := `{"sid": "` + simulator.AccountSID + `", "status": "suspended"}`
	got := driverOver(t, twilio.Type(), canned(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)), textSettings()).Status(t.Context())
	if got.Health != weir.Down || got.Reason != "account not active" {
		t.Errorf("suspended: got %+v", got)
	}
}

// Twilio lists numbers with their plus: one form is stored, sent and looked for.
func TestAddress_HasOneForm(t *testing.T) {
	t.Parallel()
	for _, typ := range []channels.Type{twilio.Type(), twilio.VoiceType()} {
		for in, want := range map[string]string{number: number, number[1:]: number, "nobody": "", "": "", "+": ""} {
			if got, err := typ.CanonicalAddress(in, ""); got != want || (err == nil) != (want != "") {
				t.Errorf("%q: got %q, %v", in, got, err)
			}
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(201, `{"sid":"SM00000000000000000000000000000000"}`)
	f.Add(400, `{"code":21610,"message":"x"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		status = 200 + (status%400+400)%400
		got := sendTo(t, answering{status, body})
		if got.Status == channels.Accepted && (status >= 300 || !strings.Contains(body, got.ProviderRef)) || got.Status == channels.NotSent && status >= 500 {
			t.Errorf("%d %q: got %+v", status, body, got)
		}
		_ = driverOver(t, twilio.VoiceType(), answering{status, body}, textSettings()).Query(t.Context(), callAttempt())
		_ = driverOver(t, twilio.Type(), answering{status, body}, textSettings()).Query(t.Context(), attempt("hello", "b"))
	})
}

type answering struct {
	status int
	body   string
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func TestSettings_AreChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		typ    channels.Type
		change weir.Settings
		want   string // pointer and code
	}{
		"fine":              {twilio.Type(), weir.Settings{"final_state": "delivered"}, ""},
		"default address":   {twilio.Type(), weir.Settings{"base_url": nil}, ""},
		"account":           {twilio.Type(), weir.Settings{"account_sid": "AC12"}, "/account_sid format"},
		"base URL":          {twilio.Type(), weir.Settings{"base_url": "http://u:p@x.test"}, "/base_url format"},
		"no sender":         {twilio.Type(), weir.Settings{"from": nil}, "/from required"},
		"service":           {twilio.Type(), weir.Settings{"messaging_service_sid": "x"}, "/messaging_service_sid format"},
		"final state":       {twilio.Type(), weir.Settings{"final_state": "read"}, "/final_state value"},
		"blank token":       {twilio.Type(), weir.Settings{"auth_token": " "}, "/auth_token format"},
		"token of a line":   {twilio.VoiceType(), weir.Settings{"auth_token": "abc\n"}, "/auth_token format"},
		"no credentials":    {twilio.Type(), weir.Settings{"auth_token": nil}, "/auth_token required"},
		"key alone":         {twilio.Type(), weir.Settings{"api_key": "SK" + strings.Repeat("1", 32)}, "/api_secret required"},
		"secret alone":      {twilio.Type(), weir.Settings{"api_secret": "x"}, "/api_key required"},
		"key, no token":     {twilio.Type(), weir.Settings{"auth_token": nil, "api_key": "SK" + strings.Repeat("1", 32), "api_secret": "x"}, "/auth_token required"},
		"unsigned":          {twilio.Type(), weir.Settings{"auth_token": nil, "api_key": "SK" + strings.Repeat("1", 32), "api_secret": "x", "unsigned_callbacks": true}, ""},
		"unsigned, token":   {twilio.Type(), weir.Settings{"unsigned_callbacks": true}, "/unsigned_callbacks conflict"},
		"voice":             {twilio.VoiceType(), nil, ""},
		"voice, no caller":  {twilio.VoiceType(), weir.Settings{"from": nil}, "/from required"},
		"ring":              {twilio.VoiceType(), weir.Settings{"ring_seconds": 601.0}, "/ring_seconds range"},
		"machine detection": {twilio.VoiceType(), weir.Settings{"machine_detection": "yes"}, "/machine_detection value"},
	} {
		var got []string
		for _, e := range tt.typ.CheckSettings(textSettings(tt.change), 10) {
			got = append(got, e.Pointer+" "+e.Code)
			keepsSecrets(t, e.Detail)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: got %v, want %q", name, got, tt.want)
		}
	}
	for _, typ := range []channels.Type{twilio.Type(), twilio.VoiceType()} {
		if _, err := typ.New(channels.Config{Settings: textSettings()}); err == nil {
			t.Error("a driver without a client")
		}
		if _, err := typ.New(channels.Config{Settings: weir.Settings{}, HTTP: &http.Client{}}); err == nil {
			t.Error("a driver without settings")
		}
	}
}
