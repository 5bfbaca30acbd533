package api

import (
	"encoding/json"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"weir/api"
	"weir/events"
	"weir/internal/plainjson"
	"weir/operators"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// Limits and intervals of the event stream.
const (
	StreamType        = "text/event-stream"
	heartbeatInterval = 15 * time.Second
	pollInterval      = time.Second // polls for events that nothing announced, and for shutdown
	reconnectDelay    = 2000        // milliseconds; clients reconnect after it
	eventsRead        = 256
	maxExamined       = 5000 // max events that one page examines
	// routerSource is the only source whose events the scope router can read.
	routerSource = "router"
)

// eventFilter selects the events that a client asked for.
type eventFilter struct {
	types           []string
	subject, source string
	reader          eventReader
}

// eventReader is what a sender's scopes let it read.
type eventReader struct {
	who         *auth.Principal
	all, router bool // all events; those of the router
	some        bool // those of some channels and surveys
}

func readerOf(who *auth.Principal) eventReader {
	r := eventReader{who: who, all: who.Has(operators.ScopeContactsRead), router: who.Has(operators.ScopeRouter)}
	r.some = who.RequireSome([]operators.Scope{operators.ScopeContactsRead}) == nil
	return r
}

// reads reports whether an event may be read. One that is about no channel and no survey is for those who may read all.
func (r *eventReader) reads(e *events.Event) bool {
	switch {
	case r.all:
		return true
	case e.Source == routerSource:
		return r.router
	case !r.some:
		return false
	}
	var about operators.Subject
	switch names := events.ScopeOf(e); e.Source {
	case events.SourceContacts, events.SourceChannels:
		about = operators.Channel(names.Channel)
	case events.SourceSurveys:
		about = operators.Survey(names.Survey)
	}
	return r.who.May([]operators.Scope{operators.ScopeContactsRead}, about)
}

func (f *eventFilter) passes(e *events.Event) bool {
	return (len(f.types) == 0 || slices.ContainsFunc(f.types, func(p string) bool { return events.TypeMatches(p, e.Type) })) &&
		(f.source == "" || f.source == e.Source) && strings.HasPrefix(e.Subject, f.subject) && f.reader.reads(e)
}

// asksForContacts reports whether a client asks for events of contacts, and not merely
// for whatever there is.
func (f *eventFilter) asksForContacts() bool {
	if f.source != "" {
		return f.source == events.SourceContacts
	}
	return strings.HasPrefix(f.subject, "contact/") || slices.ContainsFunc(events.ContactTypes(), func(name string) bool {
		return slices.ContainsFunc(f.types, func(p string) bool { return events.TypeMatches(p, name) })
	})
}

func eventView(e *events.Event) api.EventView {
	v := api.EventView{ID: strconv.FormatInt(e.ID, 10), Type: e.Type, Source: e.Source, Subject: e.Subject, At: e.At}
	if len(e.Data) > 0 {
		v.Data = e.Data
	}
	return v
}

// shownEvent returns the view of an event, with phone numbers masked without
// pii:read.
func shownEvent(c *route.Call, e *events.Event) api.EventView {
	if !c.PII() {
		masked := MaskedEvent(*e)
		e = &masked
	}
	return eventView(e)
}

// MaskedEvent returns an event with the phone numbers masked, for receivers without
// pii:read.
func MaskedEvent(e events.Event) events.Event {
	e.Subject, e.Data = auth.MaskValue(e.Subject), maskData(e.Data, e.Source == events.SourceContacts)
	return e
}

// maskData masks texts at any depth, and the addresses of a contact's event however they
// are written. JSON numbers stay: a phone number is always a text.
func maskData(raw json.RawMessage, contact bool) json.RawMessage {
	var own struct{ To, From string }
	if contact {
		_ = json.Unmarshal(raw, &own)
	}
	value := func(text string) string { return auth.MaskValue(auth.MaskOwn(auth.MaskOwn(text, own.To), own.From)) }
	return plainjson.ReplaceTexts(raw, value, func(name, text string, depth int) string {
		ours := contact && depth == 1
		switch {
		case ours && (name == "to" || name == "from"):
			return auth.MaskNumber(text)
		case ours && (name == "contact" || name == "message_id"):
			return text // made by Weir; a number occurs in it by chance only
		case name == "text" || name == "message":
			return auth.MaskText(text)
		}
		return value(text)
	})
}

// parseEventID reads the id after which a client wants events.
func parseEventID(c *route.Call, text, pointer string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		c.Errors.Add(pointer, "format", "must be the id of an event, or the next_cursor of a page before")
	}
	return id, c.Invalid()
}

// eventRoutes serves the event log, as pages and as streams.
type eventRoutes struct {
	log events.Log
	// interest enables the events of contacts for clients that read them; nil: reading
	// does not enable them.
	interest        events.Interest
	contactEventsOn atomic.Bool            // a client of this process has enabled them
	streams         *auth.ConcurrencyLimit // limits the open streams
	ending          func() bool            // streams end now
}

