package queue

import (
	"context"
	"slices"

	"weir"
	"weir/persistence/commit"
)

// Accept implements [weir.Accepter].
func (s *Store) Accept(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) ([]weir.Accepted, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	var mistakes []weir.FieldError
	for i := range specs {
		mistakes = append(mistakes, CheckSpec(i, &specs[i])...)
	}
	if len(mistakes) > 0 {
		return nil, &weir.Error{Code: weir.CodeInvalid, Message: "contacts cannot be stored", Fields: mistakes}
	}
	a := &acceptance{s: s, channel: channel, specs: specs}
	r := &commit.Request{Channels: []weir.ChannelID{channel}, Work: a, Rows: len(specs)}
	for i := range specs {
		r.Bytes += SpecBytes(&specs[i])
	}
	if err := s.Await(ctx, r); err != nil {
		return nil, err
	}
	return a.accepted, nil
}

// acceptance is the work of [Store.Accept].
type acceptance struct {
	s        *Store
	channel  weir.ChannelID
	specs    []weir.Spec
	request  *commit.Request
	accepted []weir.Accepted
	reused   *weir.Error // keys are in use for contacts with other content
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
	p := &a.s.part
	for i := range a.specs {
		ref := weir.Ref{Channel: a.channel, ID: weir.ContactID(r.IDs[i])}
		p.accepted = append(p.accepted, Insertion{Contact: NewContact(ref, a.specs[i], r.At), Into: &a.accepted[i], from: a, index: i})
	}
	return nil
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
	fresh := make([]*weir.Contact, 0, len(list))
	for i := range list {
		if !list[i].Into.Duplicate {
			fresh = append(fresh, &list[i].Contact)
		}
	}
	p.countAccepted(t, fresh)
	return insertWaiting(t, fresh)
}

// countAccepted counts new contacts, and wakes owners elsewhere.
func (p *part) countAccepted(t *commit.Tx, list []*weir.Contact) {
	for _, c := range list {
		d := p.counts[c.Channel]
		d.queued++
		p.counts[c.Channel] = d
		state := t.Channel(c.Channel)
		if state.Live && state.Owner != "" && state.Owner != p.s.Owner && !slices.Contains(p.wakes, c.Channel) {
			p.wakes = append(p.wakes, c.Channel)
		}
	}
}
