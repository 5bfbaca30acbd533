package api

import "time"

// EraseBody names an address.
type EraseBody struct {
	To string `json:"to" minLength:"1" maxLength:"255" doc:"phone number with its country code, or another address" example:"+525512345678"`
}

// ErasureView is the receipt of an erasure.
type ErasureView struct {
	Complete    bool            `json:"complete" doc:"whether everything is erased that this request erases; false: repeat it when what is open has ended"`
	Consents    int             `json:"consents" doc:"refusals and consents from which the address, the words and the key were removed"`
	Respondents int             `json:"respondents" doc:"surveys from which the person was removed"`
	Contacts    int             `json:"contacts" doc:"contacts to the person that were deleted, with their texts and attempts"`
	Messages    int             `json:"messages" doc:"messages from the person that were deleted"`
	Remains     []RemainderView `json:"remains" nullable:"false" doc:"what is kept, and why"`
}

// RemainderView is something that an erasure leaves.
type RemainderView struct {
	What  string `json:"what" enum:"state,contacts,respondents,events,audit,backups" doc:"what is kept; there may be more in later versions"`
	Count int    `json:"count,omitempty" doc:"how many; absent: not counted"`
	Why   string `json:"why" doc:"in one sentence" example:"whether the person may be contacted, by a keyed hash of the address: so a list cannot bring the person back"`
}

// FindBody names a person.
type FindBody struct {
	To         string `json:"to,omitempty" minLength:"1" maxLength:"255" doc:"phone number with its country code, or another address; or contact, or respondent" example:"+525512345678"`
	Contact    string `json:"contact,omitempty" minLength:"1" maxLength:"50" doc:"id of a contact to the person" example:"1-4503599627370496"`
	Respondent string `json:"respondent,omitempty" minLength:"1" maxLength:"50" doc:"id of the person as the respondent of a survey" example:"r2s"`
	Limit      int    `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"most contacts and messages together, and most consents of the history"`
	Cursor     string `json:"cursor,omitempty" maxLength:"20" doc:"next_cursor of the page before: for older contacts and messages; everything else is the same on each page"`
}

// VerdictView says what the rules of a purpose decide about a person now.
type VerdictView struct {
	Purpose string    `json:"purpose" doc:"the purpose" example:"research"`
	Allowed bool      `json:"allowed" doc:"whether the person may be contacted now. Rules about a text, limits of channels and what is in flight are looked at for each contact"`
	Rule    string    `json:"rule,omitempty" enum:"consent,no_consent,cap,quiet_hours,holidays" doc:"the rule by which the person may not be"`
	Text    string    `json:"text" doc:"in one sentence" example:"For research the person is not contacted before 2026-03-05 08:00:00 UTC: contacted 2 in 7d already"`
	Until   time.Time `json:"until,omitzero" doc:"allowed: when the hours end in which the person may be contacted; otherwise: until when a contact waits. Absent: there is no such instant"`
	NotOver []string  `json:"not_over,omitempty" nullable:"false" doc:"names of channels over which the person has refused"`
}

// PersonRespondentView is a person as the respondent of a survey.
type PersonRespondentView struct {
	Survey      string    `json:"survey" doc:"name of the survey"`
	ID          string    `json:"id" doc:"id of the respondent" example:"r2s"`
	Status      string    `json:"status" enum:"pending,active,completed,failed,rejected,canceled" doc:"as of a respondent"`
	Disposition string    `json:"disposition" enum:"registered,queued,contacted,started,interim partial,completed,partial,breakoff,unresponsive,ineligible,rejected,refused,failed" doc:"as of a respondent"`
	Attempts    int       `json:"attempts" doc:"attempts to reach the person, over all modes"`
	Answers     int       `json:"answers" doc:"messages of the person"`
	Reason      string    `json:"reason,omitempty" doc:"why its status became final, as the log of the survey has it, such as a value that was missing at the launch; absent: the status and the disposition are all there is, or it is not final" example:"no value for a field of the text: {{name}}"`
	Contact     string    `json:"contact,omitempty" doc:"id of the latest contact"`
	AddedAt     time.Time `json:"added_at" doc:"when it was added"`
	FinishedAt  time.Time `json:"finished_at,omitzero" doc:"when its status became final"`
}

// SkippedView is how often a rule has kept contacts from being dispatched.
type SkippedView struct {
	Channel    string `json:"channel" doc:"name of the channel" example:"texts"`
	Survey     string `json:"survey,omitempty" doc:"name of the survey; absent: of none" example:"health-2026"`
	Rule       string `json:"rule" doc:"the rule" example:"consent"`
	Suppressed int64  `json:"suppressed" doc:"contacts that ended without being dispatched"`
	Delayed    int64  `json:"delayed" doc:"times that a contact began to wait for the rule"`
}

// SkippedList lists what rules have kept from being dispatched.
type SkippedList struct {
	Skipped []SkippedView `json:"skipped" nullable:"false" doc:"by channel, survey and rule"`
}

// Conversation lists contacts to a person and messages from that person over all channels: one page
// of both together, newest first.
type Conversation struct {
	Contacts        []ContactView  `json:"contacts" nullable:"false" doc:"contacts to the person over all channels, newest first, with their attempts"`
	Messages        []ReceivedView `json:"messages" nullable:"false" doc:"messages from the person over all channels, newest first"`
	UnsearchedSince time.Time      `json:"unsearched_since,omitzero" doc:"contacts accepted from then on, until unsearched_until, were not looked at: the index of addresses does not have them yet, as for some minutes after an upgrade; absent: all were"`
	UnsearchedUntil time.Time      `json:"unsearched_until,omitzero" doc:"see unsearched_since"`
	NextCursor      string         `json:"next_cursor,omitempty" doc:"for what is older; absent: there is nothing"`
}

// ReceivedView is a message of a person, with its channel.
type ReceivedView struct {
	Channel string `json:"channel" doc:"that received it"`
	IncomingView
}

// PersonView is everything that is known of an address.
type PersonView struct {
	To              string                 `json:"to" doc:"the address, as the request or the contact has it" example:"+525512345678"`
	Verdicts        []VerdictView          `json:"verdicts" nullable:"false" doc:"whether the person may be contacted now, for each purpose"`
	MoreConsents    bool                   `json:"more_consents,omitempty" doc:"the history of consents has older ones"`
	Respondents     []PersonRespondentView `json:"respondents" nullable:"false" doc:"the person as a respondent of surveys, newest first"`
	MoreRespondents bool                   `json:"more_respondents,omitempty" doc:"the person is a respondent of more surveys"`
	PersonConsents
	Conversation
}
