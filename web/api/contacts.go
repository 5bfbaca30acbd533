package api

import (
	"context"
	"net/http"
	"slices"

	"weir"
	"weir/channels"
	"weir/web/route"
)

// acceptingChannel returns the channel that contacts are for, from memory if it
// was read within acceptFresh: otherwise a client that sends one contact per
// request would cause a read of the row each time.
func (s *Service) acceptingChannel(ctx context.Context, name string) (weir.Channel, error) {
	ch, ok, err := s.Index.Live(ctx, name)
	if err != nil || !ok {
		return s.channel(ctx, name)
	}
	return ch, nil
}

func (s *Service) postContacts(c *route.Call) (route.Reply, error) {
	name := c.Request.PathValue("channel")
	ch, err := s.acceptingChannel(c, name)
	if err != nil {
		return route.Reply{}, err
	}
	wrong := slices.Clone(c.Errors)
	out, err := s.acceptContacts(c, ch)
	switch weir.CodeOf(err) {
	case weir.CodeNotFound, weir.CodeConflict, weir.CodeInvalid:
	default:
		return out, err
	}
	// The rejection may be due to an outdated cached row.
	s.Index.Forget(name)
	now, lost := s.channel(c, name)
	switch {
	case lost != nil:
		return route.Reply{}, lost
	case now.ID == ch.ID && now.Version == ch.Version:
		return out, err
	}
	c.Errors = wrong
	return s.acceptContacts(c, now)
}

func (s *Service) acceptContacts(c *route.Call, ch weir.Channel) (route.Reply, error) {
	t, err := s.typeOfChannel(ch)
	if err != nil {
		return route.Reply{}, err
	}
	batch := batchReader{
		now: s.Now(), content: t.Content, typeName: t.Name,
		capacity: ch.Capacity, reserve: channels.ReplyReserve(ch.Settings), errors: &c.Errors,
	}
	specs := batch.read(c.Body)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if ch.Deleting {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "channel %s is being deleted and takes no contacts", ch.Name)
	}
	accepted, err := s.Broker.Accept(c, ch, specs)
	if err != nil {
		return route.Reply{}, err
	}
	list := AcceptedList{Contacts: make([]AcceptedView, 0, len(accepted))}
	for i := range accepted {
		a := &accepted[i]
		list.Contacts = append(list.Contacts, AcceptedView{
			ID: a.Contact.Ref.String(), Key: a.Contact.Key, State: a.Contact.State.String(), Duplicate: a.Duplicate,
		})
	}
	return route.Reply{Status: http.StatusAccepted, Body: list}, nil
}

// contact finds a contact by the id in a path.
func (s *Service) contact(c *route.Call) (weir.Contact, []weir.Attempt, error) {
	ref, err := weir.ParseRef(c.Request.PathValue("id"))
	if err != nil {
		return weir.Contact{}, nil, weir.Errorf(weir.CodeNotFound, "there is no such contact")
	}
	contact, ended, err := s.Store.Contact(c, ref)
	if weir.CodeOf(err) == weir.CodeNotFound {
		return weir.Contact{}, nil, weir.Errorf(weir.CodeNotFound, "there is no contact %s", ref)
	}
	return contact, ended, err
}

func (s *Service) getContact(c *route.Call) (route.Reply, error) {
	contact, ended, err := s.contact(c)
	if err != nil {
		return route.Reply{}, err
	}
	ch, err := s.Store.ChannelByID(c, contact.Channel)
	if err != nil {
		return route.Reply{}, err
	}
	v := contactView(&contact, ch.Name, attemptViews(&contact, ended))
	why, err := s.reasonFor(c, ch, &contact)
	if err != nil {
		return route.Reply{}, err
	}
	v.Why, v.WhyCode = why.Text, why.Code
	if !c.PII() {
		maskContact(&v)
	}
	return route.Reply{Status: http.StatusOK, Body: v}, nil
}

func outcomeWords() []string {
	var words []string
	for _, o := range weir.Outcomes() {
		words = append(words, string(o))
	}
	return words
}

