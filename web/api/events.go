package api

import (
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"weir/events"
	"weir/ops"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
)

func (s *Service) eventRoutes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/events", ID: "list-events", Tag: "events",
		Summary: "List events, oldest first, or stream them",
		Description: "With Accept: text/event-stream the response is a stream of server-sent events: each carries one event as JSON, and its id. " +
			"It starts after the event in the header Last-Event-ID or, without it, in the parameter after; without both with the next event. While there are no events it sends a comment every 15 seconds. " +
			"Otherwise the response is a page, which starts after cursor or, without it, after the parameter after; without both with the oldest retained event. " +
			"A page may be short, or empty, and yet not be the last: that one has no next_cursor.\n\n" + aboutContactEvents,
		Query: append([]wire.Parameter{
			{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Description: "only events with a greater id"},
			{Name: "tail", Kind: "integer", Minimum: 1, Maximum: 100_000, Description: "for a page without after and cursor: start this many events, of any type, before the latest one"},
			{Name: "type", Kind: "string", Description: "one or more types, joined by commas; one that ends with * stands for all types that begin so, such as weir.contact.*"},
			{Name: "subject", Kind: "string", Description: "only events whose subject begins with this"},
			{Name: "source", Kind: "string", Description: "only events from this part of Weir"},
		}, route.Paging(100, 1000)...),
		Download: StreamType, Serve: s.events, Data: []reflect.Type{route.TypeOf[events.ContactData](), route.TypeOf[events.MessageData]()},
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page, or the stream", Body: route.TypeOf[EventList]()}},
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

func (s *Service) events(c *route.Call, w http.ResponseWriter) error {
	f := &eventFilter{types: c.Query.List("type"), subject: c.Query.Text("subject"), source: c.Query.Text("source")}
	if !c.Principal.Has(ops.ScopeContactsRead) {
		if f.source == "" {
			f.source = routerSource
		}
		if f.source != routerSource {
			return auth.ErrForbidden(ops.ScopeContactsRead)
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
		if err := s.wantContacts(c); err != nil {
			return err
		}
	}
	if acceptsStream(c.Request) {
		return s.streamEvents(c, w, f)
	}
	out, err := s.pageOfEvents(c, f)
	if err != nil {
		return err
	}
	route.NewDeadlines(w).ExtendWrite()
	wire.WriteJSON(w, http.StatusOK, out)
	return nil
}

// wantContacts enables the events of contacts. All that is committed once it has returned
// is in the log.
func (s *Service) wantContacts(c *route.Call) error {
	if s.Interest == nil || s.contactEventsOn.Load() {
		return nil
	}
	ctx, cancel := route.StepTimeout(c)
	defer cancel()
	err := s.Interest.WantContactEvents(ctx)
	s.contactEventsOn.Store(err == nil)
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

// pageOfEvents returns a page. Events that the filter drops are read too, so
// the number of events that one page examines is bounded.
func (s *Service) pageOfEvents(c *route.Call, f *eventFilter) (*EventList, error) {
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
		last, err := s.Events.LatestEvent(ctx)
		if err != nil {
			return nil, err
		}
		after = max(0, last-int64(n))
	}
	out, most := &EventList{Events: []EventView{}}, c.Query.Int("limit")
	for passed := 0; ; {
		list, err := s.Events.EventsSince(ctx, after, min(eventsRead, maxExamined-passed))
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
