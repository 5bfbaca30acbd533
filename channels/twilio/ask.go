package twilio

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

const (
	// clockSkew is how much earlier than our clock Twilio's may be.
	clockSkew = 5 * time.Second
	// settleTime is the time after a dispatch in which an empty list proves nothing:
	// Twilio's lists are only eventually consistent.
	settleTime = 2 * time.Minute
)

// Query finds out the outcome of the messages of an attempt.
func (d *textDriver) Query(ctx context.Context, a channels.Attempt) channels.Answer {
	have, ok := parseParts(a.ProviderRef, len(a.Messages))
	if !ok {
		return channels.Answer{Status: channels.CannotTell, Reason: "the reference is not of these messages"}
	}
	var found []finding
	var listed []resource
	for i, sid := range have {
		// One list serves all messages in doubt: they have the same recipient.
		if sid == inDoubt && listed == nil {
			var failed *channels.Answer
			if listed, failed = d.list(ctx, "Messages", d.address(a.To)); failed != nil {
				return *failed
			}
		}
		f := finding{}
		switch sid {
		case notSent:
			f.absent = true
		case inDoubt:
			f = evidence(listed, a, d.address(a.To), i, time.Now())
		default:
			f = d.query(ctx, "Messages", sid, a.ClaimedAt)
		}
		found = append(found, f)
	}
	return d.together(a, have, found)
}

// finding holds what Twilio reports about one message or call.
type finding struct {
	resource *resource
	absent   bool
	gone     bool            // Twilio had it and has it no more
	failed   channels.Answer // AskFailed or CannotTell, if set
}

// together combines the findings of the messages of a contact.
func (d *textDriver) together(a channels.Attempt, have parts, found []finding) channels.Answer {
	answer := channels.Answer{Status: channels.Finished}
	absent := 0
	var unknown *channels.Answer
	for i, f := range found {
		report := weir.Report{Attempt: a.ID, Part: i, At: time.Now()}
		switch {
		case f.failed.Status == channels.QueryFailed:
			return f.failed
		case f.failed.Status == channels.CannotTell:
			unknown = &found[i].failed
			continue
		case f.absent:
			absent++
			have[i] = notSent
			report.Outcome, report.Reason = weir.Failed, "not sent: an earlier message was not accepted"
		case f.gone:
			report.Outcome, report.Reason = weir.Lost, "no longer known to the provider"
		default:
			have[i] = f.resource.SID
			report.Outcome, report.Reason, _ = messageState(f.resource.Status, f.resource.code(), d.final)
			if len(found) == 1 { // of several, each has a price of its own
				report.Result.Cost = f.resource.cost()
			}
		}
		if report.Outcome == "" {
			answer.Status = channels.Underway
			continue
		}
		answer.Reports = append(answer.Reports, report)
	}
	switch {
	case absent == len(found):
		return channels.Answer{Status: channels.Absent}
	// Without a reference, nothing about the contact is known. With one, Twilio accepted some
	// message, so that the contact is underway until reports end it or its time limit.
	case unknown != nil && a.ProviderRef == "":
		return *unknown
	case unknown != nil:
		answer.Status, answer.Silent = channels.Underway, true
	}
	answer.ProviderRef = have.String()
	return answer
}

// Query finds out the outcome of a call.
func (d *voiceDriver) Query(ctx context.Context, a channels.Attempt) channels.Answer {
	var f finding
	if isSID(a.ProviderRef, "CA") {
		f = d.query(ctx, "Calls", a.ProviderRef, a.ClaimedAt)
	} else {
		listed, failed := d.list(ctx, "Calls", e164(a.To))
		if failed != nil {
			return *failed
		}
		f = evidence(listed, a, a.To, weir.WholeContact, time.Now())
	}
	report := weir.Report{Attempt: a.ID, Part: weir.WholeContact, ProviderRef: a.ProviderRef, At: time.Now()}
	switch {
	case f.failed.Status != 0:
		return f.failed
	case f.absent:
		return channels.Answer{Status: channels.Absent}
	case f.gone:
		report.Outcome, report.Reason = weir.Lost, "no longer known to the provider"
	default:
		report.ProviderRef = f.resource.SID
		report.Outcome, report.Reason, _ = callState(f.resource.Status, f.resource.AnsweredBy, "")
		if report.Outcome == "" {
			return channels.Answer{Status: channels.Underway, ProviderRef: f.resource.SID}
		}
		report.Result.CallSeconds, report.Result.Cost = provider.CallSeconds(f.resource.Duration), f.resource.cost()
	}
	return channels.Answer{Status: channels.Finished, ProviderRef: report.ProviderRef, Reports: []weir.Report{report}}
}

