package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/events"
	"weir/web/auth"
	"weir/web/route"
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
	Subject string    `json:"subject" doc:"the resource of the event"`
	At      time.Time `json:"time"`
	Data    any       `json:"data" doc:"depends on the type"`
}

// EventList is a page of events.
type EventList struct {
	Events     []EventView `json:"events" nullable:"false"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"absent on the last page"`
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

// maskEvent masks the phone numbers in an event.
func maskEvent(v *EventView) {
	v.Subject = auth.MaskValue(v.Subject)
	raw, ok := v.Data.(json.RawMessage)
	if !ok {
		return
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // keep numbers as written
	var data any
	if d.Decode(&data) != nil {
		v.Data = nil
		return
	}
	v.Data = maskData(data, "")
}

// maskData masks texts at any depth. JSON numbers stay: a phone number is
// always a text.
func maskData(data any, name string) any {
	switch x := data.(type) {
	case map[string]any:
		for key, value := range x {
			x[key] = maskData(value, key)
		}
	case []any:
		for i := range x {
			x[i] = maskData(x[i], name)
		}
	case string:
		if name == "text" || name == "message" {
			return auth.MaskText(x)
		}
		return auth.MaskValue(x)
	}
	return data
}

// parseEventID reads the id after which a client wants events.
func parseEventID(c *route.Call, text, pointer string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		c.Errors.Add(pointer, "format", "must be the id of an event, or the next_cursor of a page before")
	}
	return id, c.Invalid()
}
