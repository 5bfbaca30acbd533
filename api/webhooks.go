package api

import "time"

// WebhookBody is a webhook, as in a request that creates it.
type WebhookBody struct {
	URL         string   `json:"url" minLength:"1" maxLength:"2000" doc:"https at a public address; WEIR_OUTBOUND_ALLOW has the exceptions. Never in logs and the audit log, because it may hold a secret"`
	Types       []string `json:"types" minItems:"1" maxItems:"50" nullable:"false" doc:"types of events; one that ends with .* stands for all types that begin so, such as weir.contact.*"`
	Channel     string   `json:"channel,omitempty" maxLength:"63" doc:"only events that name this channel"`
	Survey      string   `json:"survey,omitempty" maxLength:"63" doc:"only events that name this survey"`
	Description string   `json:"description,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" doc:"for people"`
	Enabled     *bool    `json:"enabled,omitempty" doc:"absent: true. While it is false, events wait in the log, as long as that keeps them"`
	PII         bool     `json:"pii,omitempty" doc:"send full phone numbers; the token must have pii:read. Otherwise all but the last two digits are masked"`
}

// WebhookPatch changes fields of a webhook.
type WebhookPatch struct {
	URL         string   `json:"url,omitempty" minLength:"1" maxLength:"2000" doc:"as in the body of create-webhook"`
	Types       []string `json:"types,omitempty" minItems:"1" maxItems:"50" nullable:"false" doc:"all of them: the list is replaced"`
	Channel     *string  `json:"channel,omitempty" maxLength:"63" doc:"only events that name this channel; empty: of all"`
	Survey      *string  `json:"survey,omitempty" maxLength:"63" doc:"only events that name this survey; empty: of all"`
	Description *string  `json:"description,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" doc:"for people"`
	Enabled     *bool    `json:"enabled,omitempty" doc:"true also enables a webhook that Weir has disabled: it goes on where it stopped"`
	PII         *bool    `json:"pii,omitempty" doc:"send full phone numbers; true needs pii:read in this and every later change"`
}

// WebhookView is a webhook.
type WebhookView struct {
	ID             string    `json:"id"`
	URL            string    `json:"url" doc:"where events are sent"`
	Types          []string  `json:"types" nullable:"false" doc:"types of events, and patterns of types"`
	Channel        string    `json:"channel,omitempty" doc:"only events that name this channel; absent: of all"`
	Survey         string    `json:"survey,omitempty" doc:"only events that name this survey; absent: of all"`
	Description    string    `json:"description,omitempty" doc:"for people"`
	State          string    `json:"state" enum:"enabled,failing,paused,disabled" doc:"failing: enabled, and the latest deliveries failed; paused: a client set enabled to false; disabled: Weir did"`
	Enabled        bool      `json:"enabled" doc:"events are sent"`
	PII            bool      `json:"pii" doc:"phone numbers are not masked"`
	DisabledReason string    `json:"disabled_reason,omitempty" enum:"gone,failing" doc:"why Weir disabled it: gone: the receiver answered 410; failing: it failed for five days"`
	FailingSince   time.Time `json:"failing_since,omitzero" doc:"since when it fails; absent: it does not"`
	OldSecretUntil time.Time `json:"old_secret_until,omitzero" doc:"until then requests are also signed with secrets from before a rotation"`
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
	Secret         string    `json:"secret,omitempty" doc:"signs the requests; only in the responses that create and rotate it"`
}

// WebhookList is a page of webhooks.
type WebhookList struct {
	Webhooks   []WebhookView `json:"webhooks" nullable:"false"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// RotateBody says how a secret is rotated.
type RotateBody struct {
	OverlapHours *int `json:"overlap_hours,omitempty" minimum:"0" maximum:"168" doc:"for how long the old secret signs too; absent: 24"`
}

// ReplayBody selects events to deliver again: one of the fields.
type ReplayBody struct {
	Event       string    `json:"event,omitempty" minLength:"1" maxLength:"20" doc:"id of an event in the log"`
	FailedSince time.Time `json:"failed_since,omitzero" doc:"all events whose delivery was given up at that instant or later; events that wait for a retry are tried at once"`
}

// ReplayView is the result of a replay.
type ReplayView struct {
	Replayed int  `json:"replayed" doc:"how many events will be delivered again, unless the filters have changed"`
	More     bool `json:"more" doc:"there are others; repeat the request"`
}

// DeliveryView is a try to deliver an event to a webhook.
type DeliveryView struct {
	ID         string    `json:"id,omitempty" doc:"grows with time; absent for a test"`
	At         time.Time `json:"at" doc:"when it began"`
	Event      string    `json:"event,omitempty" doc:"id of the event in the log; absent: the test event"`
	Type       string    `json:"type" doc:"type of the event"`
	Result     string    `json:"result" enum:"delivered,failed,abandoned" doc:"failed: it will be retried; abandoned: it will not, unless it is replayed"`
	Status     int       `json:"status,omitempty" doc:"HTTP status of the answer; absent: there was none"`
	DurationMS float64   `json:"duration_ms" doc:"milliseconds until the answer"`
	Error      string    `json:"error,omitempty" enum:"status,timeout,unreachable,unresolved,refused,invalid,canceled,internal" doc:"class of the failure: status: an answer other than 2xx; refused: Weir may not call that address"`
}

// DeliveryList is a page of tries, newest first.
type DeliveryList struct {
	Deliveries []DeliveryView `json:"deliveries" nullable:"false"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"absent on the last page"`
}
