package contacts_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/channels"
)

// ticket is an attempt as the provider sees it.
type ticket struct {
	ref  weir.AttemptRef
	part []byte // a letter for each part, as in weir.Progress
	over bool
	gone bool // canceled
	ends time.Time
}

func (t *ticket) open() int {
	if t.over {
		return 0
	}
	return strings.Count(string(t.part), string(weir.PartOpen))
}

// manner is how the provider responds to a dispatch.
type manner int

const (
	accepts manner = iota
	refuses
	cannotNow // not sent; the contact's fault
	isDown    // not sent; the channel's fault
	loses     // unclear; the provider has it
	drops     // unclear; the provider does not have it
	stumbles  // unclear with an answer; the provider does not have it
	completes // accepted, and that is its end
	chokes    // unclear because of the contact; the provider does not have it
	later     // not sent; neither's fault
	limits    // not sent; too many at one time
)

// provider keeps its own count of what it has in flight.
type provider struct {
	tickets  map[weir.AttemptRef]*ticket
	received map[weir.AttemptRef]int // dispatches, however they ended
	had      map[weir.ContactID]int  // attempts of a contact that it ever accepted
	wire     map[weir.AttemptRef]int // slots of dispatches on their way
	mute     bool                    // it cannot answer questions about attempts
	silent   bool                    // it never reports progress
	bounded  bool                    // it ends each attempt itself
	retry    time.Duration           // the pause it asks for when it is down
	lasts    time.Duration
}

func newProvider() *provider {
	return &provider{
		tickets: map[weir.AttemptRef]*ticket{}, received: map[weir.AttemptRef]int{}, had: map[weir.ContactID]int{},
		wire: map[weir.AttemptRef]int{}, lasts: 10 * time.Minute,
	}
}

// inUse returns the slots that the provider is using or may be about to use.
func (p *provider) inUse() int {
	n := 0
	for _, t := range p.tickets {
		n += t.open()
	}
	for _, slots := range p.wire {
		n += slots
	}
	return n
}

// receive handles a dispatch that arrives.
func (p *provider) receive(a channels.Attempt, m manner, now time.Time) channels.SendResult {
	delete(p.wire, a.ID)
	p.received[a.ID]++
	if m == accepts || m == loses {
		p.had[a.ID.ID]++
		parts := strings.Repeat(string(weir.PartOpen), max(1, len(a.Messages)))
		p.tickets[a.ID] = &ticket{ref: a.ID, part: []byte(parts), ends: now.Add(p.lasts)}
	}
	switch m {
	case accepts:
		return channels.SendResult{Status: channels.Accepted, ProviderRef: "p" + a.ID.String()}
	case completes:
		return channels.SendResult{Status: channels.Accepted, Outcome: weir.Completed, ProviderRef: "p" + a.ID.String()}
	case refuses:
		return channels.SendResult{Status: channels.Refused, Outcome: weir.Failed, Reason: "refused"}
	case cannotNow:
		return channels.SendResult{Status: channels.NotSent, Reason: "not now"}
	case isDown:
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: "down", RetryAfter: p.retry}
	case later:
		return channels.SendResult{Status: channels.NotSent, Later: true, ChannelFault: true, Reason: "this recipient later", RetryAfter: p.retry}
	case limits:
		return channels.SendResult{Status: channels.NotSent, ChannelFault: true, Reason: channels.RateLimited, RetryAfter: p.retry}
	case chokes:
		return channels.SendResult{Status: channels.Unclear, Reason: "the driver failed", Answered: true}
	case stumbles:
		return channels.SendResult{Status: channels.Unclear, Reason: "status 500", ChannelFault: true, Answered: true}
	default:
		return channels.SendResult{Status: channels.Unclear, Reason: "timeout", ChannelFault: true}
	}
}

// ask answers a status request as of now.
func (p *provider) ask(a channels.Attempt) channels.Answer {
	t := p.tickets[a.ID]
	switch {
	case p.mute:
		return channels.Answer{Status: channels.CannotTell}
	case t == nil, t.gone:
		return channels.Answer{Status: channels.Absent}
	case t.over:
		return channels.Answer{Status: channels.Finished, Reports: t.reports()}
	default:
		return channels.Answer{Status: channels.Underway, ProviderRef: "p" + a.ID.String(), Reports: t.reports(), Silent: p.silent, Bounded: p.bounded}
	}
}

// reports returns the outcomes of the parts that are done.
func (t *ticket) reports() []weir.Report {
	var list []weir.Report
	if len(t.part) == 1 && t.over {
		return []weir.Report{{Attempt: t.ref, Part: weir.WholeContact, Outcome: weir.Completed}}
	}
	for i, state := range t.part {
		if state != weir.PartOpen {
			list = append(list, t.partReport(i))
		}
	}
	return list
}

func (t *ticket) partReport(i int) weir.Report {
	o := weir.Completed
	if t.part[i] == weir.PartFailed {
		o = weir.Failed
	}
	return weir.Report{Attempt: t.ref, Part: i, Outcome: o}
}

// cancel cancels an attempt.
func (p *provider) cancel(a channels.Attempt) channels.Cancellation {
	t := p.tickets[a.ID]
	if t != nil && t.over && !t.gone {
		return channels.Cancellation{}
	}
	if t != nil {
		t.over, t.gone = true, true
	}
	return channels.Cancellation{Canceled: true}
}

// end ends an attempt, or the next part of it, and returns the report.
func (p *provider) end(t *ticket, o weir.Outcome) weir.Report {
	if len(t.part) == 1 {
		t.over = true
		return weir.Report{Attempt: t.ref, Part: weir.WholeContact, Outcome: o}
	}
	i := slices.Index(t.part, byte(weir.PartOpen))
	t.part[i] = weir.PartDelivered
	if o != weir.Completed {
		t.part[i] = weir.PartFailed
	}
	t.over = !slices.Contains(t.part, byte(weir.PartOpen))
	return t.partReport(i)
}

// busy lists the attempts in flight.
func (p *provider) busy() []*ticket {
	var list []*ticket
	for _, t := range p.tickets {
		if !t.over {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(a.ref.ID, b.ref.ID), cmp.Compare(a.ref.Number, b.ref.Number))
	})
	return list
}
