package web

import (
	"context"
	"net/http"
	"slices"

	"weir"
	"weir/channels"
)

// acceptingChannel returns the channel that contacts are for, from memory if it
// was read within acceptFresh: otherwise a client that sends one contact per
// request would cause a read of the row each time.
func (s *service) acceptingChannel(ctx context.Context, name string) (weir.Channel, error) {
	ch, ok, err := s.callbacks.live(ctx, name)
	if err != nil || !ok {
		return s.channel(ctx, name)
	}
	return ch, nil
}

func (s *service) postContacts(c *call) (reply, error) {
	name := c.r.PathValue("channel")
	ch, err := s.acceptingChannel(c, name)
	if err != nil {
		return reply{}, err
	}
	wrong := slices.Clone(c.wrong.list)
	out, err := s.takeContacts(c, ch)
	switch weir.CodeOf(err) {
	case weir.CodeNotFound, weir.CodeConflict, weir.CodeInvalid:
	default:
		return out, err
	}
	// The rejection may be due to an outdated cached row.
	s.callbacks.forget(name)
	now, lost := s.channel(c, name)
	switch {
	case lost != nil:
		return reply{}, lost
	case now.ID == ch.ID && now.Version == ch.Version:
		return out, err
	}
	c.wrong.list = wrong
	return s.takeContacts(c, now)
}

func (s *service) takeContacts(c *call, ch weir.Channel) (reply, error) {
	t, err := s.typeOfChannel(ch)
	if err != nil {
		return reply{}, err
	}
	batch := batchReader{
		now: s.Now(), content: t.Content, typeName: t.Name,
		capacity: ch.Capacity, reserve: channels.ReplyReserve(ch.Settings), wrong: &c.wrong,
	}
	specs := batch.read(c.body)
	if err := c.refuse(); err != nil {
		return reply{}, err
	}
	if ch.Deleting {
		return reply{}, weir.Errorf(weir.CodeConflict, "channel %s is being deleted and takes no contacts", ch.Name)
	}
	accepted, err := s.Broker.Accept(c, ch, specs)
	if err != nil {
		return reply{}, err
	}
	list := AcceptedList{Contacts: make([]AcceptedView, 0, len(accepted))}
	for i := range accepted {
		a := &accepted[i]
		list.Contacts = append(list.Contacts, AcceptedView{
			ID: a.Contact.Ref.String(), Key: a.Contact.Key, State: a.Contact.State.String(), Duplicate: a.Duplicate,
		})
	}
	return reply{status: http.StatusAccepted, body: list}, nil
}

// contact finds a contact by the id in a path.
func (s *service) contact(c *call) (weir.Contact, []weir.Attempt, error) {
	ref, err := weir.ParseRef(c.r.PathValue("id"))
	if err != nil {
		return weir.Contact{}, nil, weir.Errorf(weir.CodeNotFound, "there is no such contact")
	}
	contact, ended, err := s.Store.Contact(c, ref)
	if weir.CodeOf(err) == weir.CodeNotFound {
		return weir.Contact{}, nil, weir.Errorf(weir.CodeNotFound, "there is no contact %s", ref)
	}
	return contact, ended, err
}

func (s *service) getContact(c *call) (reply, error) {
	contact, ended, err := s.contact(c)
	if err != nil {
		return reply{}, err
	}
	ch, err := s.Store.ChannelByID(c, contact.Channel)
	if err != nil {
		return reply{}, err
	}
	v := contactView(&contact, ch.Name, attemptViews(&contact, ended))
	why, err := s.whyOf(c, ch, &contact)
	if err != nil {
		return reply{}, err
	}
	v.Why, v.WhyCode = why.Text, why.Code
	if !c.pii() {
		maskContact(&v)
	}
	return reply{status: http.StatusOK, body: v}, nil
}

func outcomeWords() []string {
	var words []string
	for _, o := range weir.Outcomes() {
		words = append(words, string(o))
	}
	return words
}

