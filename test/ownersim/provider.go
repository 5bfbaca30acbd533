package ownersim

import (
	"time"

	"weir"
	"weir/actors/contacts"
	"weir/channels"
)

// provider makes calls, and reports their end to any process.
type provider struct {
	w       *world
	answers bool // it can be asked about an attempt, and does not repeat its reports for long
	calls   int
	had     map[weir.ContactID]int
	open    map[weir.AttemptRef]bool // false: it has ended
	inUse   int
}

// begin is a call on its way to the provider. It arrives within the fifth of a lease by which
// an owner stops early.
func (v *provider) begin(p *process, a channels.Attempt) {
	w := v.w
	delay := w.between(time.Millisecond, 30*time.Millisecond)
	if w.sometimes(10) {
		delay = w.between(100*time.Millisecond, lease/5-50*time.Millisecond)
	}
	answered := false
	answer := func(s channels.SendResult) {
		if !answered {
			answered = true
			p.tell(func(c *contacts.Core, now time.Time) { c.SendDone(a.ID, s, now) })
		}
	}
	w.after(delay, nil, func() {
		s := v.receive(p, a)
		if !w.sometimes(25) {
			p.after(w.between(5*time.Millisecond, 100*time.Millisecond), func() { answer(s) })
		}
	})
	p.after(sendLimit, func() { answer(channels.SendResult{Status: channels.Unclear, ChannelFault: true, Reason: "timeout"}) })
}

func (v *provider) receive(p *process, a channels.Attempt) channels.SendResult {
	w := v.w
	v.calls++
	w.logf("process %d calls contact %v", p.start, a.ID)
	if w.store.owner.Start != p.start {
		w.fail("process %d calls contact %d, and process %d owns the database", p.start, a.ID.ID, w.store.owner.Start)
	}
	if w.chance.IntN(20) == 0 {
		return channels.SendResult{Status: channels.NotSent, Later: true, ChannelFault: true, Reason: "later", RetryAfter: time.Second}
	}
	v.had[a.ID.ID]++
	v.inUse++
	v.open[a.ID] = true
	if v.had[a.ID.ID] > 1 {
		w.fail("contact %d is called twice", a.ID.ID)
	}
	if v.inUse > w.capacity {
		w.fail("the provider has %d calls, and the channel %d slots", v.inUse, w.capacity)
	}
	w.after(w.between(500*time.Millisecond, 5*time.Second), nil, func() {
		v.inUse--
		v.open[a.ID] = false
		v.report(a.ID, 0)
	})
	return channels.SendResult{Status: channels.Accepted, ProviderRef: a.ID.String()}
}

// report sends a report until it is taken.
func (v *provider) report(ref weir.AttemptRef, tries int) {
	r := &request{kind: report, ref: ref}
	r.then = func(s status) {
		c := v.w.store.contacts[ref.ID]
		switch {
		case s == success && c.State != weir.Done && c.Attempt == ref.Number:
			v.w.fail("the report of %v was answered with success, and contact %d is %v", ref, c.ID, c.State)
		case s != success && (!v.answers || tries < 2):
			v.w.after(2*time.Second, nil, func() { v.report(ref, tries+1) })
		}
	}
	v.w.balance(r, v.w.now.Add(10*time.Second))
}

// ask answers a question about an attempt.
func (v *provider) ask(a channels.Attempt) channels.Answer {
	underway, had := v.open[a.ID]
	switch {
	case !v.answers:
		return channels.Answer{Status: channels.CannotTell}
	case !had:
		return channels.Answer{Status: channels.Absent}
	case underway:
		return channels.Answer{Status: channels.Underway, ProviderRef: a.ID.String()}
	default:
		return channels.Answer{Status: channels.Finished, Reports: []weir.Report{{Attempt: a.ID, Part: weir.WholeContact, Outcome: weir.Completed}}}
	}
}
