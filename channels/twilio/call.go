package twilio

import (
	"context"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

const (
	// Limits and default of Twilio's parameters Twiml and Timeout. Twilio may ring up to 5 s
	// longer.
	maxTwiML    = 4000 // characters
	defaultRing = 60
	maxRing     = 600 // seconds
)

// voiceDriver makes calls for one account.
type voiceDriver struct {
	client
	ring             int
	machineDetection string
}

func newVoiceDriver(c channels.Config) (*voiceDriver, error) {
	base, err := newClient(c)
	d := &voiceDriver{client: base, ring: defaultRing, machineDetection: provider.Text(c.Settings, "machine_detection")}
	if v, ok := weir.Number(c.Settings["ring_seconds"]); ok {
		d.ring = int(v)
	}
	return d, err
}

// Send requests a call.
func (d *voiceDriver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	form, s := d.call(a, time.Now())
	if form == nil {
		return s
	}
	r := d.post(ctx, form, "Calls.json")
	if c, ok := parse(r.Body, "CA"); ok && r.OK() {
		return channels.SendResult{Status: channels.Accepted, ProviderRef: c.SID}
	}
	return refusal(r)
}

// call returns the parameters of a call, or why there is none. Twilio has no window
// for calls, so that the phone rings at most until the window ends.
func (d *voiceDriver) call(a channels.Attempt, now time.Time) (url.Values, channels.SendResult) {
	form := url.Values{
		"To": {e164(a.To)}, "From": {d.from}, "Timeout": {strconv.Itoa(d.ring)},
		"StatusCallback":      {d.callbacks + "/" + callPath + "/" + a.ID.String() + retryPolicy},
		"StatusCallbackEvent": {"initiated", "ringing", "answered", "completed"},
	}
	switch {
	case a.Call == nil:
		return nil, provider.Refused(weir.Failed, "the contact has no call")
	case a.Call.CallFlowID != 0:
		return nil, provider.Refused(weir.Failed, "Twilio has no call flows: give callback_url or twiml")
	// Twilio prefers Url if both are given; so does Weir, instead of refusing the call.
	case a.Call.CallbackURL != "":
		form.Set("Url", a.Call.CallbackURL)
	case a.Call.TwiML == "" || utf8.RuneCountInString(a.Call.TwiML) > maxTwiML:
		return nil, provider.Refused(weir.Failed, channels.MessageNotAcceptable)
	default:
		form.Set("Twiml", a.Call.TwiML)
	}
	if !a.NotAfter.IsZero() {
		// Timeout counts whole seconds, at least one.
		left := a.NotAfter.Sub(now)
		if left < time.Second {
			return nil, provider.Refused(weir.Expired, channels.WindowClosed)
		}
		form.Set("Timeout", strconv.Itoa(int(min(left, time.Duration(d.ring)*time.Second)/time.Second)))
	}
	if d.machineDetection != "" {
		form.Set("MachineDetection", d.machineDetection)
	}
	return form, channels.SendResult{}
}

// Cancel cancels a call that is queued or rings. While it is queued, Twilio makes
// no callback about that.
func (d *voiceDriver) Cancel(ctx context.Context, a channels.Attempt) channels.Cancellation {
	if !isSID(a.ProviderRef, "CA") {
		return channels.Cancellation{Reason: "the call is not known at the provider"}
	}
	return d.cancel(ctx, "Calls", a.ProviderRef)
}
