package api

import "time"

// ConsentBody is a consent, as in a request that records it.
type ConsentBody struct {
	Key     string    `json:"key,omitempty" minLength:"1" maxLength:"200" doc:"makes the request safe to repeat: a consent of the same address whose key is known is not recorded again"`
	To      string    `json:"to" minLength:"1" maxLength:"255" doc:"phone number with its country code, or another address"`
	Purpose string    `json:"purpose,omitempty" maxLength:"63" default:"all" doc:"for which purpose it counts; all: for every" example:"all"`
	Status  string    `json:"status" enum:"refused,given" doc:"refused: the person does not want to be contacted; given: the person wants to be, or takes a refusal back"`
	Source  string    `json:"source,omitempty" enum:"api,import" default:"api" doc:"where it comes from"`
	At      time.Time `json:"at,omitzero" doc:"when it was said; absent: now. One that is older than what is known is recorded and changes nothing"`
	Words   string    `json:"words,omitempty" maxLength:"500" doc:"what was said, as a proof"`
}

// ConsentsBody is 1 to 1000 consents.
type ConsentsBody struct {
	Consents []ConsentBody `json:"consents" minItems:"1" maxItems:"1000" nullable:"false" doc:"1 to 1000 consents"`
}

// StateView is the refusal or consent that counts for an address.
type StateView struct {
	Purpose string    `json:"purpose" doc:"all: of every purpose" example:"all"`
	Status  string    `json:"status" enum:"refused,given" doc:"whether the person may be contacted"`
	Source  string    `json:"source" enum:"word,provider,application,operator,api,import" doc:"word: a message of the person; provider: an opt-out that a provider reports; application: reported by a program that holds conversations; operator: read by an operator in a message of the person"`
	At      time.Time `json:"at" doc:"when it was said"`
	Version string    `json:"version" doc:"id of the consent that made it"`
}

// ConsentSearchBody names an address.
type ConsentSearchBody struct {
	To    string `json:"to" minLength:"1" maxLength:"255" doc:"phone number with its country code, or another address"`
	Limit int    `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"most consents of the history"`
}

// ListedConsent is a consent in a list of everybody's.
type ListedConsent struct {
	To string `json:"to,omitempty" doc:"phone number, or another address; absent: it was erased"`
	ConsentView
}

// ConsentList is a page of consents.
type ConsentList struct {
	Consents   []ListedConsent `json:"consents" nullable:"false" doc:"in the order in which they were recorded"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// ConsentView is an entry of the history of an address.
type ConsentView struct {
	ID      string    `json:"id" doc:"grows with time"`
	Key     string    `json:"key,omitempty" doc:"idempotency key for this address; absent: none"`
	Purpose string    `json:"purpose" doc:"all: of every purpose" example:"all"`
	Status  string    `json:"status" enum:"refused,given" doc:"what was said"`
	Source  string    `json:"source" enum:"word,provider,application,operator,api,import" doc:"where it comes from"`
	At      time.Time `json:"at" doc:"when it was said"`
	Words   string    `json:"words,omitempty" doc:"what was said"`
	By      string    `json:"by,omitempty" doc:"who recorded it: the id of a token, or the name of a channel"`
}

// PersonConsents has what an address has said: what counts now, and the history.
type PersonConsents struct {
	Refused  bool          `json:"refused" doc:"contacts to the address end as suppressed"`
	States   []StateView   `json:"states" nullable:"false" doc:"what counts, for each purpose"`
	Consents []ConsentView `json:"consents" nullable:"false" doc:"the history, newest first"`
}

// UndecidedView is a message that may be a refusal.
type UndecidedView struct {
	ID      string    `json:"id" doc:"names it in a decision; grows with time"`
	To      string    `json:"to,omitempty" doc:"phone number or another address of the person; without pii:read masked"`
	Channel string    `json:"channel" doc:"name of the channel over which it came"`
	At      time.Time `json:"at" doc:"when it was received"`
	Words   string    `json:"words,omitempty" doc:"the message, up to 500 characters; absent without pii:read"`
	Found   string    `json:"found" doc:"the word or phrase by which it may be a refusal" example:"stop"`
}

// UndecidedList is a page of messages that wait for a decision.
type UndecidedList struct {
	Messages   []UndecidedView `json:"messages" nullable:"false" doc:"the oldest first"`
	Waiting    int             `json:"waiting" doc:"how many wait on all pages; 1000: there may be more"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// DecisionBody decides about a message.
type DecisionBody struct {
	ID       string `json:"id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a message in the list" doc:"of the message"`
	Decision string `json:"decision" enum:"refused,dismissed" doc:"refused: the person does not want to be contacted; dismissed: the message is about something else"`
}

// DecisionView is a decision about a message.
type DecisionView struct {
	ID       string     `json:"id" doc:"of the message"`
	Decision string     `json:"decision" enum:"refused,dismissed" doc:"what was decided"`
	State    *StateView `json:"state,omitempty" doc:"after refused: what counts of the address for all purposes; given, if the person has taken back later what the message says"`
}

// StateList lists states, in the order of the request.
type StateList struct {
	States []StateView `json:"states" nullable:"false" doc:"a state for each consent; empty without pii:read, because it would say of any number whether it is known"`
	// Unlike what waits, they may reach the person.
	InFlight       int `json:"in_flight,omitempty" doc:"contacts to people who refused that are in flight already: the providers are asked to cancel them, and some may reach the person all the same; absent: none, or without pii:read"`
	OtherAddresses int `json:"other_addresses,omitempty" doc:"refusals and consents of addresses that no country could have as a phone number, such as ids of chats: they count for contacts to exactly these addresses"`
	// File is the result of a file; then States has nothing.
	File *ConsentFile `json:"file,omitempty" doc:"of a file: what became of its lines; then states is empty"`
}
