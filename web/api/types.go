package api

import (
	"time"

	"weir"
	"weir/ops"
)

// The types below are the bodies of the API. Their tags define both the
// validation and the API description.

// ChannelBody is the body of PUT.
type ChannelBody struct {
	Type     string         `json:"type" minLength:"1" maxLength:"64" doc:"the channel type; it never changes" example:"nuntium"`
	Name     string         `json:"name,omitempty" maxLength:"200" doc:"for people"`
	Capacity int            `json:"capacity,omitempty" minimum:"1" maximum:"1000000" nullable:"true" doc:"most slots in flight; absent or null: DEFAULT_CHANNEL_CAPACITY"`
	Paused   bool           `json:"paused,omitempty" doc:"start nothing; what is out goes on"`
	Settings map[string]any `json:"settings,omitempty" doc:"depends on the type; secrets are written, never read back, so that a replacing PUT has to carry them again"`
}

// ChannelPatch is the body of PATCH: a JSON merge patch (RFC 7396).
type ChannelPatch struct {
	Type     string         `json:"type,omitempty" minLength:"1" maxLength:"64" doc:"may only repeat what it is"`
	Name     string         `json:"name,omitempty" maxLength:"200" nullable:"true" doc:"for people; null: none"`
	Capacity int            `json:"capacity,omitempty" minimum:"1" maximum:"1000000" nullable:"true" doc:"most slots in flight; null: DEFAULT_CHANNEL_CAPACITY"`
	Paused   bool           `json:"paused,omitempty" nullable:"true" doc:"start nothing; what is out goes on; null: false"`
	Settings map[string]any `json:"settings,omitempty" doc:"merged key by key; null takes an optional setting away"`
}

// ChannelView is a channel in a response.
type ChannelView struct {
	Channel        string         `json:"channel" doc:"its name in URLs"`
	Type           string         `json:"type"`
	Name           string         `json:"name,omitempty"`
	Capacity       int            `json:"capacity"`
	Paused         bool           `json:"paused"`
	Settings       map[string]any `json:"settings" doc:"without the secrets"`
	State          weir.Health    `json:"state" enum:"up,down,error,paused,faulted"`
	StateReason    string         `json:"state_reason,omitempty"`
	Why            string         `json:"why,omitempty" doc:"why no queued contact starts, in one sentence for people; absent when some do, or none is queued; as far as the answering process knows" example:"channel texts is paused"`
	WhyCode        ops.WhyCode    `json:"why_code,omitempty" doc:"the same as a stable code for programs; there may be more codes in later versions" example:"channel_paused"`
	Deleting       bool           `json:"deleting,omitempty" doc:"its open contacts are being ended; then it is gone"`
	InFlight       int            `json:"in_flight" doc:"slots of sending, active and unknown contacts; never more than the capacity"`
	Sending        int            `json:"sending" doc:"contacts of which the provider may or may not know yet"`
	Active         int            `json:"active" doc:"contacts that the provider has"`
	Unknown        int            `json:"unknown" doc:"contacts whose hand-over had no clear result"`
	Queued         int64          `json:"queued" doc:"contacts that wait"`
	Blocked        int            `json:"blocked" doc:"waiting contacts that are larger than the capacity, among those next in line"`
	OldestQueuedAt *time.Time     `json:"oldest_queued_at,omitempty" doc:"acceptance of the oldest contact that waits for its turn"`
	NextDueAt      *time.Time     `json:"next_due_at,omitempty" doc:"when the next contact that waits for an instant may go: its window opens, or its next attempt is due; as far as the process knows that is asked"`
	SentPerMinute  float64        `json:"sent_per_minute" doc:"hand-overs that the provider took, over the last five minutes and the one under way; of the process that is asked"`
	Breaker        BreakerView    `json:"breaker"`
	LastCollection *CollectView   `json:"last_collection,omitempty" doc:"the last search for contacts that have been silent too long; absent: none since the channel's broker started, or another process runs it"`
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedAt      time.Time      `json:"updated_at"`
}

// BreakerView is a channel's circuit breaker.
type BreakerView struct {
	State string     `json:"state" enum:"closed,half_open,open" doc:"closed: everything passes; open: nothing does until an instant; half_open: one hand-over is under way to find out"`
	Until *time.Time `json:"until,omitempty" doc:"when an open one lets the next hand-over through"`
}

// CollectView is one run of the reconciler: a search for contacts that have
// been silent for too long.
type CollectView struct {
	At      time.Time `json:"at"`
	Checked int       `json:"checked" doc:"contacts that the provider was to be asked about"`
	Settled int       `json:"settled" doc:"contacts that were settled by asking, then and since"`
}

// ChannelList is one page of channels.
type ChannelList struct {
	Channels   []ChannelView `json:"channels"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// ContactsBody is the body of POST.
type ContactsBody struct {
	Contacts []ContactBody `json:"contacts" minItems:"1" maxItems:"1000"`
}

// ContactBody is one contact to queue.
type ContactBody struct {
	Key       string            `json:"key,omitempty" minLength:"1" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\xa0\\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff\ufff0-\ufffb\ufffe\uffff]*$" patternDescription:"printable" doc:"your own name for it, unique on the channel; a key that is known with the same content yields the contact that has it and queues nothing, so that a request can be repeated safely, and with other content is refused (409, key_reused); it must not begin with requeue: (422, reserved), as keys of contacts that Weir made of dead letters do"`
	To        string            `json:"to" minLength:"3" maxLength:"16" pattern:"^\\+?[0-9]{3,15}$" patternDescription:"a number as in E.164 (an optional + and 3 to 15 digits, nothing else)" example:"+15550001"`
	Priority  string            `json:"priority,omitempty" enum:"normal,high,reply" default:"normal"`
	NotBefore *time.Time        `json:"not_before,omitempty" doc:"it waits until then"`
	NotAfter  *time.Time        `json:"not_after,omitempty" doc:"it ends as expired if it has not gone out by then"`
	Survey    string            `json:"survey,omitempty" maxLength:"64" pattern:"^[^\\x00-\\x1f\\x7f-\\xa0\\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff\ufff0-\ufffb\ufffe\uffff]*$" patternDescription:"printable" doc:"surveys of one channel take turns"`
	Labels    map[string]string `json:"labels,omitempty" maxProperties:"32" doc:"up to 32; names of 1 to 64 printable characters, values of up to 256 characters"`
	Messages  []string          `json:"messages,omitempty" minItems:"1" maxItems:"50" doc:"on a text channel: 1 to 50 texts of 1 to 1600 characters; each takes a slot"`
	Call      *CallBody         `json:"call,omitempty" doc:"on a voice channel: what the call does"`
}