func (s *service) listContacts(c *call) (reply, error) {
	f := weir.ContactFilter{
		States: statesOf(c.query.words("state")), Survey: c.query.text("survey"), Key: c.query.text("key"),
		Limit: c.query.number("limit"), Cursor: c.query.text("cursor"), Outcome: weir.Outcome(c.query.text("outcome")),
		Newest: c.query.text("order") == orderNewest,
	}
	f.Since, _ = c.instant("since")
	f.Until, _ = c.instant("until")
	f.FinishedSince, _ = c.instant("finished_since")
	f.FinishedUntil, _ = c.instant("finished_until")
	if (!f.FinishedSince.IsZero() || !f.FinishedUntil.IsZero()) && len(f.States) > 0 && !slices.Contains(f.States, weir.Done) {
		c.wrong.add("/state", "enum", "must have done among them, or be absent, where finished_since or finished_until is given")
	}
	if err := c.refuse(); err != nil {
		return reply{}, err
	}
	return s.contactsOf(c, f, c.query.text("channel"))
}

// contactsOf returns a page of contacts, of one channel if it is named.
func (s *service) contactsOf(c *call, f weir.ContactFilter, channel string) (reply, error) {
	known := map[weir.ChannelID]weir.Channel{}
	if channel != "" {
		ch, err := s.channel(c, channel)
		if err != nil {
			return reply{}, err
		}
		f.Channel, known[ch.ID] = ch.ID, ch
	}
	rows, next, err := s.Store.Contacts(c, f)
	if err != nil {
		return reply{}, err
	}
	page := ContactList{Contacts: make([]ContactView, 0, len(rows)), NextCursor: next}
	for i := range rows {
		ch, err := s.channelOf(c, rows[i].Channel, known)
		if err != nil {
			return reply{}, err
		}
		v := contactView(&rows[i], ch.Name, attemptViews(&rows[i], nil))
		if !c.pii() {
			maskContact(&v)
		}
		page.Contacts = append(page.Contacts, v)
	}
	return reply{status: http.StatusOK, body: page}, s.explain(c, rows, known, page.Contacts)
}

// channelOf reads each channel once per request.
func (s *service) channelOf(ctx context.Context, id weir.ChannelID, known map[weir.ChannelID]weir.Channel) (weir.Channel, error) {
	if ch, ok := known[id]; ok {
		return ch, nil
	}
	ch, err := s.Store.ChannelByID(ctx, id)
	if err == nil {
		known[id] = ch
	}
	return ch, err
}

func (s *service) cancelContact(c *call) (reply, error) {
	contact, _, err := s.contact(c)
	if err != nil {
		return reply{}, err
	}
	if contact.State == weir.Done {
		return alreadyDone(&contact)
	}
	state, err := s.Broker.Cancel(c, contact.Ref)
	if weir.CodeOf(err) == weir.CodeConflict {
		// It was done meanwhile.
		if contact, _, err = s.contact(c); err != nil {
			return reply{}, err
		}
		return alreadyDone(&contact)
	}
	if err != nil {
		return reply{}, err
	}
	v := CanceledView{ID: contact.Ref.String(), State: state.String()}
	if state == weir.Done {
		v.Outcome = weir.Canceled
		return reply{status: http.StatusOK, body: v}, nil
	}
	return reply{status: http.StatusAccepted, body: v}, nil
}

// alreadyDone returns the response to the cancellation of a contact that is
// done.
func alreadyDone(c *weir.Contact) (reply, error) {
	if c.Outcome != weir.Canceled {
		return reply{}, weir.Errorf(weir.CodeConflict, "contact %s is %s already: %s", c.Ref, c.State, c.Outcome)
	}
	return reply{status: http.StatusOK, body: CanceledView{c.Ref.String(), c.State.String(), c.Outcome}}, nil
}

func (s *service) listIncoming(c *call) (reply, error) {
	ch, err := s.channel(c, c.r.PathValue("channel"))
	if err != nil {
		return reply{}, err
	}
	most := c.query.number("limit")
	rows, err := s.Store.IncomingSince(c, ch.ID, int64(c.query.number("after")), most+1)
	if err != nil {
		return reply{}, err
	}
	page := incomingList(rows, most)
	for i := range page.Incoming {
		if !c.pii() {
			maskIncoming(&page.Incoming[i])
		}
	}
	return reply{status: http.StatusOK, body: page}, nil
}