func (r *eventRoutes) table() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/events", ID: "list-events", Tag: "events",
		Summary: "List events, oldest first, or stream them",
		Description: "With Accept: text/event-stream the response is a stream of server-sent events: each carries one event as JSON, and its id. " +
			"It starts after the event in the header Last-Event-ID or, without it, in the parameter after; without both with the next event. While there are no events it sends a comment every 15 seconds. " +
			"Otherwise the response is a page, which starts after cursor or, without it, after the parameter after; without both with the oldest retained event. " +
			"A page may be short, or empty, and yet not be the last: that one has no next_cursor.\n\n" + aboutContactEvents,
		Query: append([]httpjson.Parameter{
			{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Description: "only events with a greater id"},
			{Name: "tail", Kind: "integer", Minimum: 1, Maximum: 100_000, Description: "for a page without after and cursor: start this many events, of any type, before the latest one"},
			{Name: "type", Kind: "string", Description: "one or more types, joined by commas; one that ends with * stands for all types that begin so, such as weir.contact.*"},
			{Name: "subject", Kind: "string", Description: "only events whose subject begins with this"},
			{Name: "source", Kind: "string", Description: "only events from this part of Weir"},
		}, route.Paging(100, 1000)...),
		Download: StreamType, Serve: r.get, Data: []reflect.Type{route.TypeOf[events.ContactData](), route.TypeOf[events.MessageData]()},
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page, or the stream", Body: route.TypeOf[api.EventList]()}},
	}}
}

// aboutContactEvents describes the types of events that are written on request.
const aboutContactEvents = "Events of contacts have the source contacts, and data as in ContactData. In order, for each contact:\n\n" +
	"- " + events.ContactDispatched + ": an attempt is claimed, durably; from then on the provider may have it\n" +
	"- " + events.ContactAccepted + ": the provider accepted it; missing if the provider refused it, or reported its end first\n" +
	"- " + events.ContactRequeued + ": the attempt ended and the provider certainly does not have the contact, which waits for the next attempt\n" +
	"- " + events.ContactDone + ": it ended, once, with its outcome\n" +
	"- " + events.ContactCorrected + ": a message that had failed was delivered after all, and the contact is completed\n" +
	"- " + events.MessageReceived + ": a person sent a message; data as in MessageData\n\n" +
	"With WEIR_CONTACT_EVENTS=auto they are written from the first request that asks for them, by type, by the source contacts or by a subject that begins with contact/, or from the first webhook that takes them. " +
	"Without pii:read numbers in them are masked."

func (r *eventRoutes) get(c *route.Call, w http.ResponseWriter) error {
	f := &eventFilter{types: c.Query.List("type"), subject: c.Query.Text("subject"), source: c.Query.Text("source")}
	f.reader = readerOf(c.Principal)
	if !f.reader.some {
		if f.source == "" {
			f.source = routerSource
		}
		if f.source != routerSource {
			return auth.ErrForbidden(operators.ScopeContactsRead)
		}
	}
	for _, p := range f.types {
		if i := strings.IndexByte(p, '*'); i >= 0 && i < len(p)-1 {
			c.Errors.Add("/type", "format", "must have * at its end only, for all types that begin so")
			break
		}
	}
	if err := c.Invalid(); err != nil {
		return err
	}
	if f.asksForContacts() {
		if err := r.wantContacts(c); err != nil {
			return err
		}
	}
	if acceptsStream(c.Request) {
		return r.serveStream(c, w, f)
	}
	out, err := r.page(c, f)
	if err != nil {
		return err
	}
	route.NewDeadlines(w).ExtendWrite()
	httpjson.WriteJSON(w, http.StatusOK, out)
	return nil
}

// wantContacts enables the events of contacts. All that is committed once it has returned
// is in the log.
func (r *eventRoutes) wantContacts(c *route.Call) error {
	if r.interest == nil || r.contactEventsOn.Load() {
		return nil
	}
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	err := r.interest.WantContactEvents(ctx)
	r.contactEventsOn.Store(err == nil)
	return err
}

func acceptsStream(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(kind), StreamType) {
			return true
		}
	}
	return false
}

// page returns a page. Events that the filter drops are read too, so
// the number of events that one page examines is bounded.
func (r *eventRoutes) page(c *route.Call, f *eventFilter) (*api.EventList, error) {
	after, _ := c.Query["after"].(int64)
	if text := c.Query.Text("cursor"); text != "" {
		var err error
		if after, err = parseEventID(c, text, "/cursor"); err != nil {
			return nil, err
		}
	}
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	if n := c.Query.Int("tail"); n > 0 && after == 0 {
		last, err := r.log.LatestEvent(ctx)
		if err != nil {
			return nil, err
		}
		after = max(0, last-int64(n))
	}
	out, most := &api.EventList{Events: []api.EventView{}}, c.Query.Int("limit")
	for passed := 0; ; {
		list, err := r.log.EventsSince(ctx, after, min(eventsRead, maxExamined-passed))
		if err != nil || len(list) == 0 {
			return out, err
		}
		for i := range list {
			if len(out.Events) == most {
				out.NextCursor = strconv.FormatInt(after, 10)
				return out, nil
			}
			after = list[i].ID
			if f.passes(&list[i]) {
				out.Events = append(out.Events, shownEvent(c, &list[i]))
			}
		}
		if passed += len(list); passed >= maxExamined {
			out.NextCursor = strconv.FormatInt(after, 10)
			return out, nil
		}
	}
}
