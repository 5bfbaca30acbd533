package api

import (
	"reflect"
	"strings"
	"time"
)

// CancelBody selects the contacts of a request that cancels many.
type CancelBody struct {
	All      bool      `json:"all,omitempty" doc:"all contacts that are not done; required if no other field selects some"`
	Channel  string    `json:"channel,omitempty" minLength:"1" maxLength:"63" doc:"name of the channel"`
	States   []string  `json:"states,omitempty" minItems:"1" maxItems:"4" enum:"queued,sending,active,unknown" doc:"only contacts in these states; absent: in all four"`
	Survey   string    `json:"survey,omitempty" minLength:"1" maxLength:"64" doc:"name of the survey"`
	Key      string    `json:"key,omitempty" minLength:"1" maxLength:"200" doc:"idempotency key, chosen by the client"`
	Since    time.Time `json:"since,omitzero" doc:"contacts accepted at that instant or later"`
	Until    time.Time `json:"until,omitzero" doc:"contacts accepted before"`
	Contacts []string  `json:"contacts,omitempty" minItems:"1" maxItems:"1000" doc:"these contacts; not with other filters"`
	Limit    int       `json:"limit,omitempty" minimum:"1" maximum:"10000" doc:"max contacts to cancel; absent: 10000"`
	DryRun   bool      `json:"dry_run,omitempty" doc:"only count"`
}

// CancelDone is the result of a request that cancels many contacts.
type CancelDone struct {
	DryRun   bool  `json:"dry_run" doc:"nothing was done"`
	Matching int64 `json:"matching" doc:"contacts that this request tried to cancel; in a dry run, contacts that it would cancel"`
	Waiting  int64 `json:"waiting" doc:"of those matching, how many are queued, and end as canceled at once"`
	Canceled int64 `json:"canceled" doc:"how many ended as canceled"`
	Asked    int64 `json:"asked" doc:"how many are in flight: the provider is asked to cancel them"`
	Ended    int64 `json:"ended" doc:"how many ended otherwise before they could be canceled"`
	More     bool  `json:"more" doc:"the limit or the time of a request ended it: more may match. Repeat the request"`
}

// ContactsBody is the body of POST.
type ContactsBody struct {
	Contacts []ContactBody `json:"contacts" minItems:"1" maxItems:"1000"`
}

// ContactBody is one contact to queue.
type ContactBody struct {
	Key       string            `json:"key,omitempty" minLength:"1" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\xa0\\xad\\x{1680}\\x{180E}\\x{2000}-\\x{200F}\\x{2028}-\\x{202F}\\x{205F}-\\x{206F}\\x{3000}\\x{E000}-\\x{F8FF}\\x{FEFF}\\x{FFF0}-\\x{FFFB}\\x{FFFE}\\x{FFFF}]*$" patternDescription:"printable" doc:"your own name for it, unique on the channel; a key that is known with the same content yields the contact that has it and queues nothing, so that a request can be repeated safely, and with other content is refused (409, key_reused); it must not begin with requeue: (422, reserved), as keys of contacts that Weir made of dead letters do" flag:": idempotency key: a contact with the same key is queued once"`
	To        string            `json:"to" minLength:"1" maxLength:"255" doc:"the address, in the form of the channel's type: a number as in E.164 (an optional + and 3 to 15 digits, such as +254722123456) unless the type has its own; with spaces, hyphens, dots or brackets, with 00 before its country code, or on a channel with a region also without a country code, it is stored as in E.164. Any other that begins with 0 needs the region. Invisible characters, digits of other scripts and a fraction of zeros (254722123456.0) are read as the number that they are written around" flag:": phone number of the contact" example:"+15550001"`
	Priority  string            `json:"priority,omitempty" enum:"normal,high,reply" flag:": priority: normal, high or reply" default:"normal"`
	NotBefore time.Time         `json:"not_before,omitzero" doc:"it is delayed until then"`
	NotAfter  time.Time         `json:"not_after,omitzero" doc:"it ends as expired if it was not dispatched by then"`
	Survey    string            `json:"survey,omitempty" maxLength:"64" pattern:"^[^\\x00-\\x1f\\x7f-\\xa0\\xad\\x{1680}\\x{180E}\\x{2000}-\\x{200F}\\x{2028}-\\x{202F}\\x{205F}-\\x{206F}\\x{3000}\\x{E000}-\\x{F8FF}\\x{FEFF}\\x{FFF0}-\\x{FFFB}\\x{FFFE}\\x{FFFF}]*$" patternDescription:"printable" doc:"surveys of one channel take turns" flag:": survey name, for a fair share of the channel among surveys"`
	Purpose   string            `json:"purpose,omitempty" maxLength:"63" doc:"what it is for, which decides which rules for the sake of the person hold; absent: default" flag:": what it is for, which decides which rules for the sake of the person hold" example:"reminders"`
	TimeZone  string            `json:"time_zone,omitempty" maxLength:"63" doc:"IANA time zone in which the person lives, for quiet hours; absent: that of the number, as far as it is known" flag:": IANA zone in which the person lives, such as Africa/Nairobi" example:"Africa/Nairobi"`
	Labels    map[string]string `json:"labels,omitempty" maxProperties:"32" doc:"up to 32; names of 1 to 64 printable characters, values of up to 256 characters"`
	Messages  []string          `json:"messages,omitempty" minItems:"1" maxItems:"50" doc:"on a text channel: 1 to 50 texts of 1 to 1600 characters; each takes a slot" flag:"message"`
	Call      *CallBody         `json:"call,omitempty" doc:"on a voice channel: what the call does"`
}

