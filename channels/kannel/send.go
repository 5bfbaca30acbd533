package kannel

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

const (
	// bodyType makes Kannel take the body as it is: for a type of text without a
	// charset it assumes ISO-8859-1.
	bodyType = "application/octet-stream"
	maxBody  = 64 << 10
	// allReports asks for every kind of report: delivered, failed, buffered, taken
	// and refused by the SMSC.
	allReports = "31"
)

// Send requests the messages of a contact one after the other, and stops at the
// first one that Kannel did not certainly accept.
func (d *driver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	to, ok := number(a.To)
	if !ok {
		return refused(channels.NumberNotUsable)
	}
	// Checked before the first request: a contact that cannot be sent as a whole is not sent at
	// all.
	for _, text := range a.Messages {
		if text == "" { // Kannel would send it
			return refused(channels.MessageNotAcceptable)
		}
	}
	if len(a.Messages) == 0 {
		return refused(channels.MessageNotAcceptable)
	}
	for i, text := range a.Messages {
		if s := d.sendOne(ctx, a, i, to, text); s.Fate != channels.Accepted {
			return provider.Partly(i, len(a.Messages), s)
		}
	}
	return channels.SendResult{Fate: channels.Accepted}
}

func (d *driver) sendOne(ctx context.Context, a channels.Attempt, part int, to, text string) channels.SendResult {
	body, coding := encode(text)
	h := d.header.Clone()
	h.Set("X-Kannel-To", to)
	h.Set("X-Kannel-Coding", coding)
	h.Set("X-Kannel-Dlr-Mask", allReports)
	h.Set("X-Kannel-Dlr-Url", d.reportURL(a.ID, part))
	if !a.NotAfter.IsZero() {
		h.Set("X-Kannel-Validity", strconv.Itoa(minutesUntil(a.NotAfter, time.Now())))
	}
	return meaning(d.post(ctx, h, body))
}

func (d *driver) post(ctx context.Context, h http.Header, body []byte) provider.Result {
	r, err := provider.NewRequest(http.MethodPost, d.sendsms, bytes.NewReader(body), provider.Credentials{})
	if err != nil {
		return provider.Result{Delivery: provider.NeverSent, Err: err}
	}
	h.Set("User-Agent", r.Header.Get("User-Agent"))
	r.Header = h
	return provider.Do(ctx, d.http, r, maxBody)
}

// minutesUntil returns Kannel's validity for a message that must not be delivered
// after an instant. Kannel counts whole minutes; 0 would be over at once.
func minutesUntil(end, now time.Time) int { return max(1, int(end.Sub(now)/time.Minute)) }

// number returns a phone number as Kannel takes it. It keeps a leading plus, by
// which Kannel recognizes an international number. A blank would divide it into
// two receivers.
func number(to string) (string, bool) {
	out := strings.Map(func(c rune) rune {
		if strings.ContainsRune(" -.()", c) {
			return -1
		}
		return c
	}, to)
	digits := strings.TrimPrefix(out, "+")
	return out, digits != "" && strings.Trim(digits, "0123456789") == ""
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
		return channels.SendResult{Fate: channels.Accepted}
	case r.Status == http.StatusForbidden && says("Not routable"):
		return refused(channels.NumberNotUsable)
	case r.Status == http.StatusForbidden && !says("Authorization failed"):
		s.Reason = "request refused" // by something before Kannel
	case r.Status != http.StatusBadRequest:
	case says("Missing receiver"), says("Empty receiver"), says("Number(s)"):
		return refused(channels.NumberNotUsable)
	case says("Charset"), says("UDH"):
		return refused(channels.MessageNotAcceptable)
	case says("Sender missing"):
		s.ChannelFault, s.Reason = true, "no sender: set from, or global-sender in Kannel"
	case says("DLR-URL"):
		s.ChannelFault, s.Reason = true, "Kannel does not accept the address of reports"
	}
	return s
}

func refused(reason string) channels.SendResult {
	return channels.SendResult{Fate: channels.Refused, Outcome: weir.Failed, Reason: reason}
}

// Ask reports the messages that were certainly not sent. Kannel itself cannot be
// asked about a message.
func (d *driver) Ask(_ context.Context, a channels.Attempt) channels.Answer {
	p, ok := provider.ParseProgress(a.ProviderRef)
	if !ok || p.Of != len(a.Messages) {
		return channels.Answer{Knowledge: channels.CannotTell, Reason: "Kannel cannot be asked about a message"}
	}
	return channels.Answer{Knowledge: channels.Underway, Silent: true, ProviderRef: a.ProviderRef, Reports: p.NotSent(a.ID, time.Now())}
}

// Cancel always reports failure to cancel: to remove a message, Kannel wants an id
// that it does not tell.
func (d *driver) Cancel(context.Context, channels.Attempt) channels.Cancellation {
	return channels.Cancellation{Reason: "the provider cannot take messages back"}
}
