package twilio

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir"
	"weir/channels"
	"weir/channels/provider"
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
	if c.authToken != "" && !provider.TwilioSigned(cb, c.authToken) {
		return nil, channels.ErrForged
	}
	if cb.Method == http.MethodGet {
		return cb.Query, nil
	}
	return cb.Form, nil
}

// ParseCallback interprets a status of a message or a person's message.
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
	return channels.CallbackResult{}, channels.ErrPath
}

func (d *textDriver) messageStatus(c *channels.Callback, form url.Values, path []string) (channels.CallbackResult, error) {
	attempt, part, err := provider.ParseMessage(path)
	switch {
	case err != nil:
		return channels.CallbackResult{}, err
	case part >= maxParts:
		return channels.CallbackResult{}, errors.New("it names no message")
	}
	// It is checked because it is stored as the reference of the contact and later goes into
	// paths.
	sid := form.Get("MessageSid")
	if !isSID(sid, "SM", "MM") {
		return channels.CallbackResult{}, errors.New("MessageSid is missing or not one")
	}
	report := weir.Report{Attempt: attempt, ProviderRef: sid, At: c.At}
	if len(path) == 2 {
		report.Part, report.ProviderRef = part, "" // of one message, where the contact has several
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
	p := provider.Parameters{form}
	m := weir.Incoming{
		From: strings.TrimPrefix(p.Get("From"), whatsApp), To: strings.TrimPrefix(p.Get("To"), whatsApp),
		Body: p.Get("Body"), GUID: p.Get("MessageSid"), ReceivedAt: c.At,
		// Twilio adds parameters without notice. They are kept for clients; none of them is required.
		Fields: p.Others("From", "To", "Body", "MessageSid", "SmsMessageSid", "SmsSid", "AccountSid"),
	}
	if m.From == "" || !isSID(m.GUID, "SM", "MM") {
		return channels.CallbackResult{}, errors.New("it lacks From or MessageSid")
	}
	maps.DeleteFunc(m.Fields, func(_, v string) bool { return v == "" })
	out := channels.CallbackResult{Incoming: []weir.Incoming{m}}
	// With Advanced Opt-Out, Twilio reports what the words of the account mean, and blocks the
	// person or lifts its block; it answers HELP by itself
	// (https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out).
	if said := p.Get("OptOutType"); said == "STOP" || said == "START" {
		out.Consents = []channels.Consent{{Address: m.From, Refused: said == "STOP", ID: m.GUID, At: c.At}}
	}
	return out, nil
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
		return channels.CallbackResult{}, channels.ErrPath
	}
	attempt, _, err := provider.ParseMessage([]string{id})
	if err != nil {
		return channels.CallbackResult{}, err
	}
	sid, status := form.Get("CallSid"), form.Get("CallStatus")
	if !isSID(sid, "CA") {
		return channels.CallbackResult{}, errors.New("CallSid is missing or not one")
	}
	outcome, reason, known := callState(status, form.Get("AnsweredBy"), form.Get("SipResponseCode"))
	if !known {
		return channels.CallbackResult{}, nil
	}
	report := weir.Report{
		Attempt: attempt, Part: weir.WholeContact, Outcome: outcome, Reason: reason, ProviderRef: sid, At: c.At,
		Answered: status == "in-progress",
	}
	if outcome != "" {
		report.Result.CallSeconds = provider.CallSeconds(form.Get("CallDuration"))
	}
	return channels.CallbackResult{Reports: []weir.Report{report}}, nil
}