// CallBody describes a call: exactly one of its fields is set.
type CallBody struct {
	CallbackURL string `json:"callback_url,omitempty" minLength:"1" maxLength:"2000" doc:"http or https URL that the provider fetches TwiML from" flag:": on a voice channel: URL from which the provider reads the call script"`
	CallFlowID  int64  `json:"call_flow_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"a call flow that is stored at the provider"`
	TwiML       string `json:"twiml,omitempty" minLength:"1" maxLength:"65536" doc:"the document itself: well-formed XML, a Response, at most 64 kB"`
}

// ContactColumns returns what a column of a file of contacts can be: the members of [ContactBody] in its order, the
// parts of a call by their own names, and message, which a file may have several times. A label has its name behind label.
func ContactColumns() []string {
	var list []string
	var add func(of reflect.Type)
	add = func(of reflect.Type) {
		for f := range of.Fields() {
			switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name {
			case "messages":
				list = append(list, "message")
			case "call":
				add(f.Type.Elem())
			case "labels":
			default:
				list = append(list, name)
			}
		}
	}
	add(reflect.TypeFor[ContactBody]())
	return list
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
	ID        string            `json:"id"`
	Channel   string            `json:"channel"`
	Key       string            `json:"key,omitempty"`
	To        string            `json:"to"`
	Priority  string            `json:"priority" enum:"normal,high,reply"`
	Survey    string            `json:"survey,omitempty"`
	Purpose   string            `json:"purpose,omitempty" doc:"what it is for; absent: default"`
	TimeZone  string            `json:"time_zone,omitempty" doc:"in which the person lives, as the client said"`
	Labels    map[string]string `json:"labels,omitempty"`
	Messages  []string          `json:"messages,omitempty"`
	Call      *Call             `json:"call,omitempty"`
	NotBefore time.Time         `json:"not_before,omitzero"`
	NotAfter  time.Time         `json:"not_after,omitzero"`
	Size      int               `json:"size" doc:"slots that it takes while it is in flight"`
	Segments  int               `json:"segments,omitempty" doc:"segments of its texts, as networks send and bill them; rate_per_second of a channel counts them"`
	State     string            `json:"state" enum:"queued,sending,active,unknown,done"`
	Canceling bool              `json:"canceling,omitempty" doc:"cancellation was requested while it was in flight"`
	Outcome   string            `json:"outcome,omitempty" enum:"completed,busy,no_answer,failed,expired,canceled,lost,dead_letter,suppressed"`
	Reason    string            `json:"reason,omitempty"`
	Rule      string            `json:"rule,omitempty" enum:"consent,no_consent,repeat_guard,cap,quiet_hours,holidays,only_to,limit_new_people,limit_money,budget_spent" doc:"the rule for the sake of the person by which it was suppressed, or waits"`
	WhyView
	QueuedAt   time.Time     `json:"queued_at" doc:"when it was accepted"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
	Attempts   []AttemptView `json:"attempts" doc:"oldest first; a list of contacts has only the latest"`
}

// Call is the content of a voice contact. Exactly one of its members is set.
type Call struct {
	CallbackURL string `json:"callback_url,omitempty"`
	CallFlowID  int64  `json:"call_flow_id,omitempty"`
	TwiML       string `json:"twiml,omitempty"`
}

// AttemptView is one attempt to dispatch a contact to the provider.
type AttemptView struct {
	ID          string       `json:"id"`
	Number      int          `json:"number"`
	ClaimedAt   time.Time    `json:"claimed_at,omitzero"`
	SentAt      time.Time    `json:"sent_at,omitzero" doc:"when the provider took it"`
	ProviderRef string       `json:"provider_ref,omitempty" doc:"the provider's id of the message"`
	LastHeardAt time.Time    `json:"last_heard_at,omitzero"`
	FinishedAt  time.Time    `json:"finished_at,omitzero"`
	Outcome     string       `json:"outcome,omitempty" doc:"empty when the contact went back to the queue"`
	Reason      string       `json:"reason,omitempty"`
	Receipt     *ReceiptView `json:"receipt,omitempty" doc:"what the rules for the sake of the person found when it was claimed; absent: there were none"`
}

// ReceiptView records what the rules for the sake of the person found when an attempt was claimed.
type ReceiptView struct {
	Text    string     `json:"text" doc:"in one sentence" example:"purpose research; no refusal recorded; 14:03 in Africa/Nairobi; cap 2 in 7d: 1 left"`
	Clauses []Clause   `json:"clauses" nullable:"false" doc:"the clauses of text, for programs that show them in another language"`
	Purpose string     `json:"purpose" doc:"what the contact is for" example:"research"`
	Rules   []string   `json:"rules" nullable:"false" doc:"that were looked at"`
	Consent string     `json:"consent,omitempty" doc:"id of the consent or refusal that counted"`
	Refused bool       `json:"refused,omitempty" doc:"what counted is a refusal: the purpose is exempt from it, or the contact confirms it"`
	Exempt  string     `json:"exempt,omitempty" doc:"why the purpose reaches people who refused, as it said then" example:"floods"`
	Zones   string     `json:"zones,omitempty" doc:"in which the person may live; of several the first, and how many more there are" example:"Africa/Nairobi"`
	Local   string     `json:"local,omitempty" doc:"the person's time, in the first zone" example:"2026-03-05T14:03:00+03:00"`
	Until   time.Time  `json:"until,omitzero" doc:"when the hours end in which the person may be contacted: the provider is asked not to dispatch it later"`
	Left    []LeftView `json:"left,omitempty" nullable:"false" doc:"what caps leave after this contact"`
}

// LeftView says how many contacts a cap leaves.
type LeftView struct {
	Cap string `json:"cap" doc:"the cap" example:"2 in 7d"`
	N   int    `json:"n" doc:"how many more contacts"`
}

// ContactList is one page of contacts. A page may be short; only a missing
// cursor marks the last one.
type ContactList struct {
	Contacts   []ContactView `json:"contacts"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"absent on the last page; a page before may have few contacts or none"`
}

// CanceledView is the response to a cancellation.
type CanceledView struct {
	ID      string `json:"id"`
	State   string `json:"state" enum:"sending,active,unknown,done" doc:"its state after the request; sending, active or unknown: the provider is asked to cancel it"`
	Outcome string `json:"outcome,omitempty"`
}

// SearchBody is the body of a search for a phone number.
type SearchBody struct {
	To      string    `json:"to" minLength:"1" maxLength:"255" doc:"a phone number, with or without the plus (spaces, dots, dashes, slashes and brackets in it do not count, and neither do invisible characters), or an address in the form of a channel type" example:"+1 555 0001"`
	Channel string    `json:"channel,omitempty" maxLength:"63" doc:"name of the channel; absent: all, one after the other"`
	Since   time.Time `json:"since,omitzero" doc:"only contacts accepted at or after this instant"`
	Until   time.Time `json:"until,omitzero" doc:"only contacts accepted before this instant"`
	Limit   int       `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"most entries of a page"`
	Cursor  string    `json:"cursor,omitempty" maxLength:"512" doc:"next_cursor of the page before"`
}
