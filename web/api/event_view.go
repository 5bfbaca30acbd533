package api

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/events"
	"weir/internal/plainjson"
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
	Source  string    `json:"source" doc:"which part of Weir: router, surveys, channels, contacts"`
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
	return (len(f.types) == 0 || slices.ContainsFunc(f.types, func(p string) bool { return events.TypeMatches(p, e.Type) })) &&
		(f.source == "" || f.source == e.Source) && strings.HasPrefix(e.Subject, f.subject)
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