// CallBody describes a call: exactly one of its fields is set.
type CallBody struct {
	CallbackURL string `json:"callback_url,omitempty" minLength:"1" maxLength:"2000" doc:"http or https URL that the provider fetches TwiML from"`
	CallFlowID  int64  `json:"call_flow_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"a call flow that is stored at the provider"`
	TwiML       string `json:"twiml,omitempty" minLength:"1" maxLength:"65536" doc:"the document itself: well-formed XML, a Response, at most 64 kB"`
}

// AcceptedList is the response to an accepted batch, in the order of the
// request.
type AcceptedList struct {
	Contacts []AcceptedView `json:"contacts"`
}

// AcceptedView is one contact of an accepted batch.
type AcceptedView struct {
	ID        string `json:"id"`
	Key       string `json:"key,omitempty"`
	State     string `json:"state" enum:"queued,sending,active,unknown,done"`
	Duplicate bool   `json:"duplicate" doc:"the key was known; this is the contact that has it"`
}

// ContactView is a contact in a response.
type ContactView struct {
	ID         string            `json:"id"`
	Channel    string            `json:"channel"`
	Key        string            `json:"key,omitempty"`
	To         string            `json:"to"`
	Priority   string            `json:"priority" enum:"normal,high,reply"`
	Survey     string            `json:"survey,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Messages   []string          `json:"messages,omitempty"`
	Call       *weir.Call        `json:"call,omitempty"`
	NotBefore  *time.Time        `json:"not_before,omitempty"`
	NotAfter   *time.Time        `json:"not_after,omitempty"`
	Size       int               `json:"size" doc:"slots that it takes while it is in flight"`
	State      string            `json:"state" enum:"queued,sending,active,unknown,done"`
	Canceling  bool              `json:"canceling,omitempty" doc:"it was asked to be taken back while in flight"`
	Outcome    weir.Outcome      `json:"outcome,omitempty" enum:"completed,busy,no_answer,failed,expired,canceled,lost,dead_letter"`
	Reason     string            `json:"reason,omitempty"`
	Why        string            `json:"why,omitempty" doc:"why it waits now, in one sentence for people; absent when it is done" example:"channel texts: 4 of 4 slots are in flight; behind 12 of higher priority"`
	WhyCode    ops.WhyCode       `json:"why_code,omitempty" doc:"the same as a stable code for programs; there may be more codes in later versions" example:"capacity"`
	QueuedAt   time.Time         `json:"queued_at" doc:"when it was accepted"`
	FinishedAt *time.Time        `json:"finished_at,omitempty"`
	Attempts   []AttemptView     `json:"attempts" doc:"oldest first; a list of contacts has only the latest"`
}

// AttemptView is one attempt to dispatch a contact to the provider.
type AttemptView struct {
	ID          string       `json:"id"`
	Number      int          `json:"number"`
	ClaimedAt   *time.Time   `json:"claimed_at,omitempty"`
	SentAt      *time.Time   `json:"sent_at,omitempty" doc:"when the provider took it"`
	ProviderRef string       `json:"provider_ref,omitempty" doc:"the provider's own name for it"`
	LastHeardAt *time.Time   `json:"last_heard_at,omitempty"`
	FinishedAt  *time.Time   `json:"finished_at,omitempty"`
	Outcome     weir.Outcome `json:"outcome,omitempty" doc:"empty when the contact went back to the queue"`
	Reason      string       `json:"reason,omitempty"`
}

// ContactList is one page of contacts. A page may be short; only a missing
// cursor marks the last one.
type ContactList struct {
	Contacts   []ContactView `json:"contacts"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"absent on the last page; a page before may have few contacts or none"`
}

// CanceledView is the response to a cancellation.
type CanceledView struct {
	ID      string       `json:"id"`
	State   string       `json:"state" enum:"queued,sending,active,unknown,done" doc:"queued: another process runs the channel and will end it"`
	Outcome weir.Outcome `json:"outcome,omitempty"`
}

// DeletingView is the response to a deletion in progress.
type DeletingView struct {
	Channel  string `json:"channel"`
	Deleting bool   `json:"deleting"`
}

// IncomingList is one page of incoming messages.
type IncomingList struct {
	Incoming   []IncomingView `json:"incoming"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"pass it as after; absent when nothing newer is there"`
}

// IncomingView is one incoming message of a channel.
type IncomingView struct {
	ID         string            `json:"id" doc:"a whole number that grows, as a text because it is larger than some clients' numbers; pass the last one as after to read on"`
	From       string            `json:"from"`
	To         string            `json:"to,omitempty"`
	Body       string            `json:"body"`
	GUID       string            `json:"guid,omitempty" doc:"the provider's own name for it"`
	ReceivedAt time.Time         `json:"received_at"`
	Fields     map[string]string `json:"fields,omitempty" doc:"whatever else the provider said"`
}
