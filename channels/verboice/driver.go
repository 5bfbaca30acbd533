package verboice

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// driver talks to one channel of one Verboice account. It keeps no state.
type driver struct {
	api       provider.API
	callbacks string
	line      url.Values // the parameter that names the channel
	linePath  []string   // path of the channel's status
}

// Send makes Verboice queue a call. Everything is in the query of a GET: on a POST
// Verboice takes the body, even an empty one, as the call's flow. That is used on
// purpose for inline TwiML, and for nothing else.
func (d *driver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	query := url.Values{
		"address":             {a.To},
		"status_callback_url": {d.callbacks + "/" + statusPath + a.ID.String()},
	}
	maps.Copy(query, d.line) // the values are shared by all calls; nothing appends to them
	// Verboice has a resolution of whole seconds; the window is never widened.
	if !a.NotBefore.IsZero() {
		query.Set("not_before", instant(a.NotBefore.Add(time.Second-time.Nanosecond)))
	}
	if !a.NotAfter.IsZero() {
		query.Set("not_after", instant(a.NotAfter))
	}
	request := provider.Call{Method: http.MethodGet, Path: []string{"api", "call"}, Query: query}
	switch {
	case a.Call == nil:
		return provider.Refused(weir.Failed, "the contact has no call")
	case a.Call.TwiML != "":
		request.Method, request.Body = http.MethodPost, []byte(a.Call.TwiML)
		// Not XML, which Rails would parse into parameters alongside our own.
		request.Header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	case a.Call.CallFlowID != 0:
		query.Set("call_flow_id", strconv.FormatInt(a.Call.CallFlowID, 10))
	default:
		query.Set("callback_url", a.Call.CallbackURL)
	}
	r := d.api.Do(ctx, request)
	switch {
	case r.OK():
		if id, _, ok := callOf(r.Body); ok {
			return channels.SendResult{Status: channels.Accepted, ProviderRef: id}
		}
	case r.Status == http.StatusBadRequest && r.Err == nil:
		return refusal(errorOf(r.Body))
	}
	return r.Sent()
}

// instant formats a time as Surveda does, which Verboice parses correctly in any
// zone.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// refusal interprets the text of a 400. Verboice answers 400 to everything that
// goes wrong; only the text distinguishes the causes.
func refusal(text string) channels.SendResult {
	ours := channels.SendResult{Status: channels.NotSent, ChannelFault: true}
	switch {
	case text == "Not After date can't be in the past",
		text == "Not After date can't be before Not Before date", // a window under a second, after rounding
		text == "Not After date can't be before schedule's next available date":
		return provider.Refused(weir.Expired, channels.WindowClosed)
	case text == "Call address cannot be empty":
		return provider.Refused(weir.Failed, channels.NumberNotUsable)
	case strings.HasPrefix(text, "Invalid date:"):
		return provider.Refused(weir.Failed, "window refused")
	case strings.HasPrefix(text, "Couldn't find CallFlow"):
		return provider.Refused(weir.Failed, "call flow not found")
	case strings.HasPrefix(text, "Couldn't find"): // project or schedule, which come from the channel
		ours.Reason = "project or schedule not found"
	case strings.HasPrefix(text, "Channel not found"):
		ours.Reason = "channel not found"
	case text == "Channel is disabled":
		ours.Reason = "channel disabled"
	case strings.HasPrefix(text, "Time zone "):
		ours.Reason = "time zone refused"
	default:
		// The cause may be this contact or temporary trouble at Verboice: retried,
		// and counted, so that it is not retried forever.
		return channels.SendResult{Status: channels.NotSent, Reason: "refused for an unknown reason"}
	}
	return ours
}

// Query queries the state of a call. Verboice cannot be asked without the call's
// number.
func (d *driver) Query(ctx context.Context, a channels.Attempt) channels.Answer {
	if !isID(a.ProviderRef) {
		return channels.Answer{Status: channels.CannotTell, Reason: "the number of the call is not known"}
	}
	state, r := d.state(ctx, a.ProviderRef)
	over := func(outcome weir.Outcome, reason string) channels.Answer {
		report := weir.Report{
			Attempt: a.ID, Part: weir.WholeContact, Outcome: outcome,
			ProviderRef: a.ProviderRef, Reason: reason, At: time.Now(),
		}
		return channels.Answer{Status: channels.Finished, ProviderRef: a.ProviderRef, Reports: []weir.Report{report}}
	}
	switch state {
	case "queued", "active":
		return channels.Answer{Status: channels.Underway, ProviderRef: a.ProviderRef}
	case "completed":
		return over(weir.Completed, "")
	case "failed": // also busy and no answer: the state does not distinguish them
		return over(weir.Failed, channels.FailedAtProvider)
	case "expired":
		return over(weir.Expired, "expired at the provider")
	case "cancelled":
		return over(weir.Canceled, channels.CanceledAtProvider)
	case purged:
		// Verboice had the call, because it assigned this number, and has removed it
		// since. That does not prove that no person was called, so it is not Absent,
		// which would cause a second call.
		return over(weir.Lost, "no longer known to the provider")
	}
	return r.AskFailed()
}

