package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/internal/phonenumber"
	"weir/internal/segments"
	"weir/operators"
	"weir/people"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// receiptView returns the receipt of an attempt; nil: it has none.
func receiptView(a *weir.Attempt) *api.ReceiptView {
	f, ok := people.ReadFacts(a.Receipt)
	if !ok {
		return nil
	}
	v := &api.ReceiptView{Text: f.Text(a.ClaimedAt), Clauses: f.Clauses(a.ClaimedAt), Purpose: f.Purpose, Rules: httpjson.Texts(f.Rules), Refused: f.Refused, Exempt: f.Exempt, Zones: f.Zones(), Until: httpjson.Instant(a.Receipt.Until)}
	if f.Consent != 0 {
		v.Consent = strconv.FormatInt(f.Consent, 10)
	}
	if local := f.Local(a.ClaimedAt); !local.IsZero() {
		v.Local = local.Format(time.RFC3339)
	}
	for _, l := range f.Left {
		v.Left = append(v.Left, api.LeftView(l))
	}
	return v
}

// specOf returns what a client asks for. What depends on the channel, the clock or several members is checked
// elsewhere; see [batchReader].
func specOf(given *api.ContactBody) weir.Spec {
	s := weir.Spec{
		Key: given.Key, Priority: weir.Normal, Survey: given.Survey, Purpose: given.Purpose, TimeZone: given.TimeZone,
		Messages: given.Messages, NotBefore: given.NotBefore, NotAfter: given.NotAfter,
	}
	if i := slices.Index(priorityWords(), given.Priority); i >= 0 {
		s.Priority = weir.Priority(i)
	}
	if len(given.Labels) > 0 {
		s.Labels = given.Labels
	}
	if given.Call != nil {
		call := weir.Call(*given.Call)
		s.Call = &call
	}
	return s
}

func contactView(c *weir.Contact, channel string, attempts []api.AttemptView) api.ContactView {
	return api.ContactView{
		ID: c.Ref.String(), Channel: channel, Key: c.Key, To: c.To, Priority: priorityWord(c.Priority),
		Survey: c.Survey, Purpose: c.Purpose, TimeZone: c.TimeZone, Rule: c.Receipt.Rule, Labels: c.Labels, Messages: c.Messages, Call: c.Call,
		NotBefore: httpjson.Instant(c.NotBefore), NotAfter: httpjson.Instant(c.NotAfter), Size: c.Size(), Segments: segments.Total(c.Messages),
		State: c.State.String(), Canceling: c.CancelRequested && c.State.InFlight(),
		Outcome: string(c.Outcome), Reason: c.Reason, QueuedAt: c.QueuedAt.UTC(), FinishedAt: httpjson.Instant(c.FinishedAt),
		Attempts: attempts,
	}
}

// attemptViews returns the ended attempts and, unless it is among them or the
// contact is back in the queue, the current one.
func attemptViews(c *weir.Contact, ended []weir.Attempt) []api.AttemptView {
	views := make([]api.AttemptView, 0, len(ended)+1)
	last := 0
	for _, a := range ended {
		views = append(views, attemptView(c.Ref, a))
		last = max(last, a.Number)
	}
	if now := c.Current(); now.Number > last && !c.State.Waiting() {
		views = append(views, attemptView(c.Ref, now))
	}
	return views
}

func attemptView(ref weir.Ref, a weir.Attempt) api.AttemptView {
	return api.AttemptView{
		ID: weir.AttemptRef{Ref: ref, Number: a.Number}.String(), Number: a.Number,
		ClaimedAt: httpjson.Instant(a.ClaimedAt), SentAt: httpjson.Instant(a.SentAt), ProviderRef: a.ProviderRef,
		LastHeardAt: httpjson.Instant(a.HeardAt), FinishedAt: httpjson.Instant(a.FinishedAt), Outcome: string(a.Outcome), Reason: a.Reason, Receipt: receiptView(&a),
	}
}

