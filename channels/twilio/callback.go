package twilio

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir"
	"weir/channels"
)

// Paths below the channel's callback URL. A message of a contact with several has
// its index after the attempt.
const (
	messagePath  = "message"
	callPath     = "call"
	incomingPath = "incoming"
)

// verified checks method and signature and returns the parameters.
// The signature has no timestamp, so that a replay passes. It names the attempt in its signed
// path and the message in its SID, and repeated ones change nothing.
func (c *client) verified(cb *channels.Callback) (url.Values, error) {
	if cb.Method != http.MethodGet && cb.Method != http.MethodPost {
		return nil, errors.New("want GET or POST")
	}
	if c.authToken != "" && !signed(cb, c.authToken) {
		return nil, channels.ErrForged
	}
	if cb.Method == http.MethodGet {
		return cb.Query, nil
	}
	return cb.Form, nil
}

// ParseCallback interprets a status of a message or a person's message. Any other
// path is ignored and answered with success, so that Twilio does not repeat it.
func (d *textDriver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	form, err := d.verified(&c)
	if err != nil {
		return channels.CallbackResult{}, err
	}
	switch path := strings.Split(c.Path, "/"); {
	case len(path) == 1 && path[0] == incomingPath:
		return incoming(&c, form)
	case path[0] == messagePath && (len(path) == 2 || len(path) == 3):
		return d.messageStatus(&c, form, path[1:])
	}
	return channels.CallbackResult{}, nil
}

func (d *textDriver) messageStatus(c *channels.Callback, form url.Values, path []string) (channels.CallbackResult, error) {
	attempt, err := weir.ParseAttemptRef(path[0])
	if err != nil {
		return channels.CallbackResult{}, errors.New("the path names no attempt")
	}
	// It is checked because it is stored as the reference of the contact and later goes into
	// paths.
	sid := form.Get("MessageSid")
	if !isSID(sid, "SM", "MM") {
		return channels.CallbackResult{}, errors.New("MessageSid is missing or not one")
	}
	report := weir.Report{Attempt: attempt, ProviderRef: sid, At: c.At}
	if len(path) == 2 {
		report.ProviderRef = "" // of one message, where the contact has several
		if report.Part, err = strconv.Atoi(path[1]); err != nil || report.Part < 0 || report.Part >= maxParts || strconv.Itoa(report.Part) != path[1] {
			return channels.CallbackResult{}, errors.New("the path names no message")
		}
	}
	// A missing or unreadable code counts as 0: the message failed at the provider, without a
	// closer reason.
	code, _ := strconv.Atoi(form.Get("ErrorCode"))
	outcome, reason, known := messageState(form.Get("MessageStatus"), code, d.final)
	if !known {
		return channels.CallbackResult{}, nil
	}
	report.Outcome, report.Reason = outcome, reason
	return channels.CallbackResult{Reports: []weir.Report{report}}, nil
}

// incoming reads a message that a person sent. The answer has no body: Twilio
// would read it as TwiML.
func incoming(c *channels.Callback, form url.Values) (channels.CallbackResult, error) {
	get := func(key string) string { return strings.ToValidUTF8(form.Get(key), "\uFFFD") }
	m := weir.Incoming{
		From: strings.TrimPrefix(get("From"), whatsApp), To: strings.TrimPrefix(get("To"), whatsApp),
		Body: get("Body"), GUID: get("MessageSid"), ReceivedAt: c.At, Fields: map[string]string{},
	}
	if m.From == "" || !isSID(m.GUID, "SM", "MM") {
		return channels.CallbackResult{}, errors.New("it lacks From or MessageSid")
	}
	// Twilio adds parameters without notice. They are kept for clients; none of them is required.
	for key := range form {
		switch key {
		case "From", "To", "Body", "MessageSid", "SmsMessageSid", "SmsSid", "AccountSid":
		default:
			if v := get(key); v != "" && key == strings.ToValidUTF8(key, "") {
				m.Fields[key] = v
			}
		}
	}
	return channels.CallbackResult{Incoming: []weir.Incoming{m}}, nil
}

// ParseCallback interprets the status of a call. Callbacks of one call come in any
// order; only the last one has an outcome.
func (d *voiceDriver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	form, err := d.verified(&c)
	if err != nil {
		return channels.CallbackResult{}, err
	}
	id, ok := strings.CutPrefix(c.Path, callPath+"/")
	if !ok || strings.Contains(id, "/") {
		return channels.CallbackResult{}, nil
	}
	attempt, err := weir.ParseAttemptRef(id)
	if err != nil {
		return channels.CallbackResult{}, errors.New("the path names no attempt")
	}
	sid, status := form.Get("CallSid"), form.Get("CallStatus")
	if !isSID(sid, "CA") {
		return channels.CallbackResult{}, errors.New("CallSid is missing or not one")
	}
	outcome, reason, known := callState(status, form.Get("AnsweredBy"), form.Get("SipResponseCode"))
	if !known {
		return channels.CallbackResult{}, nil
	}
	return channels.CallbackResult{Reports: []weir.Report{{
		Attempt: attempt, Part: weir.WholeContact, Outcome: outcome, Reason: reason, ProviderRef: sid, At: c.At,
		Answered: status == "in-progress",
	}}}, nil
}
