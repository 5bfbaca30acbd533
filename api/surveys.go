package api

import "time"

// SurveyDefinition is a survey as clients write it, without its respondents.
type SurveyDefinition struct {
	Schedule       ScheduleSpec                  `json:"schedule"`
	Modes          map[Mode]ModeSpec             `json:"modes" doc:"how each mode is used: ivr, sms, mobileweb, cati"`
	Arms           []Arm                         `json:"arms" doc:"what is compared; one arm if nothing is"`
	Questionnaires map[string]map[Mode][]Content `json:"questionnaires,omitempty" doc:"for each questionnaire and mode the content of each attempt; the last content also serves all later attempts. Required without questions"`
	Questions      *Definition                   `json:"questions,omitempty" doc:"in place of questionnaires, an application and an answer: the questions that Weir itself asks by text, one after the other, in the mode sms. After the launch only texts may be corrected, with the same fields in them"`
	FallbackDelay  string                        `json:"fallback_delay,omitempty" doc:"from the last retry of a mode to the next mode" example:"120m"`
	Cutoff         int                           `json:"cutoff,omitempty" doc:"how many are enough; 0: no limit"`
	CountPartial   bool                          `json:"count_partial,omitempty" doc:"partial answers count as well"`
	Quotas         []Bucket                      `json:"quotas,omitempty"`
	Breakdowns     []Breakdown                   `json:"breakdowns,omitempty" nullable:"false" doc:"with questions: up to 5 attributes of the respondents by whose values the answers are counted, too, when they arrive. Drafts only"`
	QuotaMessage   string                        `json:"quota_message,omitempty" maxLength:"1600" doc:"sent, instead of the application's messages, to a respondent who is answering by text and is rejected because the quota is full; absent: nothing is sent" example:"Thank you, we have all the answers that we need."`
	Answer         *Answer                       `json:"answer,omitempty" doc:"without an application: the first message of a respondent is the whole interview. Absent: messages are not evaluated, unless by the application. It may change while the survey runs"`
	StopWords      []string                      `json:"stop_words,omitzero" doc:"words that refuse; absent: those of the installation, by default those of docs/consent.md, such as stop, quit and baja"`
	HelpWords      []string                      `json:"help_words,omitzero" doc:"words that ask who is writing; absent: those of the installation, such as help and info"`
	AnswerWords    []string                      `json:"answer_words,omitempty" nullable:"false" doc:"words that are answers to its questions, whatever they mean elsewhere: from a respondent in a conversation they do not refuse, ask for help or take a refusal back" example:"[\"end\",\"cancel\"]"`
	Purpose        string                        `json:"purpose,omitempty" doc:"what its contacts are for, which decides which rules for the sake of the person hold; absent: default" example:"research"`
	Brake          *Brake                        `json:"brake,omitempty" doc:"when the survey pauses itself; absent: never. It may change while the survey runs"`
	Budget         *Budget                       `json:"budget,omitempty" doc:"what its contacts may cost in all; the survey ends before it costs more; absent: no bound. It may change while the survey runs"`
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

// Mode is a way to reach a respondent.
type Mode string

// ModeSpec is how a survey uses a mode.
type ModeSpec struct {
	Channel string `json:"channel" doc:"name of the channel"`
	Retries string `json:"retries,omitempty" doc:"delays from each attempt to the next" example:"10m 2h 1d"`
}

// Content is the content of an attempt: messages in a text mode, a call in ivr,
// and in cati notes for the interviewer, the form to open, or both. Texts, the
// callback URL and the TwiML may hold {{names}} of attributes, and
// {{respondent}}, {{survey}}, {{attempt}} and {{mode}}.
type Content struct {
	Messages []string `json:"messages,omitempty" doc:"one SMS each" example:"[\"Hello {{first_name}}, may we ask you something?\"]"`
	Call     *Call    `json:"call,omitempty"`
}

// Arm is one of the variants that a survey compares: a questionnaire, and the
// modes in which respondents are contacted, one after the other.
type Arm struct {
	Questionnaire string `json:"questionnaire,omitempty" doc:"absent: the only one"`
	Modes         []Mode `json:"modes" doc:"the first, and those to fall back on"`
	Ratio         int    `json:"ratio,omitempty" doc:"per cent of the respondents; all have to reach 100; absent if there is one arm"`
}

// Bucket is a group of respondents with a quota.
type Bucket struct {
	Where map[string]Match `json:"where" doc:"what each attribute has to be"`
	Quota int              `json:"quota" doc:"how many are wanted"`
}

// Breakdown is an attribute by whose values answers are counted.
type Breakdown struct {
	Attribute string   `json:"attribute" doc:"its name" example:"region"`
	Values    []string `json:"values" doc:"up to 50 values that are counted apart, ignoring case and surrounding space; all others are counted together" example:"[\"north\",\"south\"]"`
}

// Match is a condition on an attribute: equal to one of some texts, ignoring case
// and surrounding space, or a number from From to To, both inclusive.
type Match struct {
	In   []string `json:"in,omitempty"`
	From *float64 `json:"from,omitempty"`
	To   *float64 `json:"to,omitempty"`
}

// Budget is what a survey may spend in all.
type Budget struct {
	Money    string `json:"money" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 12.50" doc:"most that its contacts may cost in all" example:"2500"`
	Currency string `json:"currency" pattern:"^[A-Z]{3}$" patternDescription:"three capital letters" doc:"of the amount, ISO 4217; each channel of the survey needs a price in it" example:"USD"`
}

// ScheduleSpec is a schedule as clients write it.
type ScheduleSpec struct {
	TimeZone    string       `json:"time_zone" doc:"IANA name" example:"America/Mexico_City"`
	Weekdays    []string     `json:"weekdays" doc:"mon, tue, wed, thu, fri, sat, sun"`
	Windows     []WindowSpec `json:"windows" doc:"the same on each of the weekdays"`
	BlockedDays []string     `json:"blocked_days,omitempty" doc:"dates without contacts" example:"[\"2026-12-25\"]"`
	StartDate   string       `json:"start_date,omitempty" doc:"first day; absent: at once"`
	EndDate     string       `json:"end_date,omitempty" doc:"last day; absent: until the survey has enough"`
}

// WindowSpec is one window as clients write it: local times, excluding To.
type WindowSpec struct {
	From string `json:"from" example:"09:00"`
	To   string `json:"to" doc:"24:00 is the end of the day" example:"18:00"`
}

// SurveyBody is the body of PUT: a survey without its respondents.
type SurveyBody struct {
	Title       string           `json:"title,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" doc:"for people"`
	Application *ApplicationBody `json:"application,omitempty" doc:"the application that handles text conversations; absent: none"`
	SurveyDefinition
}

// ApplicationBody is the program that receives conversations.
type ApplicationBody struct {
	URL    string `json:"url,omitempty" maxLength:"2000" doc:"http or https URL that messages of respondents are POSTed to" example:"https://interviews.example.org/weir"`
	Secret string `json:"secret,omitempty" maxLength:"200" doc:"key of the HMAC-SHA256 in each request; written, never read back"`
}

// SurveyPatch is the body of PATCH: a JSON merge patch (RFC 7396). The merged
// survey is checked against SurveyBody.
type SurveyPatch struct {
	Title              *string                       `json:"title,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" nullable:"true"`
	Application        *ApplicationBody              `json:"application,omitempty" doc:"merged field by field; null: none"`
	Schedule           map[string]any                `json:"schedule,omitzero" doc:"merged field by field"`
	Modes              map[Mode]ModePatch            `json:"modes,omitzero" doc:"merged; of a survey that was launched only the retries may change"`
	Arms               []Arm                         `json:"arms,omitzero" doc:"drafts only"`
	Questionnaires     map[string]map[Mode][]Content `json:"questionnaires,omitzero" doc:"merged; drafts only"`
	Questions          map[string]any                `json:"questions,omitzero" nullable:"true" doc:"merged field by field, lists as a whole; drafts only"`
	FallbackDelay      *string                       `json:"fallback_delay,omitempty" nullable:"true"`
	Cutoff             *int                          `json:"cutoff,omitempty" nullable:"true"`
	CountPartial       *bool                         `json:"count_partial,omitempty" nullable:"true"`
	Quotas             []Bucket                      `json:"quotas,omitzero" doc:"replaced as a whole; of a survey that was launched only the numbers may change"`
	Breakdowns         []Breakdown                   `json:"breakdowns,omitzero" doc:"replaced as a whole; drafts only"`
	QuotaMessage       *string                       `json:"quota_message,omitempty" maxLength:"1600" nullable:"true" doc:"sent to a respondent who is answering by text when the quota turns out to be full"`
	Answer             *Answer                       `json:"answer,omitempty" doc:"merged field by field; null: messages are not evaluated by Weir"`
	StopWords          []string                      `json:"stop_words,omitzero"`
	HelpWords          []string                      `json:"help_words,omitzero"`
	AnswerWords        []string                      `json:"answer_words,omitzero"`
	Purpose            *string                       `json:"purpose,omitempty" nullable:"true" doc:"what its contacts are for"`
	Brake              *Brake                        `json:"brake,omitempty" doc:"merged field by field; null: none. A change begins its count anew"`
	Budget             *Budget                       `json:"budget,omitempty" doc:"merged field by field; null: none. Of a survey that was launched it may become more, or less down to what is spent"`
	Labels             []string                      `json:"labels,omitzero"`
	Weight             *int                          `json:"weight,omitempty" nullable:"true"`
	LimitPerMinute     *int                          `json:"limit_per_minute,omitempty" nullable:"true"`
	BatchSize          *int                          `json:"batch_size,omitempty" nullable:"true"`
	InitialSuccessRate *float64                      `json:"initial_success_rate,omitempty" nullable:"true"`
	Region             *string                       `json:"region,omitempty" nullable:"true" doc:"drafts only"`
}

// ModePatch changes how a survey uses a mode.
type ModePatch struct {
	Channel *string `json:"channel,omitempty" doc:"name of the channel; drafts only"`
	Retries *string `json:"retries,omitempty" nullable:"true" doc:"delays from each attempt to the next; null: none" example:"10m 2h 1d"`
}

// SurveyState is the state of a survey.
type SurveyState string

// SurveyCause is the reason why a survey ended.
type SurveyCause string

// SurveySummary is a survey in a list.
type SurveySummary struct {
	Survey     string      `json:"survey" doc:"its name in URLs"`
	Title      string      `json:"title,omitempty"`
	State      SurveyState `json:"state" enum:"draft,running,paused,stopping,done"`
	Cause      SurveyCause `json:"cause,omitempty" enum:"exhausted,reached,window_over,stopped,budget_spent" doc:"why it is stopping or done"`
	Braked     *Braked     `json:"braked,omitempty" doc:"it is paused because it paused itself; absent: it did not"`
	Locked     bool        `json:"locked,omitempty" doc:"it cannot be paused, stopped, changed or deleted until it is unlocked; it ends by itself all the same"`
	PilotOf    string      `json:"pilot_of,omitempty" doc:"it is a pilot of this survey; absent: it is none"`
	Version    int64       `json:"version" doc:"counts the changes"`
	CreatedAt  time.Time   `json:"created_at"`
	UpdatedAt  time.Time   `json:"updated_at"`
	LaunchedAt time.Time   `json:"launched_at,omitzero"`
	EndedAt    time.Time   `json:"ended_at,omitzero"`
}

// SurveyView is a survey in a response.
type SurveyView struct {
	SurveySummary
	WhyView
	Application *ApplicationView `json:"application,omitempty"`
	Warnings    []FieldError     `json:"warnings,omitempty" doc:"what may be meant otherwise; only in the responses of a launch and of PUT"`
	SurveyDefinition
}

// ApplicationView is the program that receives conversations, without its
// secret.
type ApplicationView struct {
	URL       string `json:"url,omitempty"`
	HasSecret bool   `json:"has_secret" doc:"requests are signed"`
}

// SurveyList is one page of surveys.
type SurveyList struct {
	Surveys    []SurveySummary `json:"surveys"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"absent on the last page"`
}
