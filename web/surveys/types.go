package surveys

import (
	"time"

	"weir"
	"weir/api"
	"weir/limits"
	"weir/surveys"
	"weir/surveys/questions"
)

// SurveyBody is the body of PUT: a survey without its respondents.
type SurveyBody struct {
	Title       string           `json:"title,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" doc:"for people"`
	Application *ApplicationBody `json:"application,omitempty" doc:"the application that handles text conversations; absent: none"`
	surveys.Definition
}

// ApplicationBody is the program that receives conversations.
type ApplicationBody struct {
	URL    string `json:"url,omitempty" maxLength:"2000" doc:"http or https URL that messages of respondents are POSTed to" example:"https://interviews.example.org/weir"`
	Secret string `json:"secret,omitempty" maxLength:"200" doc:"key of the HMAC-SHA256 in each request; written, never read back"`
}

// SurveyPatch is the body of PATCH: a JSON merge patch (RFC 7396). The merged
// survey is checked against SurveyBody.
type SurveyPatch struct {
	Title              *string                                       `json:"title,omitempty" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f\\x{2028}-\\x{202E}\\x{2066}-\\x{2069}]*$" patternDescription:"one line without control characters" nullable:"true"`
	Application        *ApplicationBody                              `json:"application,omitempty" doc:"merged field by field; null: none"`
	Schedule           map[string]any                                `json:"schedule,omitzero" doc:"merged field by field"`
	Modes              map[surveys.Mode]ModePatch                    `json:"modes,omitzero" doc:"merged; of a survey that was launched only the retries may change"`
	Arms               []surveys.Arm                                 `json:"arms,omitzero" doc:"drafts only"`
	Questionnaires     map[string]map[surveys.Mode][]surveys.Content `json:"questionnaires,omitzero" doc:"merged; drafts only"`
	Questions          map[string]any                                `json:"questions,omitzero" nullable:"true" doc:"merged field by field, lists as a whole; drafts only"`
	FallbackDelay      *string                                       `json:"fallback_delay,omitempty" nullable:"true"`
	Cutoff             *int                                          `json:"cutoff,omitempty" nullable:"true"`
	CountPartial       *bool                                         `json:"count_partial,omitempty" nullable:"true"`
	Quotas             surveys.Quotas                                `json:"quotas,omitzero" doc:"replaced as a whole; of a survey that was launched only the numbers may change"`
	QuotaMessage       *string                                       `json:"quota_message,omitempty" maxLength:"1600" nullable:"true" doc:"sent to a respondent who is answering by text when the quota turns out to be full"`
	Answer             *surveys.Answer                               `json:"answer,omitempty" doc:"merged field by field; null: messages are not evaluated by Weir"`
	StopWords          []string                                      `json:"stop_words,omitzero"`
	HelpWords          []string                                      `json:"help_words,omitzero"`
	AnswerWords        []string                                      `json:"answer_words,omitzero"`
	Purpose            *string                                       `json:"purpose,omitempty" nullable:"true" doc:"what its contacts are for"`
	Brake              *api.Brake                                    `json:"brake,omitempty" doc:"merged field by field; null: none. A change begins its count anew"`
	Budget             *limits.Budget                                `json:"budget,omitempty" doc:"merged field by field; null: none. Of a survey that was launched it may become more, or less down to what is spent"`
	Labels             []string                                      `json:"labels,omitzero"`
	Weight             *int                                          `json:"weight,omitempty" nullable:"true"`
	LimitPerMinute     *int                                          `json:"limit_per_minute,omitempty" nullable:"true"`
	BatchSize          *int                                          `json:"batch_size,omitempty" nullable:"true"`
	InitialSuccessRate *float64                                      `json:"initial_success_rate,omitempty" nullable:"true"`
	Region             *string                                       `json:"region,omitempty" nullable:"true" doc:"drafts only"`
}

// ModePatch changes how a survey uses a mode.
type ModePatch struct {
	Channel *string `json:"channel,omitempty" doc:"name of the channel; drafts only"`
	Retries *string `json:"retries,omitempty" nullable:"true" doc:"delays from each attempt to the next; null: none" example:"10m 2h 1d"`
}

