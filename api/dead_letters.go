package api

import "time"

// DeadBody selects the dead letters of a requeue or discard request.
type DeadBody struct {
	All      bool      `json:"all,omitempty" doc:"all dead letters; required if no other field selects some"`
	Channel  string    `json:"channel,omitempty" minLength:"1" maxLength:"63" doc:"name of the channel"`
	Outcome  string    `json:"outcome,omitempty" enum:"failed,lost,dead_letter"`
	Reason   *string   `json:"reason,omitempty" maxLength:"200" doc:"as in the groups; empty: dead letters without a reason"`
	Since    time.Time `json:"since,omitzero" doc:"contacts that became dead letters at that instant or later"`
	Until    time.Time `json:"until,omitzero" doc:"contacts that became dead letters before"`
	Contacts []string  `json:"contacts,omitempty" minItems:"1" maxItems:"200" doc:"these contacts; not with other filters"`
	Limit    int       `json:"limit,omitempty" minimum:"1" maximum:"10000" doc:"max dead letters to process; absent: 10000"`
	DryRun   bool      `json:"dry_run,omitempty" doc:"only count"`
}

// DeadDone is the result of a requeue or discard request.
type DeadDone struct {
	DryRun       bool  `json:"dry_run" doc:"nothing was done"`
	Matching     int64 `json:"matching" doc:"selected dead letters, before the request changed any"`
	Done         int64 `json:"done" doc:"how many were queued again, or discarded"`
	WindowClosed int64 `json:"window_closed" doc:"how many stay because their not_after has passed: they would expire at once"`
	ChannelGone  int64 `json:"channel_gone" doc:"how many stay because their channel was deleted"`
	Remaining    int64 `json:"remaining" doc:"selected dead letters that remain; repeat the request to process more than the limit"`
}

// DeadGroups are the groups of dead letters.
type DeadGroups struct {
	Groups []DeadGroupView `json:"groups" nullable:"false" doc:"the largest first; at most 1000"`
}

// DeadGroupView counts the dead letters with the same channel, outcome and
// reason.
type DeadGroupView struct {
	Channel string    `json:"channel"`
	Outcome string    `json:"outcome" enum:"failed,lost,dead_letter"`
	Reason  string    `json:"reason"`
	Count   int64     `json:"count"`
	Oldest  time.Time `json:"oldest" doc:"when the first of them became one"`
	Newest  time.Time `json:"newest" doc:"when the latest of them became one"`
}

// DeadList is one page of dead letters.
type DeadList struct {
	DeadLetters []DeadView `json:"dead_letters" nullable:"false" doc:"by channel, the latest first"`
	NextCursor  string     `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// DeadView is one dead letter.
type DeadView struct {
	At      time.Time   `json:"at" doc:"when it became one"`
	Outcome string      `json:"outcome" enum:"failed,lost,dead_letter"`
	Reason  string      `json:"reason" doc:"by which dead letters are grouped: words with five digits and more are left out; the contact has the whole text"`
	Contact ContactView `json:"contact" doc:"with its latest attempt"`
}
