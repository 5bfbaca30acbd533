package persistence

import (
	"context"
	"slices"
	"time"

	"weir"
)

// Accept implements [weir.Accepter].
func (s *Store) Accept(ctx context.Context, channel weir.ChannelID, specs []weir.Spec) ([]weir.Accepted, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	var mistakes []weir.FieldError
	for i := range specs {
		mistakes = append(mistakes, checkSpec(i, &specs[i])...)
	}
	if len(mistakes) > 0 {
		return nil, &weir.Error{Code: weir.CodeInvalid, Message: "contacts cannot be stored", Fields: mistakes}
	}
	got, err := s.await(ctx, func(ctx context.Context, answer func(outcome)) *request {
		return newAcceptance(ctx, channel, specs, answer)
	})
	if err != nil {
		return nil, err
	}
	return got.accepted, nil
}

// patience is how long a caller waits for a store that went down after the
// request was submitted.
const patience = 2 * time.Second

// await submits a request to the writer and waits for the answer. Once the store is
// down it does not wait for its return: the request is canceled, unless its
// COMMIT was sent.
func (s *Store) await(ctx context.Context, build func(context.Context, func(outcome)) *request) (outcome, error) {
	if s.writer.down.Load() {
		return outcome{}, unavailable("the store is down", nil)
	}
	ctx, takeBack := context.WithCancel(ctx)
	defer takeBack()
	answered := make(chan outcome, 1)
	if err := s.writer.submit(build(ctx, func(o outcome) { answered <- o })); err != nil {
		return outcome{}, unavailable("the store takes nothing", err)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case o := <-answered:
			return o, o.err
		case <-ctx.Done():
			return outcome{}, unavailable("it is not known whether this was stored", ctx.Err())
		case <-late.C:
			if s.writer.down.Load() {
				return outcome{}, unavailable("the store is down; it is not known whether this was stored", nil)
			}
			late.Reset(patience)
		}
	}
}

// accept inserts the contacts of all acceptances at once.
func (t *transaction) accept() error {
	var list []insertion
	for _, r := range t.b.requests {
		if r.specs == nil {
			continue
		}
		if r.outcome.err = t.admits(r.channel); r.outcome.err != nil {
			continue
		}
		if r.refusal != nil {
			r.outcome.err = r.refusal
			continue
		}
		t.giveIDs(r, len(r.specs))
		r.outcome.accepted = make([]weir.Accepted, len(r.specs))
		for i := range r.specs {
			ref := weir.Ref{Channel: r.channel, ID: weir.ContactID(r.ids[i])}
			list = append(list, insertion{contact: newContact(ref, r.specs[i], r.at), into: &r.outcome.accepted[i], from: r, index: i})
		}
	}
	return t.insertContacts(list)
}

// insertContacts inserts contacts and reports the result of each. Where a key is
// taken the contact that has it stays.
func (t *transaction) insertContacts(list []insertion) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		list[i].into.Contact = list[i].contact
	}
	if err := t.insert(list); err != nil {
		return err
	}
	fresh := make([]*weir.Contact, 0, len(list))
	for i := range list {
		if !list[i].into.Duplicate {
			fresh = append(fresh, &list[i].contact)
		}
	}
	t.countAccepted(fresh)
	return t.insertWaiting(fresh)
}

// admits returns an error unless a channel takes contacts.
func (t *transaction) admits(channel weir.ChannelID) error {
	switch state := t.states[channel]; {
	case state.ID == 0, state.Deleted:
		return weir.Errorf(weir.CodeNotFound, "no such channel")
	case state.Deleting:
		return weir.Errorf(weir.CodeConflict, "the channel is being deleted")
	}
	return nil
}

// giveIDs gives a request n ids at its first try.
func (t *transaction) giveIDs(r *request, n int) {
	if r.ids != nil {
		return
	}
	r.at = time.Now()
	r.ids = make([]int64, n)
	for i := range r.ids {
		r.ids[i] = t.w.s.ids.next(r.at)
	}
}

// countAccepted counts new contacts, and wakes owners elsewhere.
func (t *transaction) countAccepted(list []*weir.Contact) {
	for _, c := range list {
		d := t.counts[c.Channel]
		d.queued++
		t.counts[c.Channel] = d
		state := t.states[c.Channel]
		if state.Live && state.Owner != "" && state.Owner != t.w.s.owner && !slices.Contains(t.wakes, c.Channel) {
			t.wakes = append(t.wakes, c.Channel)
		}
	}
}