// maskContact masks the phone numbers in a contact.
func maskContact(v *api.ContactView) {
	number := v.To
	own := func(text string) string { return auth.MaskOwn(text, number) }
	v.To, v.Key, v.Survey, v.Reason = auth.MaskNumber(number), own(v.Key), own(v.Survey), own(v.Reason)
	v.Labels = auth.MaskValues(v.Labels, number)
	v.Messages = slices.Clone(v.Messages)
	for i := range v.Messages {
		v.Messages[i] = auth.MaskText(v.Messages[i])
	}
	if v.Call != nil {
		v.Call = &api.Call{CallbackURL: own(v.Call.CallbackURL), CallFlowID: v.Call.CallFlowID, TwiML: auth.MaskText(v.Call.TwiML)}
	}
	for i := range v.Attempts {
		a := &v.Attempts[i]
		a.ProviderRef, a.Reason = own(a.ProviderRef), own(a.Reason)
	}
}

// contactReader reads a contact.
type contactReader interface {
	Contact(ctx context.Context, ref weir.Ref) (weir.Contact, []weir.Attempt, error)
}

// contactCanceler cancels contacts.
type contactCanceler interface {
	// Cancel cancels a contact. Done: it is canceled; any other state: the
	// provider, or the process that runs the channel, is being asked.
	Cancel(ctx context.Context, ref weir.Ref) (weir.State, error)
}

// contactRoutes serves stored contacts.
type contactRoutes struct {
	lookup channelLookup
	store  contactReader
	broker contactCanceler
	pages  contactPages
}

func (r *contactRoutes) table() []*route.Route {
	const one = "/v1/contacts/{id}"
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/contacts", ID: "list-contacts", Tag: "contacts",
			Summary: "List contacts",
			Description: "With order=oldest, which is the default, by channel and then in order of acceptance; with a state or an outcome, and neither since nor until, in the order in which contacts came into it. " +
				"With order=newest the reverse, over all channels: the latest accepted first or, with a state, the latest to enter it first (several states one after the other; with a key by channel). " +
				"With finished_since or finished_until in the order of the ends. With finished_after in that order over all channels, for a client that polls. " +
				"A page may be short, or empty, and yet not be the last: that one has no next_cursor. Contacts that arrive meanwhile move none between pages.",
			Query:   append(contactFilters(), route.Paging(100, 1000)...),
			Handle:  r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.ContactList]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: one, ID: "get-contact", Tag: "contacts",
			Summary: "Get a contact, with its attempts", Handle: r.get,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the contact", Body: route.TypeOf[api.ContactView]()}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "DELETE", Path: one, ID: "cancel-contact", Tag: "contacts",
			Summary:     "Cancel a contact",
			Description: "A waiting contact is done at once. For a contact in flight the provider is asked to cancel it, and the contact ends with the outcome that the provider reports. Canceling a canceled contact again succeeds; canceling a contact that ended otherwise is a conflict.",
			Handle:      r.cancel,
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "it is canceled", Body: route.TypeOf[api.CanceledView]()}, {Status: http.StatusAccepted, Description: "the provider, or the process that runs the channel, is being asked", Body: route.TypeOf[api.CanceledView]()}},
			Codes:       []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

// contactFilters are the parameters that select contacts.
func contactFilters() []httpjson.Parameter {
	return []httpjson.Parameter{
		{Name: "channel", Kind: "string", Description: "name of the channel"},
		{Name: "state", Kind: "string", Enum: stateWords(), Description: "one or more states, joined by commas"},
		{Name: "outcome", Kind: "string", Enum: httpjson.Words(weir.Outcomes()), Single: true, Description: "only contacts that ended so"},
		{Name: "survey", Kind: "string", Description: "name of the survey"},
		{Name: "key", Kind: "string", Description: "idempotency key, chosen by the client"},
		{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339), to the millisecond: contacts accepted then or later"},
		{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339), to the millisecond: contacts accepted before"},
		{Name: "finished_since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): only contacts that finished at or after it"},
		{Name: "finished_until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): only contacts that finished before it"},
		{Name: "finished_after", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): only contacts that finished after it, over all channels the earliest end first"},
		{Name: "order", Kind: "string", Enum: []string{"oldest", orderNewest}, Single: true, Description: "which contacts come first; oldest is the default"},
	}
}

func (r *contactRoutes) get(c *route.Call) (route.Reply, error) {
	known := map[weir.ChannelID]weir.Channel{}
	contact, ended, err := contactOf(c, r.store, r.lookup, known)
	if err != nil {
		return route.Reply{}, err
	}
	ch, err := r.lookup.byID(c, contact.Channel, known)
	if err != nil {
		return route.Reply{}, err
	}
	v := []api.ContactView{contactView(&contact, ch.Name, attemptViews(&contact, ended))}
	if !c.PII() {
		maskContact(&v[0])
	}
	err = r.pages.addReasons(c, []weir.Contact{contact}, known, v)
	return route.Reply{Status: http.StatusOK, Body: v[0]}, err
}

