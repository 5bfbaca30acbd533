package contacts

import (
	"encoding/json"
	"strconv"
	"time"

	"weir"
	"weir/events"
	"weir/persistence/columns"
	"weir/persistence/commit"
	eventstore "weir/persistence/events"
)

// contactEvents writes the events of contacts, in the transaction of what they tell.
type contactEvents struct{ log *eventstore.Log }

// claimed writes the event of a contact that is claimed as it is accepted.
func (e contactEvents) claimed(t *commit.Tx, c *weir.Contact) {
	e.emit(t, c, events.ContactDispatched, c.ClaimedAt, contactData(c))
}

// changed writes the events of steps.
func (e contactEvents) changed(t *commit.Tx, steps []step) {
	for i := range steps {
		for _, tr := range steps[i].parts {
			e.transition(t, tr.Transition)
		}
	}
}

// transition writes what a transition means to whoever sent the contact: at most that
// the provider accepted it, and one more.
func (e contactEvents) transition(t *commit.Tx, tr *weir.Transition) {
	c := &tr.Contact
	if (tr.Was == weir.Sending || tr.Was == weir.Unknown) && !c.SentAt.IsZero() && (c.State == weir.Active || c.State == weir.Done) {
		d := contactData(c)
		d.Outcome, d.Reason, d.FinishedAt = "", "", time.Time{}
		e.emit(t, c, events.ContactAccepted, d.SentAt, d)
	}
	switch {
	case c.State == weir.Sending && tr.Was.Waiting():
		e.emit(t, c, events.ContactDispatched, c.ClaimedAt, contactData(c))
	case c.State.Waiting() && tr.Was.InFlight():
		e.requeued(t, tr)
	case c.State == weir.Done && tr.Was != weir.Done:
		e.emit(t, c, events.ContactDone, c.FinishedAt, contactData(c))
	case c.State == weir.Done && c.Outcome == weir.Completed: // a correction that changed the outcome
		e.emit(t, c, events.ContactCorrected, t.Now, contactData(c))
	}
}

// requeued writes the event of an attempt that ended without its contact.
func (e contactEvents) requeued(t *commit.Tx, tr *weir.Transition) {
	c := &tr.Contact
	d, at := contactData(c), t.Now
	d.DueAt = c.DueAt
	d.Attempts, d.ClaimedAt, d.SentAt = c.Attempt+1, time.Time{}, time.Time{} // not dispatched after all
	if a := tr.Ended; a != nil {
		d.Attempts, d.ProviderRef, at = a.Number, columns.Clip(a.ProviderRef), a.FinishedAt
		d.ClaimedAt, d.SentAt = a.ClaimedAt, a.SentAt
	}
	e.emit(t, c, events.ContactRequeued, at, d)
}

func (e contactEvents) emit(t *commit.Tx, c *weir.Contact, kind string, at time.Time, d events.ContactData) {
	d.Channel = t.Channel(c.Channel).Name
	e.log.EmitContact(&eventstore.ContactEvent{Type: kind, At: at, Ref: c.Ref, Data: d})
}

// contactData returns the data of a contact as it is stored.
func contactData(c *weir.Contact) events.ContactData {
	return events.ContactData{
		Key: c.Key, To: c.To, Survey: c.Survey, Labels: c.Labels, Attempts: c.Attempt,
		ProviderRef: columns.Clip(c.ProviderRef), Outcome: c.Outcome, Reason: columns.Clip(c.Reason),
		QueuedAt: c.QueuedAt, ClaimedAt: c.ClaimedAt, SentAt: c.SentAt, FinishedAt: c.FinishedAt,
	}
}

// messageEvent is the event of a message from a person.
func messageEvent(channel string, id int64, m *weir.Incoming) (events.Event, error) {
	text := strconv.FormatInt(id, 10)
	data, err := json.Marshal(events.MessageData{
		Message: text, Channel: channel, From: m.From, To: m.To, Text: m.Body, GUID: m.GUID, ReceivedAt: columns.Instant(columns.Micros(m.ReceivedAt)),
	})
	return events.Event{
		Type: events.MessageReceived, Source: events.SourceContacts, Subject: "channel/" + channel + "/incoming/" + text, At: m.ReceivedAt, Data: data,
	}, err
}
