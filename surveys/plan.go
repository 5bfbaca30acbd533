package surveys

import (
	"slices"
	"time"

	"weir"
	"weir/api"
	"weir/internal/validation"
	"weir/limits"
	"weir/people"
	"weir/surveys/calendar"
	"weir/surveys/questions"
)

// Definition is a survey as clients write it, without its respondents.
type Definition struct {
	Schedule       calendar.ScheduleSpec         `json:"schedule"`
	Modes          map[Mode]ModeSpec             `json:"modes" doc:"how each mode is used: ivr, sms, mobileweb, cati"`
	Arms           []Arm                         `json:"arms" doc:"what is compared; one arm if nothing is"`
	Questionnaires map[string]map[Mode][]Content `json:"questionnaires,omitempty" doc:"for each questionnaire and mode the content of each attempt; the last content also serves all later attempts. Required without questions"`
	Questions      *questions.Definition         `json:"questions,omitempty" doc:"in place of questionnaires, an application and an answer: the questions that Weir itself asks by text, one after the other, in the mode sms. After the launch only texts may be corrected, with the same fields in them"`
	FallbackDelay  string                        `json:"fallback_delay,omitempty" doc:"from the last retry of a mode to the next mode" example:"120m"`
	Cutoff         int                           `json:"cutoff,omitempty" doc:"how many are enough; 0: no limit"`
	CountPartial   bool                          `json:"count_partial,omitempty" doc:"partial answers count as well"`
	Quotas         Quotas                        `json:"quotas,omitempty"`
	QuotaMessage   string                        `json:"quota_message,omitempty" maxLength:"1600" doc:"sent, instead of the application's messages, to a respondent who is answering by text and is rejected because the quota is full; absent: nothing is sent" example:"Thank you, we have all the answers that we need."`
	Answer         *Answer                       `json:"answer,omitempty" doc:"without an application: the first message of a respondent is the whole interview. Absent: messages are not evaluated, unless by the application. It may change while the survey runs"`
	StopWords      []string                      `json:"stop_words,omitzero" doc:"words that refuse; absent: those of the installation, by default those of docs/consent.md, such as stop, quit and baja"`
	HelpWords      []string                      `json:"help_words,omitzero" doc:"words that ask who is writing; absent: those of the installation, such as help and info"`
	AnswerWords    []string                      `json:"answer_words,omitempty" nullable:"false" doc:"words that are answers to its questions, whatever they mean elsewhere: from a respondent in a conversation they do not refuse, ask for help or take a refusal back" example:"[\"end\",\"cancel\"]"`
	Purpose        string                        `json:"purpose,omitempty" doc:"what its contacts are for, which decides which rules for the sake of the person hold; absent: default" example:"research"`
	Brake          *api.Brake                    `json:"brake,omitempty" doc:"when the survey pauses itself; absent: never. It may change while the survey runs"`
	Budget         *limits.Budget                `json:"budget,omitempty" doc:"what its contacts may cost in all; the survey ends before it costs more; absent: no bound. It may change while the survey runs"`
	Labels         []string                      `json:"labels,omitempty" doc:"attributes of the respondents that their contacts have as labels, such as those by which a channel to people chooses the worker; up to 16" example:"[\"language\"]"`
	Weight         int                           `json:"weight,omitempty" doc:"share of a channel compared with other surveys; absent: 1"`
	LimitPerMinute int                           `json:"limit_per_minute,omitempty" doc:"max first attempts and retries per minute"`
	BatchSize      int                           `json:"batch_size,omitempty" doc:"max active respondents if there is neither a cutoff nor a quota"`
	// InitialSuccessRate is a pointer because 0 is a rate.
	InitialSuccessRate *float64 `json:"initial_success_rate,omitempty" doc:"share expected to complete, from 0 to 1"`
	Region             string   `json:"region,omitempty" doc:"of phone numbers written without a country, as ISO 3166" example:"MX"`
}

// Answer is how a survey of one question by text evaluates the answers itself.
type Answer struct {
	Attribute string `json:"attribute,omitempty" doc:"attribute of the respondent, and column of the results, that the message becomes, cut to 500 characters; absent: answer" example:"well"`
	Thanks    string `json:"thanks,omitempty" maxLength:"1600" doc:"sent in return; absent: nothing is sent" example:"Thank you, {{first_name}}."`
}

// DefaultAnswer is the attribute that an answer becomes if the survey does not name one.
const DefaultAnswer = "answer"

// ModeSpec is how a survey uses a mode.
type ModeSpec struct {
	Channel string `json:"channel" doc:"name of the channel"`
	Retries string `json:"retries,omitempty" doc:"delays from each attempt to the next" example:"10m 2h 1d"`
}

// Defaults are the values for fields that a definition omits.
type Defaults struct {
	Batch              int
	LimitPerMinute     int
	InitialSuccessRate float64
	Words              *people.Words // of the installation; nil: [people.DefaultWords]
}

// Plan is a checked definition. It is immutable.
type Plan struct {
	Schedule           *calendar.Schedule
	Arms               []Arm
	Retries            map[Mode]RetrySchedule
	Channels           map[Mode]string
	FallbackDelay      time.Duration
	Cutoff             int
	CountPartial       bool
	Quotas             Quotas
	Purpose            string
	Labels             []string
	Weight             int
	LimitPerMinute     int
	Batch              int
	InitialSuccessRate float64
	Questions          *questions.Questionnaire // nil: Weir asks none

	inserted     []string          // attributes that the texts of the questions insert
	compared     []string          // attributes that their conditions look at
	doubts       validation.Errors // what is strange about them
	builtIn      []string          // of the names in questions those that are no attributes
	content      map[string]map[Mode][]template
	quotaMessage text
	answer       string // attribute that the answer becomes; empty: Weir evaluates no answers
	thanks       text
	words        *people.Words // nil: [people.DefaultWords]
}

// Content is the content of an attempt: messages in a text mode, a call in ivr,
// and in cati notes for the interviewer, the form to open, or both. Texts, the
// callback URL and the TwiML may hold {{names}} of attributes, and
// {{respondent}}, {{survey}}, {{attempt}} and {{mode}}.
type Content struct {
	Messages []string   `json:"messages,omitempty" doc:"one SMS each" example:"[\"Hello {{first_name}}, may we ask you something?\"]"`
	Call     *weir.Call `json:"call,omitempty"`
}

// template is a checked content.
type template struct {
	messages []text
	called   bool // the content has a call
	url      text
	flow     int64
	twiml    text
}

func (t template) texts() []text { return append(slices.Clone(t.messages), t.url, t.twiml) }

// Bounds of a definition.
const (
	MaxWeight = 1000
	maxWords  = 50
	maxLabels = 16
	maxLabel  = 256 // characters of a label's value
)
