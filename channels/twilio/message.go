package twilio

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

const (
	whatsApp = "whatsapp:"
	// maxParts bounds the messages of a contact, so that their SIDs fit into its
	// reference.
	maxParts = 14
	// maxValidity is how long Twilio keeps a message in its queue by itself.
	// More is an error of the request (ValidityPeriod is 1 to 36000), not a longer wait.
	maxValidity = 36000 * time.Second
)

// textDriver sends messages for one account.
type textDriver struct {
	client
	service string // messaging service; may be empty
	final   string
}

func newTextDriver(c channels.Config) (*textDriver, error) {
	base, err := newClient(c)
	return &textDriver{
		client: base, service: provider.Text(c.Settings, "messaging_service_sid"),
		final: cmp.Or(provider.Text(c.Settings, "final_state"), finalSent),
	}, err
}

// address returns a recipient as Twilio takes it: with a WhatsApp sender it is a
// WhatsApp address.
func (d *textDriver) address(to string) string {
	if strings.HasPrefix(d.from, whatsApp) {
		return whatsApp + e164(to)
	}
	return e164(to)
}

// e164 returns a number with its plus, as Twilio stores and lists it: without one
// it takes a number for a national one.
func e164(to string) string { return "+" + strings.TrimPrefix(to, "+") }

// canonical is the form of addresses of both types.
func canonical(to string) (string, error) {
	to, err := channels.PhoneNumber(to)
	if err != nil {
		return "", err
	}
	return e164(to), nil
}

// Send requests the messages of a contact one after the other, and stops at the
// first one that Twilio did not certainly accept.
func (d *textDriver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	if len(a.Messages) == 0 || len(a.Messages) > maxParts {
		return provider.Refused(weir.Failed, channels.MessageNotAcceptable)
	}
	have := make(parts, 0, len(a.Messages))
	for i := range a.Messages {
		s := d.sendOne(ctx, a, i)
		switch {
		case s.Status == channels.Accepted:
			have = append(have, s.ProviderRef)
			continue
		case i == 0:
			return s
		case s.Status == channels.Unclear:
			have = append(have, inDoubt)
		}
		// Another dispatch would send the first messages twice. The contact counts as
		// accepted, and Query reports the rest as failed.
		for len(have) < len(a.Messages) {
			have = append(have, notSent)
		}
		break
	}
	return channels.SendResult{Status: channels.Accepted, ProviderRef: have.String()}
}

func (d *textDriver) sendOne(ctx context.Context, a channels.Attempt, part int) channels.SendResult {
	form, ok := d.message(a, part, time.Now())
	if !ok {
		return provider.Refused(weir.Expired, channels.WindowClosed)
	}
	r := d.post(ctx, form, "Messages.json")
	if m, ok := parse(r.Body, "SM", "MM"); ok && r.OK() {
		return channels.SendResult{Status: channels.Accepted, ProviderRef: m.SID}
	}
	return refusal(r)
}

// message returns the parameters of a message; ok is false if its window is over.
func (d *textDriver) message(a channels.Attempt, part int, now time.Time) (_ url.Values, ok bool) {
	status := d.callbacks + "/" + messagePath + "/" + a.ID.String()
	if len(a.Messages) > 1 {
		status += "/" + strconv.Itoa(part)
	}
	form := url.Values{"To": {d.address(a.To)}, "Body": {a.Messages[part]}, "StatusCallback": {status + retryPolicy}}
	if d.from != "" {
		form.Set("From", d.from)
	}
	if d.service != "" {
		form.Set("MessagingServiceSid", d.service)
	}
	if !a.NotAfter.IsZero() {
		left := a.NotAfter.Sub(now)
		if left < time.Second {
			return nil, false
		}
		form.Set("ValidityPeriod", strconv.Itoa(int(min(left, maxValidity)/time.Second)))
	}
	return form, true
}

// parts holds, for each message of a contact, its SID, inDoubt or notSent.
// Its text is the contact's reference.
type parts []string

const (
	inDoubt = "?"
	notSent = "-"
)

func (p parts) String() string { return strings.Join(p, ",") }

// parseParts reads a reference of n messages; without one, all of them are in
// doubt.
func parseParts(ref string, n int) (parts, bool) {
	if ref == "" {
		p := make(parts, n)
		for i := range p {
			p[i] = inDoubt
		}
		return p, n > 0
	}
	p := parts(strings.Split(ref, ","))
	if len(p) != n {
		return nil, false
	}
	for _, s := range p {
		if s != inDoubt && s != notSent && !isSID(s, "SM", "MM") {
			return nil, false
		}
	}
	return p, true
}

// Cancel cancels what Twilio still has in its queue.
func (d *textDriver) Cancel(ctx context.Context, a channels.Attempt) channels.Cancellation {
	p, ok := parseParts(a.ProviderRef, len(a.Messages))
	if !ok || a.ProviderRef == "" {
		return channels.Cancellation{Reason: "the message is not known at the provider"}
	}
	all := channels.Cancellation{Canceled: true}
	for _, sid := range p {
		// Nothing of it is at Twilio, so it cannot prevent that the contact counts as canceled.
		if sid == notSent {
			continue
		}
		one := channels.Cancellation{Reason: "the message is not known at the provider"}
		if sid != inDoubt {
			one = d.cancel(ctx, "Messages", sid)
		}
		// A failed request wins over a refusal, because it is retried.
		if !one.Canceled && !all.Failed {
			all = one
		}
	}
	return all
}
