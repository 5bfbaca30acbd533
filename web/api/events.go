package api

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/events"
	"weir/ops"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
)

// Limits and intervals of the event stream.
const (
	StreamType        = "text/event-stream"
	heartbeatInterval = 15 * time.Second
	pollInterval      = time.Second // polls for events of other processes, and for shutdown
	reconnectDelay    = 2000        // milliseconds; clients reconnect after it
	eventsRead        = 256
	maxExamined       = 5000 // max events that one page examines
	// routerSource is the only source whose events the scope router can read.
	routerSource = "router"
)

// EventView is an event in a response.
type EventView struct {
	ID      string    `json:"id" doc:"grows in the order of commits"`
	Type    string    `json:"type"`
	Source  string    `json:"source" doc:"which part of Weir: router, surveys, channels"`
	Subject string    `json:"subject" doc:"what it is about"`
	At      time.Time `json:"time"`
	Data    any       `json:"data" doc:"depends on the type"`
}

// EventList is a page of events.
type EventList struct {
	Events     []EventView `json:"events" nullable:"false"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

func (s *Service) eventRoutes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/events", ID: "list-events", Tag: "events",
		Summary: "What happened, oldest first, or as it happens",
		Description: "With Accept: text/event-stream the answer is a stream of server-sent events: each carries one event as JSON, and its id. " +
			"It begins behind Last-Event-ID (the header), else behind after, else with what happens next. A comment comes every 15 seconds while nothing happens. " +
			"Otherwise the answer is a page, which begins behind cursor, else behind after, else with the oldest event that is kept. " +
			"A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
		Query: append([]wire.Parameter{
			{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Description: "only events with a greater id"},
			{Name: "tail", Kind: "integer", Minimum: 1, Maximum: 100_000, Description: "for a page without after and cursor: begin this many events before the last one, of any type"},
			{Name: "type", Kind: "string", Description: "one or more types, joined by commas"},
			{Name: "subject", Kind: "string", Description: "only events whose subject begins with this"},
			{Name: "source", Kind: "string", Description: "only events from this part of Weir"},
		}, route.Paging(100, 1000)...),
		Download: StreamType, Serve: s.events,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page, or the stream", Body: route.TypeOf[EventList]()}},
	}}
}

// eventFilter selects the events that a client asked for.
type eventFilter struct {
	types           []string
	subject, source string
}

func (f *eventFilter) passes(e *events.Event) bool {
	return (len(f.types) == 0 || slices.Contains(f.types, e.Type)) &&
		(f.source == "" || f.source == e.Source) && strings.HasPrefix(e.Subject, f.subject)
}

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

func acceptsStream(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(kind), StreamType) {
			return true
		}
	}
	return false
}

// parseEventID reads the id after which a client wants events.
func parseEventID(c *route.Call, text, pointer string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		c.Errors.Add(pointer, "format", "must be the id of an event, or the next_cursor of a page before")
	}
	return id, c.Invalid()
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

func eventView(e *events.Event) EventView {
	v := EventView{ID: strconv.FormatInt(e.ID, 10), Type: e.Type, Source: e.Source, Subject: e.Subject, At: e.At}
	if len(e.Data) > 0 {
		v.Data = e.Data
	}
	return v
}

// shownEvent returns the view of an event, with phone numbers masked without
// pii:read.
func shownEvent(c *route.Call, e *events.Event) EventView {
	v := eventView(e)
	if !c.PII() {
		maskEvent(&v)
	}
	return v
}

func errStreams() error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: fmt.Sprintf("too many streams of events at once (at most %d, %d with one token); try again later", auth.MaxStreams, auth.MaxStreamsPerToken), RetryAfter: route.AcquireTime}
}