// purged represents the state of a call that Verboice does not have.
const purged = "(purged)"

// state returns the state of a call as Verboice spells it, or an empty one and
// the result that explains why.
func (d *driver) state(ctx context.Context, id string) (string, provider.Result) {
	r := d.api.Do(ctx, provider.Call{Method: http.MethodGet, Path: []string{"api", "calls", id, "state.json"}})
	if r.Delivery == provider.Answered && r.Status == http.StatusNotFound {
		return purged, r
	}
	if !r.OK() {
		return "", r
	}
	if answered, state, ok := callOf(r.Body); ok && answered == id {
		return state, r
	}
	return "", r
}

// Cancel cancels a call that Verboice has not begun to dial. Canceling any other
// only overwrites its state: the call continues and reports its end.
func (d *driver) Cancel(ctx context.Context, a channels.Attempt) channels.Cancellation {
	if !isID(a.ProviderRef) {
		return channels.Cancellation{Reason: "the number of the call is not known"}
	}
	state, r := d.state(ctx, a.ProviderRef)
	switch state {
	case "":
		return channels.Cancellation{Failed: true, Reason: r.Reason()}
	case "cancelled", purged:
		return channels.Cancellation{Canceled: true}
	case "queued":
	case "active":
		return channels.Cancellation{Reason: "the call is being held"}
	default:
		return channels.Cancellation{Reason: "the call is over"}
	}
	r = d.api.Do(ctx, provider.Call{Method: http.MethodPost, Path: []string{"api", "calls", a.ProviderRef, "cancel.json"}})
	if !r.OK() {
		return channels.Cancellation{Failed: true, Reason: r.Reason()}
	}
	return channels.Cancellation{Canceled: true}
}

// Prepare does nothing: each call carries its callback URL.
func (d *driver) Prepare(context.Context) error { return nil }

// Status queries the channel at Verboice.
func (d *driver) Status(ctx context.Context) channels.Status {
	r := d.api.Do(ctx, provider.Call{Method: http.MethodGet, Path: d.linePath})
	line, ok := lineOf(r.Body)
	switch {
	case !r.OK() || !ok:
		return r.Erring()
	case line.Enabled != nil && !*line.Enabled:
		return channels.Status{Health: weir.Down, Reason: "channel disabled"}
	case line.Status.OK != nil && !*line.Status.OK:
		if len(line.Status.Messages) == 0 {
			return channels.Status{Health: weir.Down, Reason: "reported down"}
		}
		return channels.Status{Health: weir.Down, Reason: "reported down: " + strings.Join(line.Status.Messages, ": ")}
	}
	return channels.Status{Health: weir.Up}
}

// callOf parses {"call_id":…, "state":…}.
func callOf(body []byte) (id, state string, ok bool) {
	var answer struct {
		CallID int64  `json:"call_id"`
		State  string `json:"state"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.CallID < 1 {
		return "", "", false
	}
	return strconv.FormatInt(answer.CallID, 10), answer.State, true
}

// errorOf parses {"error":…}; it returns an empty text if there is none.
func errorOf(body []byte) string {
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Error
}

type line struct {
	ID      int64 `json:"id"`
	Enabled *bool `json:"enabled"`
	Status  struct {
		OK       *bool    `json:"ok"`
		Messages []string `json:"messages"`
	} `json:"status"`
}

// lineOf parses a channel object and cleans its messages.
func lineOf(body []byte) (line, bool) {
	var l line
	if json.Unmarshal(body, &l) != nil || l.ID < 1 {
		return line{}, false
	}
	l.Status.Messages = l.Status.Messages[:min(len(l.Status.Messages), 3)]
	for i, m := range l.Status.Messages {
		l.Status.Messages[i] = clean(m)
	}
	return l, true
}

// isID reports whether a text is the number of a call and nothing else, so that it
// can be part of a path.
func isID(s string) bool {
	const most = 19 // digits of an int64
	if s == "" || len(s) > most || s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// longNumber matches what may be a phone number.
var longNumber = regexp.MustCompile(`\+?[0-9][0-9 ().-]{4,}[0-9]`)

// clean makes a provider's text fit to be stored and shown: without control
// characters, without numbers that may be a person's, and short.
func clean(s string) string {
	const most = 120
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	s = strings.Join(strings.Fields(longNumber.ReplaceAllString(s, "[number]")), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// statusPath is where Verboice reports the status of a call, followed by the
// attempt's id.
const statusPath = "status/"
