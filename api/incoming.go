package api

import "time"

// IncomingView is one incoming message of a channel.
type IncomingView struct {
	ID         string            `json:"id" doc:"an increasing integer, as a string because it exceeds the numbers of some clients; pass the last one as after to continue"`
	From       string            `json:"from"`
	To         string            `json:"to,omitempty"`
	Body       string            `json:"body"`
	GUID       string            `json:"guid,omitempty" doc:"the provider's id of the message"`
	ReceivedAt time.Time         `json:"received_at"`
	Fields     map[string]string `json:"fields,omitempty" doc:"other fields that the provider sent"`
}

// IncomingList is one page of incoming messages.
type IncomingList struct {
	Incoming   []IncomingView `json:"incoming"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"pass it as after; absent when there are no newer messages"`
}
