package verboice_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"weir"
	"weir/channels"

	"github.com/google/go-cmp/cmp"
)

func TestCallback_IsReadAsReports(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	ours := weir.AttemptRef{Ref: weir.Ref{Channel: 1, ID: 35}, Number: 2}
	report := func(outcome weir.Outcome, reason string) []weir.Report {
		return []weir.Report{{Attempt: ours, Part: weir.WholeContact, Outcome: outcome, ProviderRef: "55", Reason: reason, At: now}}
	}
	answered := func(outcome weir.Outcome, reason string) []weir.Report {
		list := report(outcome, reason)
		list[0].Answered = true
		return list
	}
	lasting := func(seconds int, outcome weir.Outcome, reason string) []weir.Report {
		list := report(outcome, reason)
		list[0].Result.CallSeconds = seconds
		return list
	}
	cases := []struct {
		name, path, query string
		want              []weir.Report
		fails             bool
	}{
		{"ringing", "status/1-z-2", "CallStatus=ringing&CallSid=55&From=1&CallDuration=0", report("", ""), false},
		{"in progress", "status/1-z-2", "CallStatus=in-progress&CallSid=55", answered("", ""), false},
		{"completed", "status/1-z-2", "CallStatus=completed&CallSid=55&CallDuration=12", lasting(12, weir.Completed, ""), false},
		{"in progress for a while", "status/1-z-2", "CallStatus=in-progress&CallSid=55&CallDuration=12", answered("", ""), false},
		{"failed after the answer", "status/1-z-2", "CallStatus=failed&CallSid=55&CallDuration=86400", lasting(86400, weir.Failed, "failed at the provider"), false},
		{"longer than a day", "status/1-z-2", "CallStatus=completed&CallSid=55&CallDuration=86401", report(weir.Completed, ""), false},
		{"negative duration", "status/1-z-2", "CallStatus=completed&CallSid=55&CallDuration=-5", report(weir.Completed, ""), false},
		{"strange duration", "status/1-z-2", "CallStatus=completed&CallSid=55&CallDuration=1e3", report(weir.Completed, ""), false},
		{"busy", "status/1-z-2", "CallStatus=busy&CallSid=55", report(weir.Busy, ""), false},
		{"no answer", "status/1-z-2", "CallStatus=no-answer&CallSid=55", report(weir.NoAnswer, ""), false},
		{"failed", "status/1-z-2", "CallStatus=failed&CallSid=55", report(weir.Failed, "failed at the provider"), false},
		{"hung up", "status/1-z-2", "CallStatus=failed&CallSid=55&CallStatusReason=Busy", answered(weir.Failed, "hung up"), false},
		{"reason and code", "status/1-z-2", "CallStatus=failed&CallSid=55&CallStatusReason=Number%0Achanged&CallStatusCode=ISDN:22", report(weir.Failed, "Number changed (ISDN:22)"), false},
		{"a number in the reason", "status/1-z-2", "CallStatus=failed&CallSid=55&CallStatusReason=The+%2B1+(555)+000-1111+is+bad&CallStatusCode=15550001111", report(weir.Failed, "The [number] is bad"), false},
		{"expired", "status/1-z-2", "CallStatus=expired&CallSid=55", report(weir.Expired, ""), false},
		{"something new", "status/1-z-2", "CallStatus=humming&CallSid=55", report("", ""), false},
		{"not an attempt of ours", "status/respondent-7", "CallStatus=completed&CallSid=55", nil, false},
		{"attempt zero", "status/1-z-0", "CallStatus=completed&CallSid=55", nil, false},
		{"no status", "status/1-z-2", "CallSid=55", nil, true},
		{"strange call", "status/1-z-2", "CallStatus=completed&CallSid=../1", nil, true},
		{"no attempt", "status/", "CallStatus=completed", nil, true},
		{"deeper", "status/1-z-2/x", "CallStatus=completed", nil, true},
		{"elsewhere", "incoming", "CallStatus=completed", nil, true},
	}
	d := newDriver(t, settings(), nil)
	for _, c := range cases {
		values, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		for _, cb := range []channels.Callback{
			{Method: http.MethodGet, Path: c.path, Query: values, At: now},
			{Method: http.MethodPost, Path: c.path, Form: values, At: now},
		} {
			got, err := d.ParseCallback(cb)
			if (err != nil) != c.fails {
				t.Errorf("%s %s: error %v", cb.Method, c.name, err)
			}
			if diff := cmp.Diff(channels.CallbackResult{Reports: c.want}, got); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", cb.Method, c.name, diff)
			}
		}
	}
	if _, err := d.ParseCallback(channels.Callback{Method: http.MethodDelete, Path: "status/1-z-2", Query: url.Values{"CallStatus": {"busy"}}}); err == nil {
		t.Error("DELETE was read")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("GET", "status/1-z-2", "CallStatus=completed&CallSid=55&CallDuration=12", "")
	f.Add("POST", "status/1-z-2", "", "CallStatus=failed&CallStatusReason=Busy&CallSid=1")
	f.Add("GET", "status/1-z-2", "CallStatus=failed&CallStatusReason=+1+555+000+1111&CallStatusCode=%ff", "")
	f.Add("GET", "status//", "CallStatus", "")
	f.Fuzz(func(t *testing.T, method, path, query, form string) {
		d := newDriver(t, settings(), nil)
		q, _ := url.ParseQuery(query)
		b, _ := url.ParseQuery(form)
		got, err := d.ParseCallback(channels.Callback{Method: method, Path: path, Query: q, Form: b, At: time.Unix(1, 0)})
		if err != nil {
			if len(got.Reports) > 0 || strings.Contains(err.Error(), path) && len(path) > 30 {
				t.Errorf("error %v beside %+v", err, got)
			}
			return
		}
		if len(got.Reports) > 1 || len(got.Incoming) > 0 || got.Body != nil {
			t.Errorf("read %+v", got)
		}
		for _, r := range got.Reports {
			if path != "status/"+r.Attempt.String() || r.Attempt.Number < 1 {
				t.Errorf("attempt %v from %q", r.Attempt, path)
			}
			if !utf8.ValidString(r.Reason) || len(r.Reason) > 600 || strings.ContainsAny(r.Reason, "\x00\r\n") || strings.Trim(r.ProviderRef, "0123456789") != "" {
				t.Errorf("report %+v", r)
			}
		}
	})
}

