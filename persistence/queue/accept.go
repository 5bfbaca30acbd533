package queue

import (
	"context"
	"slices"

	"weir"
	"weir/persistence/commit"
	"weir/persistence/values"
)

// Accept implements [weir.Accepter].
func (s *Store) Accept(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) ([]weir.Accepted, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	a, err := s.NewAcceptance(ctx, channel, specs)
	if err != nil {
		return nil, err
	}
	a.Submit(weir.Claims{})
	return a.Wait()
}

// NewAcceptance implements [weir.Accepter].
func (s *Store) NewAcceptance(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) (weir.Acceptance, error) {
	var mistakes []weir.FieldError
	for i := range specs {
		mistakes = append(mistakes, CheckSpec(i, &specs[i])...)
	}
	if len(mistakes) > 0 {
		return nil, &weir.Error{Code: weir.CodeInvalid, Message: "contacts cannot be stored", Fields: mistakes}
	}
	a := &acceptance{s: s, channel: channel, specs: specs}
	r := &commit.Request{Channels: []weir.ChannelID{channel}, Work: a, Rows: len(specs), Answer: a.done}
	for i := range specs {
		r.Bytes += SpecBytes(&specs[i])
	}
	var err error
	if a.call, err = s.NewCall(ctx, r); err != nil {
		return nil, err
	}
	return a, nil
}

// acceptance is the work of [Store.Accept].
type acceptance struct {
	s        *Store
	channel  weir.ChannelID
	specs    []weir.Spec
	claims   weir.Claims
	call     *commit.Call
	request  *commit.Request
	accepted []weir.Accepted
	reused   *weir.Error // keys are in use for contacts with other content
}

// Submit implements [weir.Acceptance].
func (a *acceptance) Submit(c weir.Claims) bool {
	return a.call.Submit(func() { a.claims = c })
}

// Wait implements [weir.Acceptance].
func (a *acceptance) Wait() ([]weir.Accepted, error) {
	if err := a.call.Wait(); err != nil {
		return nil, err
	}
	return a.accepted, nil
}

func (a *acceptance) done(err error) {
	if a.claims.Done == nil {
		return
	}
	if err != nil {
		a.claims.Done(nil, err)
		return
	}
	a.claims.Done(a.accepted, nil)
}

// Write implements [Work].
func (a *acceptance) Write(t *commit.Tx, r *commit.Request) error {
	if err := t.Admits(a.channel); err != nil {
		r.Refuse(err)
		return nil
	}
	t.GiveIDs(r, len(a.specs))
	a.request, a.reused = r, nil
	a.accepted = make([]weir.Accepted, len(a.specs))
	claimed := 0
	if a.claims.First > 0 && holds(t, a.claims.Lease) {
		claimed = a.claims.First
	}
	p := &a.s.part
	for i := range a.specs {
		c := NewContact(weir.Ref{Channel: a.channel, ID: weir.ContactID(r.IDs[i])}, a.specs[i], r.At)
		if i < claimed {
			if now, err := c.Claim(c.QueuedAt); err == nil { // otherwise it has to wait
				c.Progress = now
			}
		}
		p.accepted = append(p.accepted, Insertion{Contact: c, Into: &a.accepted[i], from: a, index: i})
	}
	return nil
}

// holds reports whether a lease is good, inside a batch and until its end.
func holds(t *commit.Tx, l weir.Lease) bool {
	state := t.Channel(l.Channel)
	return state.ID != 0 && state.Owner == l.Owner && state.Epoch == l.Epoch
}

// InsertContacts inserts contacts and reports the result of each. Where a key is
// taken the contact that has it stays.
func (p *part) insertContacts(t *commit.Tx, list []Insertion) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		list[i].Into.Contact = list[i].Contact
	}
	if err := p.insert(t, list); err != nil {
		return err
	}
	waiting := make([]*weir.Contact, 0, len(list))
	for i := range list {
		c := &list[i].Contact
		switch {
		case list[i].Into.Duplicate:
		case c.State == weir.Sending:
			p.landing.records = append(p.landing.records, record{c.Ref, kept(c.Progress)})
			p.countAccepted(t, c)
			if t.WritesContactEvents() {
				p.emitClaimed(t, c)
			}
		default:
			waiting = append(waiting, c)
			p.countAccepted(t, c)
		}
	}
	return insertWaiting(t, waiting)
}

// countAccepted counts a new contact, and wakes an owner elsewhere.
func (p *part) countAccepted(t *commit.Tx, c *weir.Contact) {
	d := p.counts[c.Channel]
	d.queued += values.Number(c.State.Waiting())
	d.inFlight += values.Number(c.State.InFlight())
	p.counts[c.Channel] = d
	state := t.Channel(c.Channel)
	if state.Live && state.Owner != "" && state.Owner != p.s.Owner && !slices.Contains(p.wakes, c.Channel) {
		p.wakes = append(p.wakes, c.Channel)
	}
}
