package api

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/ops"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
)

// CanceledView is the response to a cancellation.
type CanceledView struct {
	ID      string       `json:"id"`
	State   string       `json:"state" enum:"sending,active,unknown,done" doc:"its state after the request; sending, active or unknown: the provider is asked to cancel it"`
	Outcome weir.Outcome `json:"outcome,omitempty"`
}

func (s *Service) contactRoutes() []*route.Route {
	const one = "/v1/contacts/{id}"
	return []*route.Route{
		{
			Method: "POST", Path: "/v1/channels/{channel}/contacts", ID: "post-contacts", Tag: "contacts",
			Summary: "Queue contacts on a channel",
			Description: "1 to 1000 contacts, all or none. They are durable before the response. " +
				"A contact's key makes the request safe to repeat: a key that the channel knows with the same content yields the contact that has it, marked as duplicate, and queues nothing. " +
				"With other content the request is refused (409, key_reused), and errors names for each such contact the fields that differ. " +
				"After a 503 or a lost connection it is not known whether the contacts were queued; repeat the request with the same keys.",
			Body: route.TypeOf[ContactsBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBatchBody, Handle: s.postContacts,
			Answers: []route.Answer{{Status: http.StatusAccepted, Description: "queued durably, in the order of the request", Body: route.TypeOf[AcceptedList]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict, weir.CodeKeyReused},
		},
		{
			Method: "GET", Path: "/v1/contacts", ID: "list-contacts", Tag: "contacts",
			Summary: "List contacts",
			Description: "With order=oldest, which is the default, by channel and then in order of acceptance; with a state or an outcome, and neither since nor until, in the order in which contacts came into it. " +
				"With order=newest the reverse, over all channels: the latest accepted first or, with a state, the latest to enter it first (several states one after the other; with a key by channel). " +
				"With finished_since or finished_until in the order of the ends. With finished_after in that order over all channels, for a client that polls. " +
				"A page may be short, or empty, and yet not be the last: that one has no next_cursor. Contacts that arrive meanwhile move none between pages.",
			Query: append([]wire.Parameter{
				{Name: "channel", Kind: "string", Description: "name of the channel"},
				{Name: "state", Kind: "string", Enum: stateWords(), Description: "one or more states, joined by commas"},
				{Name: "outcome", Kind: "string", Enum: wire.Words(weir.Outcomes()), Single: true, Description: "only contacts that ended so"},
				{Name: "survey", Kind: "string", Description: "name of the survey"},
				{Name: "key", Kind: "string", Description: "idempotency key, chosen by the client"},
				{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339), to the millisecond: contacts accepted then or later"},
				{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339), to the millisecond: contacts accepted before"},
				{Name: "finished_since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): only contacts that finished at or after it"},
				{Name: "finished_until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): only contacts that finished before it"},
				{Name: "finished_after", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): only contacts that finished after it, over all channels the earliest end first"},
				{Name: "order", Kind: "string", Enum: []string{"oldest", orderNewest}, Single: true, Description: "which contacts come first; oldest is the default"},
			}, route.Paging(100, 1000)...),
			Handle:  s.listContacts,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[ContactList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		s.searchRoute(),
		{
			Method: "GET", Path: one, ID: "get-contact", Tag: "contacts",
			Summary: "Get a contact, with its attempts", Handle: s.getContact,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the contact", Body: route.TypeOf[ContactView]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "DELETE", Path: one, ID: "cancel-contact", Tag: "contacts",
			Summary:     "Cancel a contact",
			Description: "A waiting contact is done at once. For a contact in flight the provider is asked to cancel it, and the contact ends with the outcome that the provider reports. Canceling a canceled contact again succeeds; canceling a contact that ended otherwise is a conflict.",
			Handle:      s.cancelContact,
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "it is canceled", Body: route.TypeOf[CanceledView]()}, {Status: http.StatusAccepted, Description: "the provider, or the process that runs the channel, is being asked", Body: route.TypeOf[CanceledView]()}},
			Codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
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
	v := []ContactView{contactView(&contact, ch.Name, attemptViews(&contact, ended))}
	if !c.PII() {
		maskContact(&v[0])
	}
	err = s.addReasons(c, []weir.Contact{contact}, map[weir.ChannelID]weir.Channel{ch.ID: ch}, v)
	return route.Reply{Status: http.StatusOK, Body: v[0]}, err
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
	f.FinishedAfter, _ = c.Instant("finished_after")
	if (!f.FinishedSince.IsZero() || !f.FinishedUntil.IsZero() || !f.FinishedAfter.IsZero()) && len(f.States) > 0 && !slices.Contains(f.States, weir.Done) {
		c.Errors.Add("/state", "enum", "must have done among them, or be absent, where finished_since, finished_until or finished_after is given")
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

func stateWords() []string { return []string{"queued", "sending", "active", "unknown", "done"} }

// statesOf maps clients' words to states.
func statesOf(words []string) []weir.State {
	var states []weir.State
	for s := weir.Queued; s <= weir.Done; s++ {
		if slices.Contains(words, s.String()) {
			states = append(states, s)
		}
	}
	return states
}

// addReasons sets why contacts wait, with one call for each of their channels. All of
// the channels are in known.
func (s *Service) addReasons(ctx context.Context, rows []weir.Contact, known map[weir.ChannelID]weir.Channel, views []ContactView) error {
	open := map[weir.ChannelID][]int{}
	for i := range rows {
		if rows[i].State != weir.Done {
			open[rows[i].Channel] = append(open[rows[i].Channel], i)
		}
	}
	for id, places := range open {
		contacts := make([]weir.Contact, len(places))
		for i, place := range places {
			contacts[i] = rows[place]
		}
		list, err := s.Broker.Whys(ctx, known[id], contacts)
		if err != nil {
			return err
		}
		for i, place := range places {
			views[place].Why, views[place].WhyCode, views[place].WhyInstants = list[i].Text, list[i].Code, list[i].Instants()
		}
	}
	return nil
}

// orderNewest is the list order that begins with the latest.
const orderNewest = "newest"

// SearchBody is the body of a search for a phone number.
type SearchBody struct {
	To      string     `json:"to" minLength:"1" maxLength:"255" pattern:"^[ -~]+$" patternDescription:"printable ASCII characters" doc:"a phone number, with or without the plus (spaces, dots, dashes, slashes and brackets in it do not count), or an address in the form of a channel type" example:"+1 555 0001"`
	Channel string     `json:"channel,omitempty" maxLength:"63" doc:"name of the channel; absent: all, one after the other"`
	Since   *time.Time `json:"since,omitempty" doc:"only contacts accepted at or after this instant"`
	Until   *time.Time `json:"until,omitempty" doc:"only contacts accepted before this instant"`
	Limit   int        `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"most entries of a page"`
	Cursor  string     `json:"cursor,omitempty" maxLength:"512" doc:"next_cursor of the page before"`
}

func (s *Service) searchRoute() *route.Route {
	return &route.Route{
		Method: "POST", Path: "/v1/contacts:search", ID: "search-contacts", Tag: "contacts",
		Summary: "Find the contacts of a phone number",
		Description: "The number is in the body so that no address, log or history keeps it. The search is in the audit log, without the number. " +
			"By channel, the latest accepted first. No index has numbers: a request examines up to 100,000 contacts, so that a page may be empty and yet not be the last. " +
			"A channel and an interval make a search short. A number without a country code is found on channels that have a region.",
		Body: route.TypeOf[SearchBody](), BodyTypes: []string{wire.JSONType}, BodyLimit: wire.MaxBody, Handle: s.searchContacts, Repeatable: true,
		Also:    []ops.Scope{ops.ScopePIIRead}, // otherwise numbers could be found by trial
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[ContactList]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (s *Service) searchContacts(c *route.Call) (route.Reply, error) {
	given, _ := c.Body["to"].(string)
	channel, _ := c.Body["channel"].(string)
	channel = strings.TrimSpace(channel)
	regions, err := s.regions(c, channel)
	if err != nil {
		return route.Reply{}, err
	}
	addresses := s.addressesOf(strings.TrimSpace(given), regions)
	if len(addresses) == 0 {
		c.Errors.Add("/to", "format", "must be a phone number of 3 to 15 digits, or an address in the form of a channel type")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	f := weir.ContactFilter{To: addresses, Since: instantOf(c.Body["since"]), Until: instantOf(c.Body["until"]), Limit: 100}
	if n, ok := c.Body["limit"].(float64); ok {
		f.Limit = int(n)
	}
	f.Cursor, _ = c.Body["cursor"].(string)
	out, err := s.contactsOf(c, f, channel)
	out.Changes = []ops.FieldChange{{Field: "to", After: auth.MaskNumber(addresses[0])}}
	if channel != "" {
		out.Changes = append(out.Changes, ops.FieldChange{Field: "channel", After: channel})
	}
	return out, err
}

// phoneSigns matches a phone number as people write it.
var phoneSigns = regexp.MustCompile(`^[+0-9 ().\-/]+$`)

// regions returns the regions of a channel, or of all channels, and an empty one for
// channels without.
func (s *Service) regions(ctx context.Context, channel string) ([]string, error) {
	if channel != "" {
		ch, err := s.channel(ctx, channel)
		return []string{channels.Region(ch.Settings)}, err
	}
	const page = 500
	list, after := []string{""}, ""
	for {
		rows, err := s.Store.Channels(ctx, after, page)
		for i := range rows {
			if region := channels.Region(rows[i].Settings); !slices.Contains(list, region) {
				list = append(list, region)
			}
		}
		if err != nil || len(rows) < page {
			return list, err
		}
		after = rows[page-1].Name
	}
}

// addressesOf returns the canonical forms that an address may have, by channel type
// and region.
func (s *Service) addressesOf(given string, regions []string) []string {
	var list []string
	if digits := auth.Digits(given); phoneSigns.MatchString(given) && len(digits) >= 3 && len(digits) <= 15 {
		list = append(list, digits, "+"+digits)
	}
	for _, t := range s.Directory.Types() {
		for _, region := range regions {
			if to, err := t.CanonicalAddress(given, region); err == nil && !slices.Contains(list, to) {
				list = append(list, to)
			}
		}
	}
	return list
}
