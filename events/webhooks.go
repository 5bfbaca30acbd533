package events

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"weir"
)

// Types of the events about webhooks.
const (
	WebhookDisabled = "weir.webhook.disabled" // Weir has disabled a webhook
	WebhookTest     = "weir.webhook.test"     // sent on request, to one webhook; it is not in the log
)

// SourceWebhooks is the source of the events of these types.
const SourceWebhooks = "webhooks"

// Types returns every type of event in the log.
func Types() []string {
	list := []string{ChannelBraked, "weir.channel.state", "weir.router.function", SurveyBraked, "weir.survey.message", "weir.survey.respondent", "weir.survey.state", WebhookDisabled}
	for _, kind := range []string{
		"JobCancelled", "JobClassificationFailed", "JobClassified", "JobClosed", "JobCompleted", "JobDeleted", "JobExceptionTriggered", "JobQueued",
		"JobReceived", "JobSchedulingFailed", "JobUnassigned", "JobWaitingForActivation", "JobWorkerSelectorsExpired",
		"WorkerDeleted", "WorkerDeregistered", "WorkerOfferAccepted", "WorkerOfferDeclined", "WorkerOfferExpired", "WorkerOfferIssued",
		"WorkerOfferRevoked", "WorkerRegistered", "WorkerUpdated",
	} {
		list = append(list, "Microsoft.Communication.Router"+kind)
	}
	return append(list, ContactTypes()...)
}

// MaxWebhooks is the max number of webhooks.
const MaxWebhooks = 1000

// Reasons for which Weir disables a webhook.
const (
	DisabledGone    = "gone"    // the receiver answered 410
	DisabledFailing = "failing" // it failed for too long
)

// Webhook is an address to which events are posted, as a client configured it.
type Webhook struct {
	ID              string
	URL             string   // may hold a secret
	Types           []string // patterns; see [TypeMatches]
	Channel, Survey string   // only events of these; empty: of all
	Description     string
	Enabled         bool
	PII             bool   // phone numbers are not masked
	Secret          string // signs requests
	OldSecrets      []OldSecret
	Disabled        string    // why Weir disabled it; empty: it did not
	FailingSince    time.Time // zero: it is not failing
	Revision        int64     // grows with each change that clients see
	Generation      int64     // grows with each change that the delivery acts on
	Created         time.Time
	Updated         time.Time
}

// Receiver returns the name of its progress; see [Receivers].
func (w *Webhook) Receiver() string { return WebhookReceiver(w.ID) }

// WebhookReceiver returns the receiver's name of a webhook.
func WebhookReceiver(id string) string { return "webhook/" + id }

// WebhookID returns the id of the webhook that a receiver's name names.
func WebhookID(receiver string) (id string, ok bool) { return strings.CutPrefix(receiver, "webhook/") }

// OldSecret is a secret from before a rotation. It signs requests until an instant.
type OldSecret struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until"`
}

// MaxOldSecrets is how many secrets may sign requests beside the latest one.
const MaxOldSecrets = 4

// Secrets returns the secrets that sign requests at an instant, the latest one first.
func (w *Webhook) Secrets(now time.Time) []string {
	list := []string{w.Secret}
	for _, s := range w.OldSecrets {
		if now.Before(s.Until) {
			list = append(list, s.Secret)
		}
	}
	return list
}

// OldUntil returns the instant until which a secret from before a rotation signs; zero: there
// is none.
func (w *Webhook) OldUntil() (until time.Time) {
	for _, s := range w.OldSecrets {
		if s.Until.After(until) {
			until = s.Until
		}
	}
	return until
}

// Rotate replaces the secret. The former one signs for an overlap, and those before it for
// as long as promised; an overlap of 0 ends all of them. It returns a conflict if that would be
// more than [MaxOldSecrets].
func (w *Webhook) Rotate(secret string, now time.Time, overlap time.Duration) error {
	var old []OldSecret
	if overlap > 0 {
		old = append(old, OldSecret{w.Secret, now.Add(overlap)})
		for _, s := range w.OldSecrets {
			if now.Before(s.Until) {
				old = append(old, s)
			}
		}
	}
	if len(old) > MaxOldSecrets {
		return weir.Errorf(weir.CodeConflict, "%d earlier secrets still sign requests, which is the most; an overlap of 0 hours ends them", MaxOldSecrets)
	}
	w.Secret, w.OldSecrets = secret, old
	return nil
}

