package verboice

import (
	"errors"
	"net/http"
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// ParseCallback interprets a status callback. Verboice sends each once, in no particular
// order, and ignores the answer.
func (d *driver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	id, ok := strings.CutPrefix(c.Path, statusPath)
	if !ok || id == "" || strings.Contains(id, "/") {
		return channels.CallbackResult{}, channels.ErrPath
	}
	if c.Method != http.MethodGet && c.Method != http.MethodPost {
		return channels.CallbackResult{}, errors.New("want GET or POST")
	}
	parameter := provider.Parameters{c.Query, c.Form}.Raw
	status, call := parameter("CallStatus"), parameter("CallSid")
	if status == "" {
		return channels.CallbackResult{}, errors.New("CallStatus is missing")
	}
	if call != "" && !isID(call) {
		return channels.CallbackResult{}, errors.New("CallSid is not a number")
	}
	attempt, err := weir.ParseAttemptRef(id)
	if err != nil {
		return channels.CallbackResult{}, nil //nolint:nilerr // not one of ours: answered, counted, nothing else
	}
	report := weir.Report{Attempt: attempt, Part: weir.WholeContact, ProviderRef: call, At: c.At}
	report.Outcome = outcomeOf(status)
	report.Answered = status == "in-progress"
	if report.Outcome != "" {
		report.Result.CallSeconds = provider.CallSeconds(parameter("CallDuration"))
	}
	if report.Outcome == weir.Failed {
		report.Reason = failure(parameter("CallStatusReason"), parameter("CallStatusCode"))
		report.Answered = report.Reason == hungUp
	}
	return channels.CallbackResult{Reports: []weir.Report{report}}, nil
}

// outcomeOf returns the outcome for a CallStatus; empty for ringing, in-progress
// and any other status of a call that is not done.
func outcomeOf(status string) weir.Outcome {
	switch status {
	case "completed":
		return weir.Completed
	case "busy":
		return weir.Busy
	case "no-answer":
		return weir.NoAnswer
	case "failed":
		return weir.Failed
	case "expired":
		return weir.Expired
	case "cancelled", "canceled": // not seen from Verboice, which cancels silently
		return weir.Canceled
	}
	return ""
}

// hungUp is the reason of a call that the person ended.
const hungUp = "hung up"

// failure returns the reason of a failed call.
func failure(reason, code string) string {
	if reason == "Busy" && code == "" { // Verboice reports this for a person who hung up
		return hungUp
	}
	words := clean(reason)
	if isCode(code) {
		words = strings.TrimSpace(words + " (" + code + ")")
	}
	if words == "" {
		return channels.FailedAtProvider
	}
	return words
}

// isCode reports whether a text looks like the codes that Verboice sends, such
// as ISDN:17 or twilio:21211, and is not a phone number.
func isCode(s string) bool {
	const most = 40
	if s == "" || len(s) > most || longNumber.MatchString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(":_.-", r)
	}) < 0
}
