package twilio_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/twilio"
	"weir/channels/twilio/simulator"

	"github.com/google/go-cmp/cmp"
)

// received is a POST as it reaches the driver; the signature is over what signed
// names, which the test writes out.
func received(path, body, signed string) channels.Callback {
	r := httptest.NewRequest(http.MethodPost, callbackOf+path, strings.NewReader(body))
	h := hmac.New(sha1.New, []byte(token))
	_, _ = h.Write([]byte(signed))
	r.Header.Set("X-Twilio-Signature", base64.StdEncoding.EncodeToString(h.Sum(nil)))
	return callbackFrom(r)
}

const (
	sid    = "SM00000000000000000000000000000001"
	body   = "To=%2B15550001234&From=a&MessageSid=" + sid + "&MessageStatus=delivered&Empty=&X=b&X=a&X=b"
	signed = callbacks + "/message/7-1z-2?q=%20a" + "Empty" + "Froma" + "MessageSid" + sid + "MessageStatusdelivered" + "To+15550001234" + "XaXb"
)

func TestCallback_RefusesForgedSignatures(t *testing.T) {
	t.Parallel()
	d := driverOver(t, twilio.Type(), canned(""), textSettings())
	if got, err := d.ParseCallback(received("message/7-1z-2?q=%20a", body, signed)); err != nil || len(got.Reports) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	forged := func(what string, c channels.Callback) {
		t.Helper()
		got, err := d.ParseCallback(c)
		if !errors.Is(err, channels.ErrForged) || len(got.Reports) > 0 {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
	good := func() channels.Callback { return received("message/7-1z-2?q=%20a", body, signed) }
	for i := range len(signed) { // what was signed differs
		b := []byte(signed)
		b[i] ^= 1
		forged("signed byte", received("message/7-1z-2?q=%20a", body, string(b)))
	}
	for i := range body { // what arrives differs
		b := []byte(body)
		b[i] ^= 1
		c := received("message/7-1z-2?q=%20a", string(b), signed)
		if form, err := url.ParseQuery(string(b)); err == nil && form.Encode() == good().Form.Encode() {
			continue // the same parameters in another encoding
		}
		forged("byte of the body", c)
	}
	signature := good().Header.Get("X-Twilio-Signature")
	for i := range signature {
		b := []byte(signature)
		b[i] ^= 1
		c := good()
		c.Header.Set("X-Twilio-Signature", string(b))
		forged("byte of the signature", c)
	}
	target := good().Target
	for i := range target {
		b := []byte(target)
		b[i] ^= 1
		c := good()
		c.Target = string(b)
		forged("byte of the URL", c)
	}
	c := good()
	c.Header.Del("X-Twilio-Signature")
	forged("none", c)
	c = good()
	c.PublicURL = "http://weir.test"
	forged("the URL as the proxy rewrote it", c)
	c = good()
	c.Form.Set("New", "")
	forged("a parameter more", c)
	c = good()
	c.Form, c.Body = nil, nil
	forged("no body", c)
}

// Vectors of Twilio's own libraries.
func TestCallback_SignsAsTwiliosOwnLibraries(t *testing.T) {
	t.Parallel()
	const json = `{"property": "value", "boolean": true}`
	const sum = "&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
	form := url.Values{"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+14158675309"}, "Digits": {"1234"}, "From": {"+14158675309"}, "To": {"+18005551212"}}
	d := driverOver(t, twilio.Type(), canned(""), textSettings(weir.Settings{"auth_token": "12345"}))
	for name, tt := range map[string]struct {
		public, target string
		form           url.Values
		body           string
		signature      string
	}{
		"form":     {"https://mycompany.com", "/myapp.php?foo=1&bar=2", form, "", "RSOYDt4T1cUTdK1PDd93/VVr8B8="},
		"port":     {"http://mycompany.com:1234", "/myapp.php?foo=1&bar=2", form, "", "Zmvh+3yNM1Phv2jhDCwEM3q5ebU="},
		"repeated": {"https://mycompany.com", "/myapp.php?foo=1&bar=2", url.Values{"Sid": {"CA123"}, "SidAccount": {"AC123"}, "Digits": {"5678", "1234", "1234"}}, "", "IK+Dwps556ElfBT0I3Rgjkr1wJU="},
		"JSON":     {"https://mycompany.com", "/myapp.php?foo=1&bar=2" + sum, nil, json, "a9nBmqA0ju/hNViExpshrM61xv4="},
	} {
		u, _ := url.Parse(tt.target)
		c := channels.Callback{
			Method: "POST", Path: "other", Query: u.Query(), Form: tt.form, Body: []byte(tt.body), Header: http.Header{"X-Twilio-Signature": {tt.signature}},
			PublicURL: tt.public, Target: tt.target,
		}
		if _, err := d.ParseCallback(c); !errors.Is(err, channels.ErrPath) { // which is found out behind the signature
			t.Errorf("%s: %v", name, err)
		}
		if tt.body != "" {
			c.Body = []byte(tt.body + " ")
			if _, err := d.ParseCallback(c); !errors.Is(err, channels.ErrForged) {
				t.Errorf("%s: another body: %v", name, err)
			}
		}
	}
}

// unsigned is a driver that verifies nothing, for tests of the content.
func unsigned(t testing.TB, typ channels.Type, more ...weir.Settings) channels.Driver {
	return driverOver(t, typ, canned(""), with(textSettings(weir.Settings{
		"auth_token": nil, "api_key": "SK" + strings.Repeat("1", 32), "api_secret": "x", "unsigned_callbacks": true,
	}), more...))
}

func TestCallback_ReadsTheStatesOfMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status, code, final string
		outcome             weir.Outcome
		reason              string
		none                bool
	}{
		{"queued", "", "", "", "", false}, {"sending", "", "", "", "", false}, {"partially_delivered", "", "", "", "", false},
		{"sent", "", "", weir.Completed, "", false}, {"sent", "", "delivered", "", "", false},
		{"delivered", "", "delivered", weir.Completed, "", false}, {"read", "", "delivered", weir.Completed, "", false},
		{"undelivered", "30003", "", weir.Failed, "handset not reachable", false}, {"failed", "21610", "", weir.Failed, channels.OptedOut, false},
		{"failed", "63018", "", weir.Failed, channels.RateLimited, false}, {"failed", "30036", "", weir.Expired, channels.WindowClosed, false},
		{"undelivered", "30006", "", weir.Failed, channels.NumberNotUsable, false}, {"failed", "", "", weir.Failed, channels.FailedAtProvider, false},
		{"failed", "x", "", weir.Failed, channels.FailedAtProvider, false}, {"undelivered", "30007", "", weir.Failed, "filtered by the carrier", false},
		{"canceled", "", "", weir.Canceled, channels.CanceledAtProvider, false}, {"received", "", "", "", "", true}, {"new", "", "", "", "", true}, {"", "", "", "", "", true},
	} {
		got, err := unsigned(t, twilio.Type(), weir.Settings{"final_state": map[bool]any{true: "delivered"}[tt.final != ""]}).ParseCallback(channels.Callback{
			Method: "POST", Path: "message/7-1z-2", Form: url.Values{"MessageSid": {sid}, "MessageStatus": {tt.status}, "ErrorCode": {tt.code}}, At: at,
		})
		want := channels.CallbackResult{Reports: []weir.Report{{Attempt: ref, Outcome: tt.outcome, Reason: tt.reason, ProviderRef: sid, At: at}}}
		if tt.none {
			want = channels.CallbackResult{}
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%+v: %v %s", tt, err, diff)
		}
	}
}

