package api

import "time"

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