// Whatever a server answers, the driver returns a complete result.
func FuzzAnswers(f *testing.F) {
	f.Add(200, []byte(`{"call_id": 55, "state": "queued"}`))
	f.Add(400, []byte(`{"error":"Channel is disabled"}`))
	f.Add(200, []byte(`{"id":3,"enabled":false,"status":{"ok":false,"messages":["x"]}}`))
	f.Add(200, []byte(`{"call_id":1e99}`))
	f.Add(404, []byte{})
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		d := newDriver(t, settings(), &canned{status: status, body: string(body)})
		a := attempt(1, "15550001")
		sent := d.Send(t.Context(), a)
		switch sent.Status {
		case channels.Accepted:
			if status/100 != 2 || sent.ProviderRef == "" {
				t.Errorf("%d %q: %+v", status, body, sent)
			}
		case channels.Refused:
			if sent.Outcome != weir.Failed && sent.Outcome != weir.Expired || sent.Reason == "" {
				t.Errorf("%d %q: %+v", status, body, sent)
			}
		case channels.NotSent, channels.Unclear:
			if sent.Reason == "" || sent.Status == channels.NotSent && (status/100 == 2 || status == 500) {
				t.Errorf("%d %q: %+v", status, body, sent)
			}
		default:
			t.Errorf("%d %q: %+v", status, body, sent)
		}
		a.ProviderRef = "55"
		if answer := d.Query(t.Context(), a); answer.Status == 0 || answer.Status == channels.Finished && len(answer.Reports) != 1 || answer.Status == channels.Absent {
			t.Errorf("%d %q: %+v", status, body, answer)
		}
		d.Cancel(t.Context(), a)
		if s := d.Status(t.Context()); s.Health != weir.Up && s.Reason == "" || len(s.Reason) > 2000 {
			t.Errorf("%d %q: %+v", status, body, s)
		}
	})
}
