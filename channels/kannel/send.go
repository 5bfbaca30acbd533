package kannel

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// allReports asks for every kind of report: delivered, failed, buffered, taken
// and refused by the SMSC.
const allReports = "31"

// Send requests the messages of a contact one after the other, and stops at the
// first one that Kannel did not certainly accept.
func (d *driver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	// It keeps a leading plus, by which Kannel recognizes an international number. A blank would
	// divide it into two receivers.
	to, ok := provider.Number(a.To)
	if !ok {
		return provider.Refused(weir.Failed, channels.NumberNotUsable)
	}
	// Checked before the first request: a contact that cannot be sent as a whole is not sent at
	// all.
	if len(a.Messages) == 0 || slices.Contains(a.Messages, "") { // Kannel would send an empty one
		return provider.Refused(weir.Failed, channels.MessageNotAcceptable)
	}
	for i, text := range a.Messages {
		if s := d.sendOne(ctx, a, i, to, text); s.Status != channels.Accepted {
			return provider.Partly(i, len(a.Messages), s)
		}
	}
	return channels.SendResult{Status: channels.Accepted}
}

func (d *driver) sendOne(ctx context.Context, a channels.Attempt, part int, to, text string) channels.SendResult {
	body, coding := encode(text)
	h := http.Header{
		"X-Kannel-To": {to}, "X-Kannel-Coding": {coding}, "X-Kannel-Dlr-Mask": {allReports}, "X-Kannel-Dlr-Url": {d.reportURL(a.ID, part)},
	}
	if !a.NotAfter.IsZero() {
		// Kannel counts whole minutes; 0 would be over at once.
		h.Set("X-Kannel-Validity", strconv.Itoa(max(1, int(time.Until(a.NotAfter)/time.Minute))))
	}
	return meaning(d.sendsms.Do(ctx, provider.Call{Method: http.MethodPost, Header: h, Body: body}))
}

// meaning interprets the answer to one message. Each status has several meanings;
// the text tells them apart.
func meaning(r provider.Result) channels.SendResult {
	s := r.Sent()
	if r.Delivery != provider.Answered || r.Err != nil {
		return s
	}
	says := func(prefix string) bool { return bytes.HasPrefix(r.Body, []byte(prefix)) }
	switch {
	// 3 means that no link is up now; bearerbox has stored the message all the same. "Sent."
	// comes with immediate-sendsms-reply, from smsbox before bearerbox has it: weaker, but not to
	// be repeated either.
	case r.Status == http.StatusAccepted && (says("0:") || says("3:") || says("Sent.")):
		return channels.SendResult{Status: channels.Accepted}
	case r.Status == http.StatusForbidden && says("Not routable"):
		return provider.Refused(weir.Failed, channels.NumberNotUsable)
	case r.Status == http.StatusForbidden && !says("Authorization failed"):
		s.Reason = "request refused" // by something before Kannel
	case r.Status != http.StatusBadRequest:
	case says("Missing receiver"), says("Empty receiver"), says("Number(s)"):
		return provider.Refused(weir.Failed, channels.NumberNotUsable)
	case says("Charset"), says("UDH"):
		return provider.Refused(weir.Failed, channels.MessageNotAcceptable)
	case says("Sender missing"):
		s.ChannelFault, s.Reason = true, "no sender: set from, or global-sender in Kannel"
	case says("DLR-URL"):
		s.ChannelFault, s.Reason = true, "Kannel does not accept the address of reports"
	}
	return s
}

// Query reports the messages that were certainly not sent. Kannel itself cannot be
// asked about a message.
func (d *driver) Query(_ context.Context, a channels.Attempt) channels.Answer {
	p, ok := provider.ParseProgress(a.ProviderRef)
	if !ok || p.Of != len(a.Messages) {
		return channels.Answer{Status: channels.CannotTell, Reason: "Kannel cannot be asked about a message"}
	}
	return channels.Answer{Status: channels.Underway, Silent: true, ProviderRef: a.ProviderRef, Reports: p.NotSent(a.ID, time.Now())}
}
