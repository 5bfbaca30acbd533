package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/route"
)

// maxEntries is the max number of audit log entries in a timeline.
const maxEntries = 100

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
		Answers: []route.Answer{{Status: http.StatusOK, Description: "its events", Body: route.TypeOf[api.TimelineView]()}},
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
	v := api.TimelineView{ID: contact.Ref.String(), Channel: ch.Name, NotRecorded: NotRecorded()}
	if f := contact.Owner; f.ID != 0 {
		v.For = &api.TimelineFor{Survey: contact.Survey, Respondent: surveys.RespondentID(f.ID).String(), Serial: f.Serial}
	}
	v.Events = append(v.Events, creationEvents(&contact)...)
	for _, a := range attemptViews(&contact, ended) {
		v.Events = append(v.Events, attemptEvents(&a, &contact)...)
	}
	if contact.State == weir.Done {
		end := api.TimelineEvent{At: contact.FinishedAt, What: "ended", Outcome: string(contact.Outcome), Reason: contact.Reason}
		if !contact.ClaimedAt.IsZero() {
			end.Attempt = contact.Attempt
		}
		v.Events = append(v.Events, end)
	}
	if v.Events, err = r.addLaterEvents(c, &contact, v.Events); err != nil {
		return route.Reply{}, err
	}
	slices.SortStableFunc(v.Events, func(a, b api.TimelineEvent) int { return a.At.Compare(b.At) })
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
func creationEvents(c *weir.Contact) []api.TimelineEvent {
	list := []api.TimelineEvent{{At: c.QueuedAt, What: "accepted"}}
	if c.NotBefore.After(c.QueuedAt) {
		list = append(list, api.TimelineEvent{At: c.NotBefore, What: "waits_until", Reason: "its window opens"})
	}
	if c.State == weir.Delayed && !c.DueAt.Equal(c.NotBefore) {
		list = append(list, api.TimelineEvent{At: c.DueAt, What: "waits_until", Reason: "its next attempt", Attempt: c.Attempt + 1})
	}
	return list
}

// attemptEvents returns the events of an attempt, except the end of the contact.
func attemptEvents(a *api.AttemptView, c *weir.Contact) []api.TimelineEvent {
	var list []api.TimelineEvent
	add := func(at time.Time, what, reason string) {
		if !at.IsZero() {
			list = append(list, api.TimelineEvent{At: at, What: what, Attempt: a.Number, Reason: reason})
		}
	}
	add(a.ClaimedAt, "claimed", "")
	add(a.SentAt, "handed_over", "")
	if a.LastHeardAt.After(a.SentAt) {
		add(a.LastHeardAt, "last_heard", "")
	}
	if a.Number != c.Attempt || c.State != weir.Done {
		add(a.FinishedAt, "back_in_queue", a.Reason)
	}
	return list
}

// addLaterEvents adds the events of the contact's dead letter and requeues, and the
// API requests about the contact.
func (r *timelineRoutes) addLaterEvents(ctx context.Context, c *weir.Contact, list []api.TimelineEvent) ([]api.TimelineEvent, error) {
	after, err := r.dead.History(ctx, c.Ref)
	if err != nil {
		return nil, err
	}
	if d := after.Dead; d != nil {
		at := d.At
		if at.Before(c.FinishedAt) { // dead letters have millisecond precision
			at = c.FinishedAt
		}
		list = append(list, api.TimelineEvent{At: at, What: "dead_letter", Outcome: string(d.Outcome), Reason: d.Reason})
	}
	if !after.RequeuedAt.IsZero() {
		list = append(list, api.TimelineEvent{At: after.RequeuedAt, What: "requeued", Contact: after.RequeuedAs.String(), By: after.RequeuedBy})
	}
	if old, ok := operators.ParseRequeueKey(c.Key); ok {
		from, err := r.dead.History(ctx, old)
		if err != nil {
			return nil, err
		}
		if from.RequeuedAs == c.Ref {
			list = slices.Insert(list, 0, api.TimelineEvent{At: c.QueuedAt, What: "made_of", Contact: old.String(), By: from.RequeuedBy})
		}
	}
	entries, err := r.trail.EntriesOf(ctx, c.Ref.String(), maxEntries)
	for _, e := range entries {
		list = append(list, api.TimelineEvent{At: e.At, What: "request", By: e.Token, Action: e.Action, Status: e.Status})
	}
	return list, err
}
