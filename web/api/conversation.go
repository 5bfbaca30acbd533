package api

import (
	"context"
	"slices"
	"strconv"
	"time"

	"weir"
	"weir/api"
	"weir/channels"
	"weir/operators"
	"weir/web/httpjson"
	"weir/web/route"
)

// Finder finds contacts and messages by the address of a person.
type Finder struct {
	lookup    channelLookup
	directory *channels.Directory
	store     Store
	pages     contactPages
	broker    contactCanceler
}

// NewFinder returns a finder of contacts and messages.
func NewFinder(o Options, l Links) *Finder {
	lookup := channelLookup{l.Store}
	return &Finder{lookup, o.Directory, l.Store, contactPages{lookup, l.Store, l.Broker}, l.Broker}
}

// AddressOf returns the address of a contact.
func (f *Finder) AddressOf(c *route.Call, ref weir.Ref) (string, error) {
	contact, _, err := contactByRef(c, ref, f.store, f.lookup, map[weir.ChannelID]weir.Channel{})
	return contact.To, err
}

// schemes are what providers write before the number of a sender.
func schemes() []string { return []string{"sms://", "tel:", "whatsapp:"} }

// Spellings returns the forms in which channels may know an address.
func (f *Finder) Spellings(given string) []string {
	list := spellings(f.directory.Types(), given, []string{""})
	if !slices.Contains(list, given) {
		list = append(list, given)
	}
	return list
}

// senders returns the forms in which providers may have written a sender.
func senders(spellings []string) []string {
	list := slices.Clone(spellings)
	for _, s := range spellings {
		for _, scheme := range schemes() {
			list = append(list, scheme+s)
		}
	}
	return list
}

// wrote returns when a person has sent the latest message; zero: never.
func (f *Finder) wrote(ctx context.Context, address string) (time.Time, error) {
	list, err := f.store.IncomingFrom(ctx, senders(f.Spellings(address)), 0, 1)
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return list[0].ReceivedAt, nil
}

// Page returns what is older than an id of a contact or message, at most limit of both
// together; 0: the newest.
func (f *Finder) Page(c *route.Call, to []string, before int64, limit int) (api.Conversation, error) {
	found, err := f.store.ContactsTo(c, to, weir.ContactID(before), limit)
	if err != nil {
		return api.Conversation{}, err
	}
	messages, err := f.store.IncomingFrom(c, senders(to), before, limit+1)
	if err != nil {
		return api.Conversation{}, err
	}
	n, m, last := merge(found.Contacts, messages, limit)
	out := api.Conversation{UnsearchedSince: httpjson.Instant(found.GapSince), UnsearchedUntil: httpjson.Instant(found.GapUntil)}
	if found.More || n < len(found.Contacts) || m < len(messages) {
		out.NextCursor = strconv.FormatInt(last, 10)
	}
	known := map[weir.ChannelID]weir.Channel{}
	if out.Contacts, err = f.contacts(c, found.Contacts[:n], known); err != nil {
		return api.Conversation{}, err
	}
	out.Messages = make([]api.ReceivedView, 0, m)
	for i := range messages[:m] {
		ch, err := f.lookup.byID(c, messages[i].Channel, known)
		if err != nil {
			return api.Conversation{}, err
		}
		if c.Reaches(operators.Channel(ch.Name)) {
			out.Messages = append(out.Messages, api.ReceivedView{Channel: ch.Name, IncomingView: incomingView(&messages[i].Incoming)})
		}
	}
	return out, nil
}

// merge returns how many contacts and messages are the newest limit of both, and the id of the
// last of them. Their ids are of one order, that of time.
func merge(contacts []weir.Contact, messages []weir.Received, limit int) (n, m int, last int64) {
	for n+m < limit && (n < len(contacts) || m < len(messages)) {
		if m == len(messages) || n < len(contacts) && int64(contacts[n].ID) > messages[m].ID {
			last = int64(contacts[n].ID)
			n++
			continue
		}
		last = messages[m].ID
		m++
	}
	return n, m, last
}

// contacts returns the views of contacts that the sender's scopes reach, with all attempts.
func (f *Finder) contacts(c *route.Call, read []weir.Contact, known map[weir.ChannelID]weir.Channel) ([]api.ContactView, error) {
	views, rows := make([]api.ContactView, 0, len(read)), read[:0]
	for i := range read {
		ch, err := f.lookup.byID(c, read[i].Channel, known)
		if err != nil {
			return nil, err
		}
		if c.Reaches(operators.Channel(ch.Name)) {
			rows = append(rows, read[i])
		}
	}
	for i := range rows {
		var ended []weir.Attempt
		if rows[i].Attempt > 1 || rows[i].Attempt == 1 && rows[i].State.Waiting() {
			var err error
			if _, ended, err = f.store.Contact(c, rows[i].Ref); err != nil && weir.CodeOf(err) != weir.CodeNotFound {
				return nil, err
			}
		}
		views = append(views, contactView(&rows[i], known[rows[i].Channel].Name, attemptViews(&rows[i], ended)))
	}
	return views, f.pages.addReasons(c, rows, known, views)
}

// Erased is what [Finder.Erase] has done.
type Erased struct {
	Contacts, Messages int  // deleted
	Open               int  // contacts that are not done yet: they are to be canceled
	More               bool // there may be more: the time of a request is over, or the index of addresses is behind
}

// Erase deletes what went to an address and came from it, over all channels. A contact that is
// not done is canceled first; one in flight stays until it is done. A repetition continues
// where an error, or the end of the process, has interrupted it.
func (f *Finder) Erase(c *route.Call, to []string) (out Erased, err error) {
	until := time.Now().Add(cancelTime)
	page := weir.AddressPage{More: true}
	for before := weir.ContactID(0); page.More && !out.More; out.More = time.Now().After(until) {
		if page, err = f.store.ContactsTo(c, to, before, route.PageRows); err != nil {
			return out, err
		}
		var done []weir.Ref
		for i := range page.Contacts {
			is := &page.Contacts[i]
			before = is.ID
			if is.State != weir.Done {
				state, err := f.broker.Cancel(c, is.Ref)
				if code := weir.CodeOf(err); err != nil && code != weir.CodeConflict && code != weir.CodeNotFound {
					return out, err
				}
				if err == nil && state != weir.Done {
					out.Open++
					continue
				}
			}
			done = append(done, is.Ref)
		}
		n, err := f.store.DeleteContacts(c, done)
		if out.Contacts += n; err != nil {
			return out, err
		}
		out.Open += len(done) - n
	}
	out.More = out.More && page.More || !page.GapUntil.IsZero()
	for {
		messages, err := f.store.IncomingFrom(c, senders(to), 0, route.PageRows)
		if err != nil || len(messages) == 0 {
			return out, err
		}
		n, err := f.store.EraseIncoming(c, messages)
		if out.Messages += n; err != nil || n == 0 {
			return out, err
		}
	}
}