// WantsType reports whether it gets events of a type.
func (w *Webhook) WantsType(name string) bool {
	return slices.ContainsFunc(w.Types, func(p string) bool { return TypeMatches(p, name) })
}

// Scope names the channel and the survey that an event is about.
type Scope struct{ Channel, Survey string }

// ScopeOf reads what an event is about from its data.
func ScopeOf(e *Event) Scope {
	var s Scope
	if json.Unmarshal(e.Data, &s) != nil {
		return Scope{}
	}
	return s
}

// WantsScope reports whether it gets events of a channel and a survey.
func (w *Webhook) WantsScope(s Scope) bool {
	return (w.Channel == "" || w.Channel == s.Channel) && (w.Survey == "" || w.Survey == s.Survey)
}

// WantsContacts reports whether it gets events of [ContactTypes].
func (w *Webhook) WantsContacts() bool { return slices.ContainsFunc(ContactTypes(), w.WantsType) }

// Try is an attempt to deliver an event to a webhook. It holds no body and no address.
type Try struct {
	ID        int64 // assigned by the store, in order of time
	Webhook   string
	At        time.Time
	Event     int64 // 0: the test event
	Type      string
	Status    int // of the answer; 0: there was none
	Duration  time.Duration
	Error     string // class; empty: it was delivered
	Abandoned bool   // it was the last try
}

// KeptTries is how many tries of each webhook are kept.
const KeptTries = 200

// MaxReplay is the max number of events that one request replays.
const MaxReplay = 1000

// WebhookStore stores webhooks. Its methods return a [weir.Error] with the code not_found
// for a webhook that does not exist.
type WebhookStore interface {
	// AddWebhook stores a new webhook, which gets what is committed from then on. It
	// returns a conflict if there are [MaxWebhooks].
	AddWebhook(ctx context.Context, w Webhook) error
	Webhook(ctx context.Context, id string) (Webhook, error)
	// Webhooks lists webhooks with a greater id, by id.
	Webhooks(ctx context.Context, after string, limit int) ([]Webhook, error)
	// UpdateWebhook replaces what clients set, and the secrets. It returns the code
	// precondition_failed if the stored revision is not that of w.
	UpdateWebhook(ctx context.Context, w Webhook, now time.Time) (Webhook, error)
	// DeleteWebhook deletes a webhook, its progress and its tries. revision is that which
	// it must have; 0: any.
	DeleteWebhook(ctx context.Context, id string, revision int64) error
	// ReplayEvent has an event delivered again. It returns a conflict if the receiver's
	// progress is not beyond the event, so that it is delivered anyway.
	ReplayEvent(ctx context.Context, id string, e Event, now time.Time) error
	// ReplayFailed has events delivered again whose delivery was abandoned at an instant
	// or later, oldest events first, at most [MaxReplay]; more: there are others. It has
	// events that wait for a retry tried at once.
	ReplayFailed(ctx context.Context, id string, since time.Time) (n int, more bool, err error)
	// Tries lists the tries of a webhook, newest first. before: only those with a smaller
	// id; 0: all.
	Tries(ctx context.Context, id string, before int64, limit int) ([]Try, error)
	// AddTries stores tries. Those of deleted webhooks are dropped.
	AddTries(ctx context.Context, list []Try) error
	// OnWebhooks registers a function that is called after each change of a webhook that
	// the delivery acts on, by this process or another, until stop is called. It must not
	// block.
	OnWebhooks(changed func()) (stop func())
}

// WebhookDelivery is the part of the store that the owner of the delivery needs.
type WebhookDelivery interface {
	// Webhooks, AddTries and OnWebhooks are those of [WebhookStore].
	Webhooks(ctx context.Context, after string, limit int) ([]Webhook, error)
	AddTries(ctx context.Context, list []Try) error
	OnWebhooks(changed func()) (stop func())
	// AdoptReplays makes the events that clients want replayed part of the receiver's
	// progress. It returns weir.ErrSuperseded as Advance does.
	AdoptReplays(ctx context.Context, id string, now time.Time) error
	// SetFailing records since when a webhook fails; zero: it does not.
	SetFailing(ctx context.Context, id string, since time.Time) error
	// DisableWebhook disables a webhook of a generation and writes an event about that.
	// If the webhook has changed meanwhile, it does nothing.
	DisableWebhook(ctx context.Context, w Webhook, reason string, now time.Time) error
}