func (s *Service) listContacts(c *route.Call) (route.Reply, error) {
	f := weir.ContactFilter{
		States: statesOf(c.Query.List("state")), Survey: c.Query.Text("survey"), Key: c.Query.Text("key"),
		Limit: c.Query.Int("limit"), Cursor: c.Query.Text("cursor"), Outcome: weir.Outcome(c.Query.Text("outcome")),
		Newest: c.Query.Text("order") == orderNewest,
	}
	f.Since, _ = c.Instant("since")
	f.Until, _ = c.Instant("until")
	f.FinishedSince, _ = c.Instant("finished_since")
	f.FinishedUntil, _ = c.Instant("finished_until")
	if (!f.FinishedSince.IsZero() || !f.FinishedUntil.IsZero()) && len(f.States) > 0 && !slices.Contains(f.States, weir.Done) {
		c.Errors.Add("/state", "enum", "must have done among them, or be absent, where finished_since or finished_until is given")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	return s.contactsOf(c, f, c.Query.Text("channel"))
}

// contactsOf returns a page of contacts, of one channel if it is named.
func (s *Service) contactsOf(c *route.Call, f weir.ContactFilter, channel string) (route.Reply, error) {
	known := map[weir.ChannelID]weir.Channel{}
	if channel != "" {
		ch, err := s.channel(c, channel)
		if err != nil {
			return route.Reply{}, err
		}
		f.Channel, known[ch.ID] = ch.ID, ch
	}
	rows, next, err := s.Store.Contacts(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	page := ContactList{Contacts: make([]ContactView, 0, len(rows)), NextCursor: next}
	for i := range rows {
		ch, err := s.channelOf(c, rows[i].Channel, known)
		if err != nil {
			return route.Reply{}, err
		}
		v := contactView(&rows[i], ch.Name, attemptViews(&rows[i], nil))
		if !c.PII() {
			maskContact(&v)
		}
		page.Contacts = append(page.Contacts, v)
	}
	return route.Reply{Status: http.StatusOK, Body: page}, s.addReasons(c, rows, known, page.Contacts)
}

// channelOf reads each channel once per request.
func (s *Service) channelOf(ctx context.Context, id weir.ChannelID, known map[weir.ChannelID]weir.Channel) (weir.Channel, error) {
	if ch, ok := known[id]; ok {
		return ch, nil
	}
	ch, err := s.Store.ChannelByID(ctx, id)
	if err == nil {
		known[id] = ch
	}
	return ch, err
}

func (s *Service) cancelContact(c *route.Call) (route.Reply, error) {
	contact, _, err := s.contact(c)
	if err != nil {
		return route.Reply{}, err
	}
	if contact.State == weir.Done {
		return alreadyDone(&contact)
	}
	state, err := s.Broker.Cancel(c, contact.Ref)
	if weir.CodeOf(err) == weir.CodeConflict {
		// It was done meanwhile.
		if contact, _, err = s.contact(c); err != nil {
			return route.Reply{}, err
		}
		return alreadyDone(&contact)
	}
	if err != nil {
		return route.Reply{}, err
	}
	v := CanceledView{ID: contact.Ref.String(), State: state.String()}
	if state == weir.Done {
		v.Outcome = weir.Canceled
		return route.Reply{Status: http.StatusOK, Body: v}, nil
	}
	return route.Reply{Status: http.StatusAccepted, Body: v}, nil
}

// alreadyDone returns the response to the cancellation of a contact that is
// done.
func alreadyDone(c *weir.Contact) (route.Reply, error) {
	if c.Outcome != weir.Canceled {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "contact %s is %s already: %s", c.Ref, c.State, c.Outcome)
	}
	return route.Reply{Status: http.StatusOK, Body: CanceledView{c.Ref.String(), c.State.String(), c.Outcome}}, nil
}

func (s *Service) listIncoming(c *route.Call) (route.Reply, error) {
	ch, err := s.channel(c, c.Request.PathValue("channel"))
	if err != nil {
		return route.Reply{}, err
	}
	most := c.Query.Int("limit")
	rows, err := s.Store.IncomingSince(c, ch.ID, int64(c.Query.Int("after")), most+1)
	if err != nil {
		return route.Reply{}, err
	}
	page := incomingList(rows, most)
	for i := range page.Incoming {
		if !c.PII() {
			maskIncoming(&page.Incoming[i])
		}
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}