func (r *contactRoutes) list(c *route.Call) (route.Reply, error) {
	f, err := r.filter(c)
	if err != nil {
		return route.Reply{}, err
	}
	f.Limit, f.Cursor = c.Query.Int("limit"), c.Query.Text("cursor")
	return r.pages.page(c, f, c.Query.Text("channel"))
}

// filter reads the filter of a list, except the channel.
func (r *contactRoutes) filter(c *route.Call) (weir.ContactFilter, error) {
	f := weir.ContactFilter{
		States: statesOf(c.Query.List("state")), Survey: c.Query.Text("survey"), Key: c.Query.Text("key"),
		Outcome: weir.Outcome(c.Query.Text("outcome")), Newest: c.Query.Text("order") == orderNewest,
	}
	f.Since, _ = c.Instant("since")
	f.Until, _ = c.Instant("until")
	f.FinishedSince, _ = c.Instant("finished_since")
	f.FinishedUntil, _ = c.Instant("finished_until")
	f.FinishedAfter, _ = c.Instant("finished_after")
	if (!f.FinishedSince.IsZero() || !f.FinishedUntil.IsZero() || !f.FinishedAfter.IsZero()) && len(f.States) > 0 && !slices.Contains(f.States, weir.Done) {
		c.Errors.Add("/state", "enum", "must have done among them, or be absent, where finished_since, finished_until or finished_after is given")
	}
	return f, c.Invalid()
}

// contactLister lists contacts.
type contactLister interface {
	Contacts(ctx context.Context, f weir.ContactFilter) (_ []weir.Contact, next string, err error)
}

// contactPages lists contacts.
type contactPages struct {
	lookup channelLookup
	store  contactLister
	broker waitExplainer
}

// waitExplainer explains why contacts wait.
type waitExplainer interface {
	// WaitReasons explains why each of some contacts of a channel waits, in their
	// order.
	WaitReasons(ctx context.Context, ch weir.Channel, contacts []weir.Contact) ([]operators.Why, error)
}