// query asks about one message or call by its SID.
func (c *client) query(ctx context.Context, kind, sid string, since time.Time) finding {
	r := c.get(ctx, nil, kind, sid+".json")
	if r.Delivery == provider.Answered && r.Status == http.StatusNotFound && errorCode(r.Body) == 20404 && time.Since(since) > settleTime {
		// Twilio had it, because it assigned this SID: not Absent, which would cause a
		// second dispatch.
		return finding{gone: true}
	}
	if found, ok := parse(r.Body, "SM", "MM", "CA"); ok && r.OK() && found.SID == sid {
		return finding{resource: &found}
	}
	return finding{failed: r.AskFailed()}
}

// list returns what Twilio has for a number. Filters by date would hide what is
// still queued, one by sender what was dispatched before the setting changed.
func (c *client) list(ctx context.Context, kind, to string) ([]resource, *channels.Answer) {
	r := c.get(ctx, url.Values{"To": {to}, "PageSize": {"1000"}}, kind+".json")
	var page struct {
		Messages *[]resource `json:"messages"`
		Calls    *[]resource `json:"calls"`
		Next     string      `json:"next_page_uri"`
	}
	answer := r.AskFailed()
	if !r.OK() || json.Unmarshal(r.Body, &page) != nil {
		return nil, &answer
	}
	items := page.Messages
	if kind == "Calls" {
		items = page.Calls
	}
	if items == nil {
		return nil, &answer
	}
	if page.Next != "" {
		return nil, &channels.Answer{Status: channels.CannotTell, Reason: "the provider lists too much for this number"}
	}
	return append([]resource{}, *items...), nil
}

// evidence looks for a message or call of an attempt in what Twilio lists for its
// number. Twilio keeps no field of ours, so that only what can be nothing else
// counts: exactly one with the same text since the attempt began, or, some time
// later, none whatever its text, because Twilio may store a text differently.
func evidence(listed []resource, a channels.Attempt, to string, part int, now time.Time) finding {
	if a.ClaimedAt.IsZero() {
		return finding{failed: channels.Answer{Status: channels.CannotTell, Reason: "it is not known when the attempt began"}}
	}
	var same []resource
	others := 0
	for _, r := range listed {
		at, dated := r.created()
		if !strings.HasPrefix(r.Direction, "outbound") || digits(r.To) != digits(to) || dated && at.Before(a.ClaimedAt.Add(-clockSkew)) {
			continue
		}
		switch {
		case part == weir.WholeContact || r.Body == a.Messages[part]:
			same = append(same, r)
		case !slices.Contains(a.Messages, r.Body): // not that of another message of the contact
			others++
		}
	}
	repeated := part != weir.WholeContact && slices.Contains(slices.Concat(a.Messages[:part], a.Messages[part+1:]), a.Messages[part])
	switch {
	case len(same) == 1 && !repeated && isSID(same[0].SID, "SM", "MM", "CA"):
		return finding{resource: &same[0]}
	case len(same)+others > 0:
		return finding{failed: channels.Answer{Status: channels.CannotTell, Reason: "the provider has several that it could be"}}
	case now.Sub(a.ClaimedAt) < settleTime:
		return finding{failed: channels.Answer{Status: channels.QueryFailed, Reason: "too early to be certain"}}
	}
	return finding{absent: true}
}

// digits returns an address without the marks that Twilio may add or drop.
func digits(address string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, address)
}
