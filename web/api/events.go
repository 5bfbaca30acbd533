package api

import (
	"math"
	"net/http"
	"strconv"
	"strings"

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
			"A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
		Query: append([]wire.Parameter{
			{Name: "after", Kind: "integer", Maximum: math.MaxInt64, Description: "only events with a greater id"},
			{Name: "tail", Kind: "integer", Minimum: 1, Maximum: 100_000, Description: "for a page without after and cursor: start this many events, of any type, before the latest one"},
			{Name: "type", Kind: "string", Description: "one or more types, joined by commas"},
			{Name: "subject", Kind: "string", Description: "only events whose subject begins with this"},
			{Name: "source", Kind: "string", Description: "only events from this part of Weir"},
		}, route.Paging(100, 1000)...),
		Download: StreamType, Serve: s.events,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page, or the stream", Body: route.TypeOf[EventList]()}},
	}}
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
