package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"weir"
	"weir/operators"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/route"
)

// maxEntries is the max number of audit log entries in a timeline.
const maxEntries = 100

// TimelineView is the recorded history of a contact.
type TimelineView struct {
	ID          string          `json:"id"`
	Channel     string          `json:"channel"`
	Events      []TimelineEvent `json:"events" nullable:"false" doc:"oldest first"`
	For         *TimelineFor    `json:"for,omitempty" doc:"absent: it is of no survey"`
	NotRecorded []string        `json:"not_recorded" nullable:"false" doc:"for people: what is not recorded, and so is not among the events"`
}

// TimelineEvent is an event of a contact.
type TimelineEvent struct {
	At      time.Time    `json:"at"`
	What    string       `json:"what" enum:"accepted,made_of,waits_until,claimed,handed_over,last_heard,back_in_queue,ended,dead_letter,requeued,request" doc:"made_of: it was created from a dead letter; waits_until: it is not dispatched before this instant; handed_over: accepted by the provider; last_heard: the provider's last report on an attempt; back_in_queue: an attempt ended and the contact is queued again; requeued: a new contact was created from it; request: an API request about it"`
	Attempt int          `json:"attempt,omitempty" doc:"its number"`
	Outcome weir.Outcome `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Contact string       `json:"contact,omitempty" doc:"id of the other contact"`
	By      string       `json:"by,omitempty" doc:"id of the token that asked for it"`
	Action  string       `json:"action,omitempty" doc:"operationId of the request"`
	Status  int          `json:"status,omitempty" doc:"of the answer to the request"`
}

// TimelineFor identifies the respondent of a contact that a survey created.
type TimelineFor struct {
	Survey     string `json:"survey"`
	Respondent string `json:"respondent" doc:"id of the respondent"`
	Serial     int    `json:"serial" doc:"which of the respondent's contacts it is, from 1; 0: a reply in a conversation"`
}

// timelineRoutes serves the timelines of contacts.
type timelineRoutes struct {
	lookup channelLookup
	store  contactReader
	dead   interface {
		History(ctx context.Context, ref weir.Ref) (operators.DeadLetterHistory, error)
	}
	trail *auth.Trail
}

func (r *timelineRoutes) table() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/contacts/{id}/timeline", ID: "get-timeline", Tag: "contacts",
		Summary: "Get the timeline of a contact",
		Description: "From its row, its attempts, the dead letters and the audit log, whose entries appear within seconds. " +
			"Of callbacks only what changed the contact is kept: the first and the last word in each attempt.",
		Handle:  r.get,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "its events", Body: route.TypeOf[TimelineView]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}}
}

// NotRecorded lists what no store records.
func NotRecorded() []string {
	return []string{
		"callbacks between the provider's first and last report on an attempt, and callbacks that changed nothing: they are only counted",
		"when the result of a dispatch was lost, and each status query to the provider",
		"a claim that was canceled before the provider was called: it is not an attempt",
		"that a dead letter was discarded by a filter: the audit log has the request",
	}
}

func (r *timelineRoutes) get(c *route.Call) (route.Reply, error) {
	known := map[weir.ChannelID]weir.Channel{}
	contact, ended, err := contactOf(c, r.store, r.lookup, known)
	if err != nil {
		return route.Reply{}, err
	}
	ch, err := r.lookup.byID(c, contact.Channel, known)
	if err != nil {
		return route.Reply{}, err
	}
	v := TimelineView{ID: contact.Ref.String(), Channel: ch.Name, NotRecorded: NotRecorded()}
	if f := contact.Owner; f.ID != 0 {
		v.For = &TimelineFor{Survey: contact.Survey, Respondent: surveys.RespondentID(f.ID).String(), Serial: f.Serial}
	}
	v.Events = append(v.Events, creationEvents(&contact)...)
	for _, a := range attemptViews(&contact, ended) {
		v.Events = append(v.Events, attemptEvents(&a, &contact)...)
	}
	if contact.State == weir.Done {
		end := TimelineEvent{At: contact.FinishedAt, What: "ended", Outcome: contact.Outcome, Reason: contact.Reason}
		if !contact.ClaimedAt.IsZero() {
			end.Attempt = contact.Attempt
		}
		v.Events = append(v.Events, end)
	}
	if v.Events, err = r.addLaterEvents(c, &contact, v.Events); err != nil {
		return route.Reply{}, err
	}
	slices.SortStableFunc(v.Events, func(a, b TimelineEvent) int { return a.At.Compare(b.At) })
	if !c.PII() {
		for i := range v.Events {
			v.Events[i].Reason = auth.MaskOwn(v.Events[i].Reason, contact.To)
		}
		if v.For != nil {
			v.For.Survey = auth.MaskOwn(v.For.Survey, contact.To)
		}
	}
	return route.Reply{Status: http.StatusOK, Body: v}, nil
}

// creationEvents returns the events of a contact's creation and of its delays.
func creationEvents(c *weir.Contact) []TimelineEvent {
	list := []TimelineEvent{{At: c.QueuedAt, What: "accepted"}}
	if c.NotBefore.After(c.QueuedAt) {
		list = append(list, TimelineEvent{At: c.NotBefore, What: "waits_until", Reason: "its window opens"})
	}
	if c.State == weir.Delayed && !c.DueAt.Equal(c.NotBefore) {
		list = append(list, TimelineEvent{At: c.DueAt, What: "waits_until", Reason: "its next attempt", Attempt: c.Attempt + 1})
	}
	return list
}

// attemptEvents returns the events of an attempt, except the end of the contact.
func attemptEvents(a *AttemptView, c *weir.Contact) []TimelineEvent {
	var list []TimelineEvent
	add := func(at *time.Time, what, reason string) {
		if at != nil {
			list = append(list, TimelineEvent{At: *at, What: what, Attempt: a.Number, Reason: reason})
		}
	}
	add(a.ClaimedAt, "claimed", "")
	add(a.SentAt, "handed_over", "")
	if a.LastHeardAt != nil && (a.SentAt == nil || a.LastHeardAt.After(*a.SentAt)) {
		add(a.LastHeardAt, "last_heard", "")
	}
	if a.Number != c.Attempt || c.State != weir.Done {
		add(a.FinishedAt, "back_in_queue", a.Reason)
	}
	return list
}

// addLaterEvents adds the events of the contact's dead letter and requeues, and the
// API requests about the contact.
func (r *timelineRoutes) addLaterEvents(ctx context.Context, c *weir.Contact, list []TimelineEvent) ([]TimelineEvent, error) {
	after, err := r.dead.History(ctx, c.Ref)
	if err != nil {
		return nil, err
	}
	if d := after.Dead; d != nil {
		at := d.At
		if at.Before(c.FinishedAt) { // dead letters have millisecond precision
			at = c.FinishedAt
		}
		list = append(list, TimelineEvent{At: at, What: "dead_letter", Outcome: d.Outcome, Reason: d.Reason})
	}
	if !after.RequeuedAt.IsZero() {
		list = append(list, TimelineEvent{At: after.RequeuedAt, What: "requeued", Contact: after.RequeuedAs.String(), By: after.RequeuedBy})
	}
	if old, ok := operators.ParseRequeueKey(c.Key); ok {
		from, err := r.dead.History(ctx, old)
		if err != nil {
			return nil, err
		}
		if from.RequeuedAs == c.Ref {
			list = slices.Insert(list, 0, TimelineEvent{At: c.QueuedAt, What: "made_of", Contact: old.String(), By: from.RequeuedBy})
		}
	}
	entries, err := r.trail.EntriesOf(ctx, c.Ref.String(), maxEntries)
	for _, e := range entries {
		list = append(list, TimelineEvent{At: e.At, What: "request", By: e.Token, Action: e.Action, Status: e.Status})
	}
	return list, err
}