// page returns a page of contacts, of one channel if it is named.
func (p *contactPages) page(c *route.Call, f weir.ContactFilter, channel string) (route.Reply, error) {
	known := map[weir.ChannelID]weir.Channel{}
	if channel != "" {
		ch, err := p.lookup.selected(c, channel)
		if err != nil {
			return route.Reply{}, err
		}
		f.Channel, known[ch.ID] = ch.ID, ch
	}
	read, next, err := p.store.Contacts(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	page, rows := api.ContactList{Contacts: make([]api.ContactView, 0, len(read)), NextCursor: next}, read[:0]
	for i := range read {
		ch, err := p.lookup.byID(c, read[i].Channel, known)
		if err != nil {
			return route.Reply{}, err
		}
		if c.Reaches(operators.Channel(ch.Name)) {
			rows = append(rows, read[i])
			page.Contacts = append(page.Contacts, shownContact(c, &read[i], ch.Name))
		}
	}
	return route.Reply{Status: http.StatusOK, Body: page}, p.addReasons(c, rows, known, page.Contacts)
}

func (r *contactRoutes) cancel(c *route.Call) (route.Reply, error) {
	known := map[weir.ChannelID]weir.Channel{}
	contact, _, err := contactOf(c, r.store, r.lookup, known)
	if err != nil {
		return route.Reply{}, err
	}
	if contact.State == weir.Done {
		return alreadyDone(&contact)
	}
	state, err := r.broker.Cancel(c, contact.Ref)
	if weir.CodeOf(err) == weir.CodeConflict {
		// It was done meanwhile.
		if contact, _, err = contactOf(c, r.store, r.lookup, known); err != nil {
			return route.Reply{}, err
		}
		return alreadyDone(&contact)
	}
	if err != nil {
		return route.Reply{}, err
	}
	v := api.CanceledView{ID: contact.Ref.String(), State: state.String()}
	if state == weir.Done {
		v.Outcome = string(weir.Canceled)
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
	return route.Reply{Status: http.StatusOK, Body: api.CanceledView{ID: c.Ref.String(), State: c.State.String(), Outcome: string(c.Outcome)}}, nil
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
func (p *contactPages) addReasons(ctx context.Context, rows []weir.Contact, known map[weir.ChannelID]weir.Channel, views []api.ContactView) error {
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
		list, err := p.broker.WaitReasons(ctx, known[id], contacts)
		if err != nil {
			return err
		}
		for i, place := range places {
			views[place].WhyView = list[i].View()
		}
	}
	return nil
}

// orderNewest is the list order that begins with the latest.
const orderNewest = "newest"

// searchRoutes serves the search for the contacts of a phone number.
type searchRoutes struct {
	lookup    channelLookup
	directory *channels.Directory
	pages     contactPages
}

func (r *searchRoutes) table() []*route.Route {
	return []*route.Route{{
		Method: "POST", Path: "/v1/contacts:search", ID: "search-contacts", Tag: "contacts",
		Summary: "Find the contacts of a phone number",
		Description: "The number is in the body so that no address, log or history keeps it. The search is in the audit log, without the number. " +
			"By channel, the latest accepted first. No index has numbers: a request examines up to 100,000 contacts, so that a page may be empty and yet not be the last. " +
			"A channel and an interval make a search short. A number without a country code is found on channels that have a region.",
		Body: route.TypeOf[api.SearchBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.search, Repeatable: true,
		Also:    []operators.Scope{operators.ScopePIIRead}, // otherwise numbers could be found by trial
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.ContactList]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}}
}

func (r *searchRoutes) search(c *route.Call) (route.Reply, error) {
	given, _ := c.Body["to"].(string)
	channel, _ := c.Body["channel"].(string)
	channel = strings.TrimSpace(channel)
	regions, err := r.lookup.regions(c, channel)
	if err != nil {
		return route.Reply{}, err
	}
	addresses := spellings(r.directory.Types(), given, regions)
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
	out, err := r.pages.page(c, f, channel)
	out.Changes = []operators.FieldChange{{Field: "to", After: auth.MaskNumber(addresses[0])}}
	if channel != "" {
		out.Changes = append(out.Changes, operators.FieldChange{Field: "channel", After: channel})
	}
	return out, err
}

// spellings returns the forms in which contacts may have an address, by channel type and
// region: the canonical ones, and every notation of a phone number.
func spellings(types []channels.Type, given string, regions []string) []string {
	var list []string
	add := func(to string) {
		if !slices.Contains(list, to) {
			list = append(list, to)
		}
	}
	clean, err := phonenumber.Clean(given)
	if digits := auth.Digits(clean); err == nil && phonenumber.Written(clean) && len(digits) >= 3 && len(digits) <= 15 {
		add(digits)
		add("+" + digits)
	}
	forms := []string{given}
	for _, region := range regions {
		forms = append(forms, people.Numbers(people.CanonicalIn(given, region))...)
	}
	for _, form := range forms {
		for _, t := range types {
			for _, region := range regions {
				if to, err := t.CanonicalAddress(form, region); err == nil {
					add(to)
				}
			}
		}
		if phonenumber.IsE164(form) {
			add(form)
			add(strings.TrimPrefix(form, "+"))
		}
	}
	return list
}

// contactOf finds a contact by the id in a path. One that the sender's scopes do not reach is not found.
func contactOf(c *route.Call, store contactReader, lookup channelLookup, known map[weir.ChannelID]weir.Channel) (weir.Contact, []weir.Attempt, error) {
	ref, err := weir.ParseRef(c.Request.PathValue("id"))
	if err != nil {
		return weir.Contact{}, nil, weir.Errorf(weir.CodeNotFound, "there is no such contact")
	}
	return contactByRef(c, ref, store, lookup, known)
}

// contactByRef is contactOf for an id that was parsed.
func contactByRef(c *route.Call, ref weir.Ref, store contactReader, lookup channelLookup, known map[weir.ChannelID]weir.Channel) (weir.Contact, []weir.Attempt, error) {
	found, err := lookup.reaches(c, ref, known)
	if err == nil && found {
		contact, ended, err := store.Contact(c, ref)
		if weir.CodeOf(err) != weir.CodeNotFound {
			return contact, ended, err
		}
	}
	if err != nil {
		return weir.Contact{}, nil, err
	}
	return weir.Contact{}, nil, weir.Errorf(weir.CodeNotFound, "there is no contact %s", ref)
}
