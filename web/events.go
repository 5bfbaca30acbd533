package web

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
)

// Limits and intervals of the event stream.
const (
	streamType    = "text/event-stream"
	beatEvery     = 15 * time.Second
	lookEvery     = time.Second // polls for events of other processes, and for shutdown
	retryAfterEnd = 2000        // milliseconds; clients reconnect after it
	eventsRead    = 256
	mostPassed    = 5000 // max events that one page examines
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

func (s *service) eventRoutes() []*route {
	return []*route{{
		method: "GET", path: "/v1/events", id: "list-events", tag: "events",
		summary: "What happened, oldest first, or as it happens",
		description: "With Accept: text/event-stream the answer is a stream of server-sent events: each carries one event as JSON, and its id. " +
			"It begins behind Last-Event-ID (the header), else behind after, else with what happens next. A comment comes every 15 seconds while nothing happens. " +
			"Otherwise the answer is a page, which begins behind cursor, else behind after, else with the oldest event that is kept. " +
			"A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
		query: append([]parameter{
			{name: "after", kind: "integer", maximum: math.MaxInt64, description: "only events with a greater id"},
			{name: "tail", kind: "integer", minimum: 1, maximum: 100_000, description: "for a page without after and cursor: begin this many events before the last one, of any type"},
			{name: "type", kind: "string", description: "one or more types, joined by commas"},
			{name: "subject", kind: "string", description: "only events whose subject begins with this"},
			{name: "source", kind: "string", description: "only events from this part of Weir"},
		}, paging(100, 1000)...),
		download: streamType, serve: s.events,
		answers: []answer{{http.StatusOK, "one page, or the stream", typeOf[EventList]()}},
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

func (s *service) events(c *call, w http.ResponseWriter) error {
	f := &eventFilter{types: c.query.words("type"), subject: c.query.text("subject"), source: c.query.text("source")}
	if !c.who.has(ops.ScopeContactsRead) {
		if f.source == "" {
			f.source = routerSource
		}
		if f.source != routerSource {
			return errForbidden(ops.ScopeContactsRead)
		}
	}
	if acceptsStream(c.r) {
		return s.streamEvents(c, w, f)
	}
	out, err := s.pageOfEvents(c, f)
	if err != nil {
		return err
	}
	newPace(w).writing()
	writeJSON(w, http.StatusOK, out)
	return nil
}

func acceptsStream(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(kind), streamType) {
			return true
		}
	}
	return false
}

// place reads the id after which a client wants events.
func place(c *call, text, pointer string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		c.wrong.add(pointer, "format", "must be the id of an event, or the next_cursor of a page before")
	}
	return id, c.refuse()
}

// pageOfEvents returns a page. Events that the filter drops are read too, so
// the number of events that one page examines is bounded.
func (s *service) pageOfEvents(c *call, f *eventFilter) (*EventList, error) {
	after, _ := c.query["after"].(int64)
	if text := c.query.text("cursor"); text != "" {
		var err error
		if after, err = place(c, text, "/cursor"); err != nil {
			return nil, err
		}
	}
	ctx, cancel := brief(c)
	defer cancel()
	if n := c.query.number("tail"); n > 0 && after == 0 {
		last, err := s.Events.LatestEvent(ctx)
		if err != nil {
			return nil, err
		}
		after = max(0, last-int64(n))
	}
	out, most := &EventList{Events: []EventView{}}, c.query.number("limit")
	for passed := 0; ; {
		list, err := s.Events.EventsSince(ctx, after, min(eventsRead, mostPassed-passed))
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
				out.Events = append(out.Events, c.event(&list[i]))
			}
		}
		if passed += len(list); passed >= mostPassed {
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

// event returns the view of an event, with phone numbers masked without
// pii:read.
func (c *call) event(e *events.Event) EventView {
	v := eventView(e)
	if !c.pii() {
		maskEvent(&v)
	}
	return v
}

func errStreams() error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: fmt.Sprintf("too many streams of events at once (at most %d, %d with one token); try again later", MaxStreams, StreamShare), RetryAfter: seatTime}
}