var (
	at  = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ref = weir.AttemptRef{Ref: weir.Ref{Channel: 7, ID: 71}, Number: 2}
)

// The reference of a contact with several messages is not that of one of them.
func TestCallback_OneOfSeveralMessagesGivesNoReference(t *testing.T) {
	t.Parallel()
	got, err := unsigned(t, twilio.Type()).ParseCallback(channels.Callback{
		Method: "POST", Path: "message/7-1z-2/3", Form: url.Values{"MessageSid": {sid}, "MessageStatus": {"sent"}}, At: at,
	})
	want := channels.CallbackResult{Reports: []weir.Report{{Attempt: ref, Part: 3, Outcome: weir.Completed, At: at}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestCallback_ReadsTheStatesOfCalls(t *testing.T) {
	t.Parallel()
	const sid = "CA00000000000000000000000000000001"
	for _, tt := range []struct {
		status, by, sip string
		outcome         weir.Outcome
		reason          string
		answered, none  bool
	}{
		{"queued", "", "", "", "", false, false}, {"initiated", "", "", "", "", false, false}, {"ringing", "", "", "", "", false, false},
		{"in-progress", "", "", "", "", true, false}, {"completed", "", "200", weir.Completed, "", false, false},
		{"completed", "human", "", weir.Completed, "", false, false}, {"completed", "machine_end_beep", "", weir.Completed, channels.Machine, false, false},
		{"completed", "fax", "", weir.Completed, channels.Machine, false, false}, {"busy", "", "486", weir.Busy, "", false, false},
		{"no-answer", "", "487", weir.NoAnswer, "", false, false}, {"failed", "", "404", weir.Failed, channels.NumberNotUsable, false, false},
		{"failed", "", "484", weir.Failed, channels.NumberNotUsable, false, false}, {"failed", "", "503", weir.Failed, channels.FailedAtProvider, false, false},
		{"canceled", "", "", weir.Canceled, channels.CanceledAtProvider, false, false}, {"new", "", "", "", "", false, true},
	} {
		got, err := unsigned(t, twilio.VoiceType()).ParseCallback(channels.Callback{
			Method: "GET", Path: "call/7-1z-2", At: at,
			Query: url.Values{"CallSid": {sid}, "CallStatus": {tt.status}, "AnsweredBy": {tt.by}, "SipResponseCode": {tt.sip}, "CallDuration": {"49"}, "Duration": {"1"}},
		})
		want := channels.CallbackResult{Reports: []weir.Report{{
			Attempt: ref, Part: weir.WholeContact, Outcome: tt.outcome, Reason: tt.reason, ProviderRef: sid, At: at, Answered: tt.answered,
		}}}
		if tt.outcome != "" {
			want.Reports[0].Result.CallSeconds = 49
		}
		if tt.none {
			want = channels.CallbackResult{}
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%+v: %v %s", tt, err, diff)
		}
	}
}

func TestCallback_StrangeOnesReportNothing(t *testing.T) {
	t.Parallel()
	fine := url.Values{"MessageSid": {sid}, "MessageStatus": {"sent"}, "From": {number}}
	for name, tt := range map[string]struct {
		c     channels.Callback
		wrong bool
	}{
		"unknown path": {channels.Callback{Method: "POST", Path: "other", Form: fine}, true},
		"no path":      {channels.Callback{Method: "POST", Form: fine}, true},
		"long path":    {channels.Callback{Method: "POST", Path: "message/7-1z-2/0/0", Form: fine}, true},
		"method":       {channels.Callback{Method: "PUT", Path: "message/7-1z-2", Form: fine}, true},
		"no attempt":   {channels.Callback{Method: "POST", Path: "message/x", Form: fine}, true},
		"part":         {channels.Callback{Method: "POST", Path: "message/7-1z-2/00", Form: fine}, true},
		"part 14":      {channels.Callback{Method: "POST", Path: "message/7-1z-2/14", Form: fine}, true},
		"negative":     {channels.Callback{Method: "POST", Path: "message/7-1z-2/-1", Form: fine}, true},
		"no SID":       {channels.Callback{Method: "POST", Path: "message/7-1z-2", Form: url.Values{"MessageStatus": {"sent"}}}, true},
		"in, no SID":   {channels.Callback{Method: "POST", Path: "incoming", Form: url.Values{"From": {number}}}, true},
		"in, no From":  {channels.Callback{Method: "POST", Path: "incoming", Form: url.Values{"MessageSid": {sid}}}, true},
	} {
		got, err := unsigned(t, twilio.Type()).ParseCallback(tt.c)
		if (err != nil) != tt.wrong || len(got.Reports)+len(got.Incoming) > 0 {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if err != nil {
			keepsSecrets(t, err.Error())
		}
	}
}

// Callbacks as the simulator makes them, through the proxy: late, doubled, swapped,
// lost, refused and repeated.
func TestCallback_ArrivesDespiteFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		voice           bool
		outcome, faults string
		status          func(int) int
		want            string
	}{
		"delivered":   {false, "delivered", "", nil, "- completed"},
		"undelivered": {false, "undelivered=30005", "", nil, "- failed"},
		"opted out":   {false, "failed=21610", "", nil, "failed"},
		"read":        {false, "read", "", nil, "- completed completed"},
		"reversed":    {false, "reversed", "", nil, "completed -"},
		"silent":      {false, "silent", "", nil, ""},
		"doubled":     {false, "failed", "duplicate@status", nil, "failed failed"},
		"swapped":     {false, "delivered", "swap@status:#1", nil, "completed -"},
		"late":        {false, "delivered", "delay=5s@status:#1", nil, "completed -"},
		"lost":        {false, "delivered", "drop@status", nil, ""},
		"answer cut":  {false, "delivered", "cut@send", nil, "- completed"},
		"our 503":     {false, "failed", "", func(n int) int { return map[bool]int{true: 503}[n <= 5] }, "failed"},
		"our 400":     {false, "failed", "", func(n int) int { return map[bool]int{true: 400}[n <= 1] }, ""},
		"call":        {true, "completed", "", nil, "- - - completed"},
		"busy":        {true, "busy", "", nil, "- - busy"},
		"no answer":   {true, "no-answer", "", nil, "- - no_answer"},
		"call failed": {true, "failed", "", nil, "- - failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typ, a := twilio.Type(), attempt("hello")
			if tt.voice {
				typ, a = twilio.VoiceType(), callAttempt()
			}
			settings := textSettings()
			if !tt.voice {
				settings["final_state"] = "delivered"
			}
			var faults []string
			if tt.faults != "" {
				faults = []string{tt.faults}
			}
			inWorld(t, typ, simulator.Options{Outcomes: []string{tt.outcome}, Faults: faults}, settings, func(w *world) {
				w.status = tt.status
				w.send(a)
				w.after(time.Minute)
				if got := w.outcomes(); got != tt.want || w.forged > 0 {
					t.Errorf("got %q, want %q, %d forged", got, tt.want, w.forged)
				}
			})
		})
	}
}

func TestCallback_IncomingIsAnsweredWithoutText(t *testing.T) {
	t.Parallel()
	inWorld(t, twilio.Type(), simulator.Options{}, textSettings(), func(w *world) {
		if err := w.sim.Receive(simulator.Incoming{From: "whatsapp:" + number, To: "+15559990000", Body: "yes & ☃"}); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		if len(w.results) != 1 || len(w.results[0].Incoming) != 1 {
			t.Fatalf("got %+v", w.results)
		}
		got := w.results[0].Incoming[0]
		got.ReceivedAt = time.Time{}
		want := weir.Incoming{
			From: number, To: "+15559990000", Body: "yes & ☃", GUID: sid,
			Fields: map[string]string{"NumMedia": "0", "NumSegments": "1", "SmsStatus": "received", "ApiVersion": "2010-04-01"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if n := w.sim.Records().Answered; n != 0 {
			t.Errorf("%d answers have a body", n)
		}
	})
}

func FuzzCallback(f *testing.F) {
	f.Add("POST", "message/7-1z-2/1", body)
	f.Add("GET", "call/7-1z-2", "CallSid=CA00000000000000000000000000000001&CallStatus=busy")
	f.Add("POST", "incoming", "From=1&Body=%ff&MessageSid="+sid)
	f.Fuzz(func(t *testing.T, method, path, form string) {
		values, _ := url.ParseQuery(form)
		for _, typ := range []channels.Type{twilio.Type(), twilio.VoiceType()} {
			c := channels.Callback{Method: method, Path: path, Form: values, Query: values, Body: []byte(form), Header: http.Header{}, Target: "/" + path}
			got, err := unsigned(t, typ).ParseCallback(c)
			for _, r := range got.Reports {
				if err != nil || r.Attempt.ID == 0 || r.Part < weir.WholeContact || r.Part > 13 {
					t.Errorf("got %+v, %v", r, err)
				}
			}
			if _, err := driverOver(t, typ, canned(""), textSettings()).ParseCallback(c); err == nil {
				t.Error("taken without a signature")
			}
		}
	})
}