// SurveySummary is a survey in a list.
type SurveySummary struct {
	Survey     string        `json:"survey" doc:"its name in URLs"`
	Title      string        `json:"title,omitempty"`
	State      surveys.State `json:"state" enum:"draft,running,paused,stopping,done"`
	Cause      surveys.Cause `json:"cause,omitempty" enum:"exhausted,reached,window_over,stopped,budget_spent" doc:"why it is stopping or done"`
	Braked     *weir.Braked  `json:"braked,omitempty" doc:"it is paused because it paused itself; absent: it did not"`
	Locked     bool          `json:"locked,omitempty" doc:"it cannot be paused, stopped, changed or deleted until it is unlocked; it ends by itself all the same"`
	PilotOf    string        `json:"pilot_of,omitempty" doc:"it is a pilot of this survey; absent: it is none"`
	Version    int64         `json:"version" doc:"counts the changes"`
	CreatedAt  time.Time     `json:"created_at"`
	UpdatedAt  time.Time     `json:"updated_at"`
	LaunchedAt time.Time     `json:"launched_at,omitzero"`
	EndedAt    time.Time     `json:"ended_at,omitzero"`
}

// SurveyView is a survey in a response.
type SurveyView struct {
	SurveySummary
	api.WhyView
	Application *ApplicationView  `json:"application,omitempty"`
	Warnings    []weir.FieldError `json:"warnings,omitempty" doc:"what may be meant otherwise; only in the responses of a launch and of PUT"`
	surveys.Definition
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

// RespondentView is a respondent in a response.
type RespondentView struct {
	ID               string              `json:"id" example:"r2s"`
	Token            string              `json:"token,omitempty" doc:"what {{token}} stands for: the id and a code that cannot be guessed; paths take it in place of the id; only with pii:read" example:"r2s-5b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e"`
	Survey           string              `json:"survey"`
	Phone            string              `json:"phone" doc:"as E.164" example:"+525512345678"`
	Attributes       map[string]string   `json:"attributes"`
	Status           surveys.Status      `json:"status" enum:"pending,active,completed,failed,rejected,canceled" doc:"completed: the conversation came to an end, whatever its disposition"`
	Disposition      surveys.Disposition `json:"disposition" enum:"registered,queued,contacted,started,interim partial,completed,partial,breakoff,unresponsive,ineligible,rejected,refused,failed"`
	Arm              *int                `json:"arm,omitempty" doc:"index of the arm; absent until the respondent is started"`
	Questionnaire    string              `json:"questionnaire,omitempty"`
	Mode             surveys.Mode        `json:"mode,omitempty" enum:"ivr,sms,mobileweb,cati" doc:"the present or last mode"`
	Attempts         surveys.Counts      `json:"attempts" doc:"attempts that were made, by mode"`
	MessagesSent     int                 `json:"messages_sent" doc:"messages to the respondent that the provider accepted, replies in a conversation included"`
	MessagesReceived int                 `json:"messages_received" doc:"messages of the respondent"`
	CallSeconds      int                 `json:"call_seconds" doc:"length of the respondent's calls, from the answer to the end, as the provider reports it; verboice and twilio_voice do"`
	Bucket           *int                `json:"bucket,omitempty" doc:"index of the quota; absent: none"`
	Counted          bool                `json:"counted" doc:"counts towards the cutoff and its quota"`
	OptedOut         bool                `json:"opted_out,omitempty" doc:"asked not to be contacted any more, by a stop word or through the application; a refusal of this interview alone does not set it"`
	Contact          string              `json:"contact,omitempty" doc:"id of the latest contact"`
	Serial           int                 `json:"serial,omitempty" doc:"how many contacts there were; the number of the latest"`
	DueAt            time.Time           `json:"due_at,omitzero" doc:"when the next step is looked at"`
	api.WhyView
	ReachedAt  time.Time `json:"reached_at,omitzero" doc:"when the latest contact was accepted by the provider"`
	AddedAt    time.Time `json:"added_at"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	UpdatedAt  time.Time `json:"updated_at" doc:"the last change"`
	// Answers are absent in lists.
	Answers []AnswerView `json:"answers,omitempty" nullable:"false" doc:"answers to the questions of the survey, in order; not in lists"`
}

// AnswerView is what became of a question in an interview.
type AnswerView struct {
	Question string           `json:"question" doc:"its name" example:"vaccinated"`
	Status   questions.Status `json:"status" enum:"answered,refused,dont_know,invalid,skipped,not_reached" doc:"invalid: no answer fitted; skipped: its condition was false; not_reached: the conversation ended before"`
	Value    string           `json:"value,omitempty" doc:"names of choices with spaces between, digits, a date as 2026-01-31, or text; absent: none" example:"yes"`
	Raw      string           `json:"raw,omitempty" doc:"the beginning of what the person wrote" example:"Sí, claro"`
}

// AnswersView counts the answers to the questions of a survey.
type AnswersView struct {
	Survey      string             `json:"survey" doc:"its name"`
	Respondents int                `json:"respondents" doc:"of the survey, also those who have not been asked yet"`
	By          surveys.SumsBy     `json:"by,omitempty" enum:"day,arm,language" doc:"how the answers are grouped; absent: they are not"`
	Questions   []AnswerCountsView `json:"questions" doc:"in the order in which they are asked"`
}

// AnswerCountsView counts the answers to one question.
type AnswerCountsView struct {
	Question string                   `json:"question" doc:"its name" example:"vaccinated"`
	Kind     questions.Kind           `json:"kind" enum:"choice,choices,number,text,date,calculation" doc:"how it is answered"`
	Statuses map[questions.Status]int `json:"by_status" doc:"how many respondents, by what became of the question. Those in the middle of the interview, before this question, are in none"`
	Values   []ValueCountView         `json:"values" doc:"how many respondents, by answer: choices in their order, numbers and dates from the smallest, those of more than 24 values in ranges. Texts have none"`
	Summary  *AnswerSummaryView       `json:"summary,omitempty" doc:"of numbers and dates; absent without any"`
	Groups   []AnswerGroupView        `json:"groups,omitempty" nullable:"false" doc:"the same of each day, arm or language, in order; only with by. Together they are the counts of the question"`
}

// AnswerGroupView counts the answers of a day, arm or language to one question.
type AnswerGroupView struct {
	Group    string                   `json:"group" doc:"a day as 2026-01-31, in the time zone of the survey; the number of an arm from 0; or the language of the conversation. Empty: not known, of answers from before they were counted so" example:"2026-01-31"`
	Statuses map[questions.Status]int `json:"by_status" doc:"how many respondents, by what became of the question"`
	Values   []ValueCountView         `json:"values" doc:"how many respondents, by the answers and ranges of the question"`
	Summary  *AnswerSummaryView       `json:"summary,omitempty" doc:"of numbers and dates; absent without any"`
}

// AnswerTextList is a page of texts that respondents answered.
type AnswerTextList struct {
	Texts      []AnswerTextView `json:"texts" doc:"in the order of the respondents"`
	NextCursor string           `json:"next_cursor,omitempty" doc:"for the next page; absent: this is the last"`
}

// AnswerTextView is what a respondent answered.
type AnswerTextView struct {
	Respondent string    `json:"respondent" doc:"id" example:"r2s"`
	Text       string    `json:"text" doc:"the answer"`
	At         time.Time `json:"at" doc:"when it was recorded"`
}

// ValueCountView counts the respondents who gave an answer.
type ValueCountView struct {
	Value string `json:"value" doc:"as it is stored; of a choice its name; of a range the smallest" example:"yes"`
	Below string `json:"below,omitempty" doc:"of a range, the end, which is not part of it" example:"20"`
	Count int    `json:"count" doc:"how many respondents"`
}

// AnswerSummaryView summarizes numbers or dates. It is computed from the sums, in which numbers of
// more than four digits are rounded to four.
type AnswerSummaryView struct {
	Min    string `json:"min" doc:"the smallest, or earliest" example:"0"`
	Median string `json:"median" doc:"half of the answers are not above it; of dates one of them" example:"7.5"`
	Max    string `json:"max" doc:"the greatest, or latest" example:"31"`
	Mean   string `json:"mean,omitempty" doc:"of numbers" example:"9.25"`
}

// HeardView is a respondent after a report.
type HeardView struct {
	RespondentView
	MessagesWithheld bool `json:"messages_withheld,omitempty" doc:"the messages of the report are not sent: the respondent is rejected, as the quota is full"`
}

// RespondentList is one page of respondents.
type RespondentList struct {
	Respondents []RespondentView `json:"respondents"`
	NextCursor  string           `json:"next_cursor,omitempty" doc:"absent on the last page; a page before may have few respondents or none"`
}

// HearingBody is an application's report on a respondent.
type HearingBody struct {
	Disposition surveys.Disposition `json:"disposition,omitempty" enum:"contacted,started,interim partial,completed,partial,breakoff,ineligible,rejected,refused" doc:"what the application makes of the conversation; absent: the respondent has answered, nothing more is known"`
	Contact     string              `json:"contact,omitempty" maxLength:"64" doc:"id of the contact in which it happened; absent: not known"`
	Serial      int                 `json:"serial,omitempty" minimum:"1" maximum:"1000000" doc:"the number of that contact, instead of its id"`
	Answers     map[string]any      `json:"answers,omitempty" maxProperties:"100" doc:"become attributes of the respondent, which may put it into a bucket"`
	Messages    []string            `json:"messages,omitempty" minItems:"1" maxItems:"10" doc:"1 to 10 texts of 1 to 1600 characters, sent with priority reply"`
	Key         string              `json:"key,omitempty" maxLength:"100" pattern:"^[^\\x00-\\x1f\\x7f-\\xa0\\xad\\x{1680}\\x{180E}\\x{2000}-\\x{200F}\\x{2028}-\\x{202F}\\x{205F}-\\x{206F}\\x{3000}\\x{E000}-\\x{F8FF}\\x{FEFF}\\x{FFF0}-\\x{FFFB}\\x{FFFE}\\x{FFFF}]*$" patternDescription:"printable" doc:"makes it safe to repeat a request with messages"`
	Stop        bool                `json:"stop,omitempty" doc:"the respondent asked not to be contacted any more"`
}

// StatsView shows the progress of a survey.
type StatsView struct {
	Survey        string                      `json:"survey"`
	State         surveys.State               `json:"state" enum:"draft,running,paused,stopping,done"`
	Respondents   int                         `json:"respondents" doc:"the sum by status, and by disposition"`
	Statuses      map[surveys.Status]int      `json:"by_status" doc:"completed: whose conversation came to an end, whatever its disposition; by_disposition counts those who completed it"`
	Dispositions  map[surveys.Disposition]int `json:"by_disposition"`
	Funnel        []StepView                  `json:"funnel" doc:"how many respondents have come to each step or further, so that the numbers never rise from step to step. Whoever was contacted, or has answered, stays counted, also after a refusal"`
	Counted       int                         `json:"counted" doc:"respondents that count towards the cutoff"`
	Target        int                         `json:"target,omitempty" doc:"how many are wanted; absent: everybody"`
	Quotas        []QuotaView                 `json:"quotas"`
	Attempts      []AttemptsView              `json:"attempts" doc:"attempts that ended"`
	RatePerMinute float64                     `json:"rate_per_minute,omitempty" doc:"respondents who come to their end while the schedule is open; absent: not known"`
	SuccessRate   float64                     `json:"success_rate" doc:"share of successes, completed and other counted respondents, among those whose result is known, from 0 to 1"`
	NumbersNeeded *int                        `json:"numbers_needed,omitempty" doc:"an estimate: how many respondents to add so that the target is reached at the present success rate; absent: not known, or no target"`
	EndsAt        time.Time                   `json:"ends_at,omitzero" doc:"an estimate, from the pace so far and the attempts that are left if the last respondents do not answer; absent: not known yet"`
	Open          bool                        `json:"open" doc:"the schedule is open now"`
	api.WhyView
	Brake    *weir.BrakeFigures `json:"brake_count,omitempty" doc:"what the brake counts now; absent without a brake, or if nothing was counted yet"`
	Budget   *BudgetView        `json:"budget,omitempty" doc:"how much of its budget is used; absent: it has none, or was not launched"`
	Zoneless string             `json:"unknown_time_zone,omitempty" doc:"a respondent whose attribute time_zone is no IANA time zone, as it may have been stored by a former version: contacts keep the hours of the phone number; absent: none is known"`
	Window   *SpanView          `json:"window,omitempty" doc:"the window that is open or opens next; absent: none"`
	Channels []ChannelUseView   `json:"channels"`
}

// StepView counts the respondents who have come to a step.
type StepView struct {
	Step        surveys.Disposition `json:"step" enum:"registered,queued,contacted,started,interim partial,completed" doc:"contacted: a provider has accepted a contact"`
	Respondents int                 `json:"respondents" doc:"those who have come to it, or further"`
}

// BudgetView is how much of a survey's budget is used.
type BudgetView struct {
	Money    string `json:"money" doc:"the budget" example:"2500.00"`
	Spent    string `json:"spent" doc:"what the contacts have cost that ended, and what those in flight reserve" example:"1240.75"`
	Left     string `json:"left" doc:"the rest" example:"1259.25"`
	Currency string `json:"currency" doc:"ISO 4217 code" example:"USD"`
}

// QuotaView is one bucket of the quotas, with its count.
type QuotaView struct {
	surveys.Bucket
	Counted int `json:"counted"`
}

// AttemptsView counts attempts by mode and outcome.
type AttemptsView struct {
	Mode    surveys.Mode `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Outcome weir.Outcome `json:"outcome" enum:"completed,busy,no_answer,failed,expired,canceled,lost,dead_letter,suppressed"`
	Count   int          `json:"count"`
}

// SpanView is a window of a schedule.
type SpanView struct {
	OpensAt  time.Time `json:"opens_at"`
	ClosesAt time.Time `json:"closes_at"`
}

// ChannelUseView is a channel as a survey uses it.
type ChannelUseView struct {
	Mode    surveys.Mode `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Channel string       `json:"channel"`
	State   weir.Health  `json:"state,omitempty" enum:"up,down,error,paused,faulted" doc:"absent: not known yet"`
	Reason  string       `json:"state_reason,omitempty"`
	Since   time.Time    `json:"since,omitzero"`
}
