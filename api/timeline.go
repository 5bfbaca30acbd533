package api

import "time"

// TimelineEvent is an event of a contact.
type TimelineEvent struct {
	At      time.Time `json:"at"`
	What    string    `json:"what" enum:"accepted,made_of,waits_until,claimed,handed_over,last_heard,back_in_queue,ended,dead_letter,requeued,request" doc:"made_of: it was created from a dead letter; waits_until: it is not dispatched before this instant; handed_over: accepted by the provider; last_heard: the provider's last report on an attempt; back_in_queue: an attempt ended and the contact is queued again; requeued: a new contact was created from it; request: an API request about it"`
	Attempt int       `json:"attempt,omitempty" doc:"its number"`
	Outcome string    `json:"outcome,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Contact string    `json:"contact,omitempty" doc:"id of the other contact"`
	By      string    `json:"by,omitempty" doc:"id of the token that asked for it"`
	Action  string    `json:"action,omitempty" doc:"operationId of the request"`
	Status  int       `json:"status,omitempty" doc:"of the answer to the request"`
}

// TimelineFor identifies the respondent of a contact that a survey created.
type TimelineFor struct {
	Survey     string `json:"survey"`
	Respondent string `json:"respondent" doc:"id of the respondent"`
	Serial     int    `json:"serial" doc:"which of the respondent's contacts it is, from 1; 0: a reply in a conversation"`
}

// TimelineView is the recorded history of a contact.
type TimelineView struct {
	ID          string          `json:"id"`
	Channel     string          `json:"channel"`
	Events      []TimelineEvent `json:"events" nullable:"false" doc:"oldest first"`
	For         *TimelineFor    `json:"for,omitempty" doc:"absent: it is of no survey"`
	NotRecorded []string        `json:"not_recorded" nullable:"false" doc:"for people: what is not recorded, and so is not among the events"`
}
