package events

import (
	"context"
	"strings"
	"time"

	"weir"
)

// Types of the events about contacts, and about messages from people. They are written
// as [When] has it.
//
// The events of a contact are in order: each attempt begins with dispatched and may be
// accepted; it ends with requeued, and another attempt may follow, or with done. A contact
// that ends without an attempt has done alone. There is one done for each contact.
const (
	// ContactDispatched reports a durable claim: from then on the provider may have the
	// contact.
	ContactDispatched = "weir.contact.dispatched"
	// ContactAccepted reports that the provider has accepted the contact. It is missing
	// if the provider reported the end first, or refused the contact.
	ContactAccepted = "weir.contact.accepted"
	// ContactRequeued reports that an attempt ended, and the provider certainly does not
	// have the contact, which waits for another one.
	ContactRequeued = "weir.contact.requeued"
	// ContactDone reports the end of a contact.
	ContactDone = "weir.contact.done"
	// ContactCorrected reports that a message of a contact that was done as failed was
	// delivered after all, and the contact is completed.
	ContactCorrected = "weir.contact.corrected"
	// MessageReceived reports a message from a person.
	MessageReceived = "weir.message.received"
)

// SourceContacts is the source of the events of these types.
const SourceContacts = "contacts"

// ContactTypes returns these types.
func ContactTypes() []string {
	return []string{ContactDispatched, ContactAccepted, ContactRequeued, ContactDone, ContactCorrected, MessageReceived}
}

// TypeMatches reports whether a type is meant by a pattern: the type itself or, with *
// at its end, each type that begins so.
func TypeMatches(pattern, name string) bool {
	if prefix, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// ContactData is the data of an event about a contact. To, and other values in which it
// may occur, are masked for readers without pii:read.
type ContactData struct {
	Contact     string            `json:"contact" doc:"id of the contact"`
	Key         string            `json:"key,omitempty"`
	Channel     string            `json:"channel" doc:"name of the channel"`
	To          string            `json:"to"`
	Survey      string            `json:"survey,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Attempts    int               `json:"attempts" doc:"attempts begun so far, this one included"`
	ProviderRef string            `json:"provider_ref,omitempty" doc:"the provider's id of the contact"`
	Outcome     weir.Outcome      `json:"outcome,omitempty" enum:"completed,busy,no_answer,failed,expired,canceled,lost,dead_letter,suppressed" doc:"when it is done"`
	Reason      string            `json:"reason,omitempty"`
	QueuedAt    time.Time         `json:"queued_at" doc:"when it was accepted by Weir"`
	ClaimedAt   time.Time         `json:"claimed_at,omitzero" required:"false" doc:"when its latest attempt began"`
	SentAt      time.Time         `json:"sent_at,omitzero" required:"false" doc:"when the provider accepted it"`
	DueAt       time.Time         `json:"due_at,omitzero" required:"false" doc:"requeued: the next attempt is not before this instant; absent: at once"`
	FinishedAt  time.Time         `json:"finished_at,omitzero" required:"false" doc:"when it was done"`
}

// MessageData is the data of a [MessageReceived]. From, To and numbers in Text are masked
// for readers without pii:read.
type MessageData struct {
	Message    string    `json:"message_id" doc:"id of the message among those of its channel"`
	Channel    string    `json:"channel" doc:"name of the channel"`
	From       string    `json:"from"`
	To         string    `json:"to,omitempty"`
	Text       string    `json:"text" doc:"what the person wrote"`
	GUID       string    `json:"guid,omitempty" doc:"the provider's id of the message"`
	ReceivedAt time.Time `json:"received_at"`
}

// When says when the events of [ContactTypes] are written.
type When string

// The choices.
const (
	WhenSubscribed When = "auto" // from the first webhook or reader that wants them, see [Interest]
	Always         When = "on"
	Never          When = "off"
)

// Interest enables the events of [ContactTypes]. Before anyone wants them they are not
// written, and cost nothing.
type Interest interface {
	// WantContactEvents makes the writer write them: of all that is committed after it
	// returned. It is durable.
	WantContactEvents(ctx context.Context) error
}
