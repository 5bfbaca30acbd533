package simulator

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/channels/simulation"
)

// report makes the status callback of a message or call. The caller holds the
// lock.
func (s *Server) report(x *resource, status string) {
	target := x.form.Get("StatusCallback")
	if target == "" {
		return
	}
	form := url.Values{
		"AccountSid": {s.options.AccountSID}, "To": {x.form.Get("To")}, "From": {x.form.Get("From")}, "ApiVersion": {"2010-04-01"},
	}
	if x.kind == messages {
		for _, prefix := range []string{"Message", "Sms"} {
			form.Set(prefix+"Sid", x.sid)
			form.Set(prefix+"Status", status)
		}
		if v := x.form.Get("MessagingServiceSid"); v != "" {
			form.Set("MessagingServiceSid", v)
		}
		if x.code != 0 {
			form.Set("ErrorCode", strconv.Itoa(x.code))
		}
	} else {
		s.reportCall(x, status, form)
	}
	s.call(opStatus, x.sid, target, form, &s.records.Status)
}

func (s *Server) reportCall(x *resource, status string, form url.Values) {
	// Fields without a value are sent, too, and signed.
	maps.Copy(form, url.Values{
		"CallSid": {x.sid}, "CallStatus": {status}, "Direction": {"outbound-api"}, "Called": {x.form.Get("To")},
		"Caller": {x.form.Get("From")}, "ToCity": {""}, "ToState": {""}, "Timestamp": {time.Now().UTC().Format(time.RFC1123Z)},
		"CallbackSource": {"call-progress-events"}, "SequenceNumber": {strconv.Itoa(x.sequence)},
	})
	if x.answered != "" {
		form.Set("AnsweredBy", x.answered)
	}
	if sip, final := map[string]string{"completed": "200", "busy": "486", "no-answer": "487", "failed": "404", "canceled": "487"}[status]; final {
		form.Set("SipResponseCode", sip)
		// CallDuration counts seconds, Duration billed minutes.
		form.Set("CallDuration", strconv.Itoa(x.seconds()))
		form.Set("Duration", strconv.Itoa((x.seconds()+59)/60))
	}
}

// Incoming is a message sent by a person.
type Incoming struct {
	From string `json:"from"`
	To   string `json:"to"`
	Body string `json:"body"`
	SID  string `json:"sid,omitempty"` // empty: one is made
}

// Receive simulates a message from a person.
func (s *Server) Receive(in Incoming) error {
	switch {
	case in.From == "":
		return errors.New("from is required")
	case s.options.IncomingURL == "":
		return errors.New("the numbers have no webhook")
	}
	s.Lock()
	defer s.Unlock()
	s.serial++
	sid := cmp.Or(in.SID, fmt.Sprintf("SM%032x", s.serial))
	s.call(opIncoming, in.From, s.options.IncomingURL, url.Values{
		"MessageSid": {sid}, "SmsMessageSid": {sid}, "SmsSid": {sid}, "AccountSid": {s.options.AccountSID}, "From": {in.From}, "To": {in.To},
		"Body": {in.Body}, "NumMedia": {"0"}, "NumSegments": {"1"}, "SmsStatus": {"received"}, "ApiVersion": {"2010-04-01"}, "FromCity": {""},
	}, &s.records.Incoming)
	return nil
}

// sign returns the value of X-Twilio-Signature.
func sign(token, target string, form url.Values) string {
	var b strings.Builder
	b.WriteString(target)
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, v := range slices.Compact(slices.Sorted(slices.Values(form[name]))) {
			b.WriteString(name + v)
		}
	}
	h := hmac.New(sha1.New, []byte(token))
	_, _ = h.Write([]byte(b.String()))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// call makes a callback, and repeats it by the policy in the fragment of its URL. The
// caller holds the lock.
func (s *Server) call(kind, subject, address string, form url.Values, count *simulation.CallCount) {
	// The fragment holds the retry policy; it is neither sent nor signed.
	target, policy, _ := strings.Cut(address, "#")
	s.Repeat(simulation.Repeated{
		Callback: simulation.Callback{Subject: subject, Kind: kind, Request: func(ctx context.Context) (*http.Request, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(form.Encode()))
			if err == nil {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
				r.Header.Set("User-Agent", "TwilioProxy/1.1")
				r.Header.Set("X-Twilio-Signature", sign(s.options.AuthToken, target, form))
			}
			return r, err
		}},
		Count: count, Taken: func(status int) bool { return status >= 200 && status < 300 },
		Heard: func(body []byte) {
			// Twilio reads any body as TwiML, so that a client must not answer with one.
			if kind == opIncoming && len(body) > 0 {
				s.records.Answered++
			}
		},
		Again: func(failures, status int, err error) (time.Duration, bool) {
			return s.options.RetryDelay, repeats(policy, failures, status, err)
		},
	})
}

// repeats reports whether Twilio repeats a callback, by the policy in the fragment
// of its URL: by default only a connect that failed, once.
func repeats(fragment string, failures, status int, err error) bool {
	policy, parseErr := url.ParseQuery(fragment)
	if parseErr != nil {
		return false
	}
	count := 1
	if n, err := strconv.Atoi(policy.Get("rc")); err == nil {
		count = min(max(0, n), 5)
	}
	on := strings.Split(cmp.Or(policy.Get("rp"), "ct"), ",")
	kind := "ct"
	switch {
	case err == nil && status >= 500:
		kind = "5xx"
	case err == nil:
		kind = "4xx"
	}
	return failures <= count && (slices.Contains(on, kind) || slices.Contains(on, "all"))
}
