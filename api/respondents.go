package api

import "time"

// RespondentsBody is the JSON body of POST.
type RespondentsBody struct {
	Respondents []RespondentBody `json:"respondents" minItems:"1" maxItems:"1000"`
}

// RespondentBody is one respondent to add.
type RespondentBody struct {
	Phone      string         `json:"phone" minLength:"1" maxLength:"50" doc:"with its country code, or as it is dialled in the survey's region" example:"+525512345678"`
	Attributes map[string]any `json:"attributes,omitempty" maxProperties:"100" doc:"texts of up to 500 characters, numbers, true and false; names of a-z, 0-9 and _ that begin with a letter"`
}

// RespondentView is a respondent in a response.
type RespondentView struct {
	ID               string            `json:"id" example:"r2s"`
	Token            string            `json:"token,omitempty" doc:"what {{token}} stands for: the id and a code that cannot be guessed; paths take it in place of the id; only with pii:read" example:"r2s-5b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e"`
	Survey           string            `json:"survey"`
	Phone            string            `json:"phone" doc:"as E.164" example:"+525512345678"`
	Attributes       map[string]string `json:"attributes"`
	Status           string            `json:"status" enum:"pending,active,completed,failed,rejected,canceled" doc:"completed: the conversation came to an end, whatever its disposition"`
	Disposition      string            `json:"disposition" enum:"registered,queued,contacted,started,interim partial,completed,partial,breakoff,unresponsive,ineligible,rejected,refused,failed"`
	Arm              *int              `json:"arm,omitempty" doc:"index of the arm; absent until the respondent is started"`
	Questionnaire    string            `json:"questionnaire,omitempty"`
	Mode             Mode              `json:"mode,omitempty" enum:"ivr,sms,mobileweb,cati" doc:"the present or last mode"`
	Attempts         Counts            `json:"attempts" doc:"attempts that were made, by mode"`
	MessagesSent     int               `json:"messages_sent" doc:"messages to the respondent that the provider accepted, replies in a conversation included"`
	MessagesReceived int               `json:"messages_received" doc:"messages of the respondent"`
	CallSeconds      int               `json:"call_seconds" doc:"length of the respondent's calls, from the answer to the end, as the provider reports it; verboice and twilio_voice do"`
	Bucket           *int              `json:"bucket,omitempty" doc:"index of the quota; absent: none"`
	Counted          bool              `json:"counted" doc:"counts towards the cutoff and its quota"`
	OptedOut         bool              `json:"opted_out,omitempty" doc:"asked not to be contacted any more, by a stop word or through the application; a refusal of this interview alone does not set it"`
	Contact          string            `json:"contact,omitempty" doc:"id of the latest contact"`
	Serial           int               `json:"serial,omitempty" doc:"how many contacts there were; the number of the latest"`
	DueAt            time.Time         `json:"due_at,omitzero" doc:"when the next step is looked at"`
	WhyView
	ReachedAt  time.Time `json:"reached_at,omitzero" doc:"when the latest contact was accepted by the provider"`
	AddedAt    time.Time `json:"added_at"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	UpdatedAt  time.Time `json:"updated_at" doc:"the last change"`
	// Answers are absent in lists.
	Answers []AnswerView `json:"answers,omitempty" nullable:"false" doc:"answers to the questions of the survey, in order; not in lists"`
}

// RespondentList is one page of respondents.
type RespondentList struct {
	Respondents []RespondentView `json:"respondents"`
	NextCursor  string           `json:"next_cursor,omitempty" doc:"absent on the last page; a page before may have few respondents or none"`
}

// HearingBody is an application's report on a respondent.
type HearingBody struct {
	Disposition string         `json:"disposition,omitempty" enum:"contacted,started,interim partial,completed,partial,breakoff,ineligible,rejected,refused" doc:"what the application makes of the conversation; absent: the respondent has answered, nothing more is known"`
	Contact     string         `json:"contact,omitempty" maxLength:"64" doc:"id of the contact in which it happened; absent: not known"`
	Serial      int            `json:"serial,omitempty" minimum:"1" maximum:"1000000" doc:"the number of that contact, instead of its id"`
	Answers     map[string]any `json:"answers,omitempty" maxProperties:"100" doc:"become attributes of the respondent, which may put it into a bucket"`
	Messages    []string       `json:"messages,omitempty" minItems:"1" maxItems:"10" doc:"1 to 10 texts of 1 to 1600 characters, sent with priority reply"`
	Key         string         `json:"key,omitempty" maxLength:"100" pattern:"^[^\\x00-\\x1f\\x7f-\\xa0\\xad\\x{1680}\\x{180E}\\x{2000}-\\x{200F}\\x{2028}-\\x{202F}\\x{205F}-\\x{206F}\\x{3000}\\x{E000}-\\x{F8FF}\\x{FEFF}\\x{FFF0}-\\x{FFFB}\\x{FFFE}\\x{FFFF}]*$" patternDescription:"printable" doc:"makes it safe to repeat a request with messages"`
	Stop        bool           `json:"stop,omitempty" doc:"the respondent asked not to be contacted any more"`
}

// HeardView is a respondent after a report.
type HeardView struct {
	RespondentView
	MessagesWithheld bool `json:"messages_withheld,omitempty" doc:"the messages of the report are not sent: the respondent is rejected, as the quota is full"`
}

// RespondentPatch is the body of PATCH: a JSON merge patch (RFC 7396).
type RespondentPatch struct {
	Phone      string         `json:"phone,omitempty" minLength:"1" maxLength:"50" doc:"the new number, as in an import" example:"+525512345678"`
	Attributes map[string]any `json:"attributes,omitzero" maxProperties:"100" doc:"merged; null or an empty text removes an attribute"`
}

// Counts holds a number for each mode.
type Counts struct {
	IVR       int `json:"ivr,omitempty"`
	SMS       int `json:"sms,omitempty"`
	MobileWeb int `json:"mobileweb,omitempty"`
	CATI      int `json:"cati,omitempty"`
}
