package api

import "time"

// StatsView shows the progress of a survey.
type StatsView struct {
	Survey        string         `json:"survey"`
	State         SurveyState    `json:"state" enum:"draft,running,paused,stopping,done"`
	Respondents   int            `json:"respondents" doc:"the sum by status, and by disposition"`
	Statuses      map[string]int `json:"by_status" doc:"completed: whose conversation came to an end, whatever its disposition; by_disposition counts those who completed it"`
	Dispositions  map[string]int `json:"by_disposition"`
	Funnel        []StepView     `json:"funnel" doc:"how many respondents have come to each step or further, so that the numbers never rise from step to step. Whoever was contacted, or has answered, stays counted, also after a refusal"`
	Counted       int            `json:"counted" doc:"respondents that count towards the cutoff"`
	Target        int            `json:"target,omitempty" doc:"how many are wanted; absent: everybody"`
	Quotas        []QuotaView    `json:"quotas"`
	Attempts      []AttemptsView `json:"attempts" doc:"attempts that ended"`
	RatePerMinute float64        `json:"rate_per_minute,omitempty" doc:"respondents who come to their end while the schedule is open; absent: not known"`
	SuccessRate   float64        `json:"success_rate" doc:"share of successes, completed and other counted respondents, among those whose result is known, from 0 to 1"`
	NumbersNeeded *int           `json:"numbers_needed,omitempty" doc:"an estimate: how many respondents to add so that the target is reached at the present success rate; absent: not known, or no target"`
	EndsAt        time.Time      `json:"ends_at,omitzero" doc:"an estimate, from the pace so far and the attempts that are left if the last respondents do not answer; absent: not known yet"`
	Open          bool           `json:"open" doc:"the schedule is open now"`
	WhyView
	Brake    *BrakeFigures    `json:"brake_count,omitempty" doc:"what the brake counts now; absent without a brake, or if nothing was counted yet"`
	Budget   *BudgetView      `json:"budget,omitempty" doc:"how much of its budget is used; absent: it has none, or was not launched"`
	Zoneless string           `json:"unknown_time_zone,omitempty" doc:"a respondent whose attribute time_zone is no IANA time zone, as it may have been stored by a former version: contacts keep the hours of the phone number; absent: none is known"`
	Window   *SpanView        `json:"window,omitempty" doc:"the window that is open or opens next; absent: none"`
	Channels []ChannelUseView `json:"channels"`
}

// StepView counts the respondents who have come to a step.
type StepView struct {
	Step        string `json:"step" enum:"registered,queued,contacted,started,interim partial,completed" doc:"contacted: a provider has accepted a contact"`
	Respondents int    `json:"respondents" doc:"those who have come to it, or further"`
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
	Bucket
	Counted int `json:"counted"`
}

// AttemptsView counts attempts by mode and outcome.
type AttemptsView struct {
	Mode    Mode   `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Outcome string `json:"outcome" enum:"completed,busy,no_answer,failed,expired,canceled,lost,dead_letter,suppressed"`
	Count   int    `json:"count"`
}

// SpanView is a window of a schedule.
type SpanView struct {
	OpensAt  time.Time `json:"opens_at"`
	ClosesAt time.Time `json:"closes_at"`
}

// ChannelUseView is a channel as a survey uses it.
type ChannelUseView struct {
	Mode    Mode      `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Channel string    `json:"channel"`
	State   string    `json:"state,omitempty" enum:"up,down,error,paused,faulted" doc:"absent: not known yet"`
	Reason  string    `json:"state_reason,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// CourseView shows how a survey goes, by day.
type CourseView struct {
	Survey      string           `json:"survey"`
	TimeZone    string           `json:"time_zone" doc:"of the days and hours" example:"America/Mexico_City"`
	Started     int              `json:"started" doc:"respondents who were contacted at all"`
	Answered    int              `json:"answered" doc:"respondents who said something, be it a refusal"`
	Completed   int              `json:"completed" doc:"respondents who completed the interview"`
	Days        []CourseDayView  `json:"days" nullable:"false" doc:"oldest first"`
	Modes       []ModeCourseView `json:"modes" nullable:"false" doc:"in which respondents came to it"`
	Arms        []ArmCourseView  `json:"arms" nullable:"false" doc:"respondents of each arm, by what they came to"`
	WeeklyHours [][]int          `json:"weekly_hours" doc:"answers by weekday, from Monday, and hour"`
	Forecast    *ForecastView    `json:"forecast,omitempty" doc:"of the launch, with the present respondents and capacities; of a draft: if it were launched now. Absent: there is no estimate"`
	Rest        *ForecastView    `json:"rest,omitempty" doc:"of the respondents that are left, from now; absent: there is no estimate, or the survey is over"`
}

// CourseDayView is one day of a survey.
type CourseDayView struct {
	Date            string            `json:"date" doc:"in time_zone" example:"2026-01-12"`
	Windows         []SpanView        `json:"windows" nullable:"false" doc:"of the schedule, on this day"`
	Started         int               `json:"started"`
	Answered        int               `json:"answered"`
	Completed       int               `json:"completed"`
	ExpectedStarted float64           `json:"expected_started" doc:"by the forecast"`
	Load            []ChannelLoadView `json:"load" nullable:"false" doc:"what the respondents that are left take on each channel, by the rest"`
}

// ChannelLoadView is the time for which a survey takes slots of a channel.
type ChannelLoadView struct {
	Channel     string  `json:"channel"`
	SlotMinutes float64 `json:"slot_minutes"`
}

// ModeCourseView counts respondents by what they came to in a mode.
type ModeCourseView struct {
	Mode      Mode   `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Channel   string `json:"channel"`
	Started   int    `json:"started"`
	Answered  int    `json:"answered"`
	Completed int    `json:"completed"`
}

// ArmCourseView counts the respondents of an arm by what they came to.
type ArmCourseView struct {
	Arm           int    `json:"arm" doc:"its place in arms"`
	Questionnaire string `json:"questionnaire"`
	Started       int    `json:"started"`
	Answered      int    `json:"answered"`
	Completed     int    `json:"completed"`
}

// LaunchCheckView is what a launch would find.
type LaunchCheckView struct {
	Survey      string              `json:"survey"`
	Respondents int                 `json:"respondents" doc:"how many were checked"`
	Partial     bool                `json:"partial,omitempty" doc:"there are more than were checked; the launch checks all"`
	Missing     int                 `json:"missing" doc:"respondents that are missing a value used in the texts"`
	Errors      []FieldError        `json:"errors" doc:"what a launch would be refused for, with the first 100 missing values; whether the channels work is only found out by the launch"`
	Warnings    []FieldError        `json:"warnings"`
	Modes       []ModeUseView       `json:"modes"`
	Forecast    *ForecastView       `json:"forecast,omitempty" doc:"absent: there is no estimate"`
	Budget      *BudgetForecastView `json:"budget,omitempty" doc:"absent: it has none"`
	Samples     []SampleView        `json:"samples" doc:"the first contacts of up to two respondents, as they get them"`
}

// ModeUseView is how many of the respondents a mode is for.
type ModeUseView struct {
	Mode    Mode   `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Channel string `json:"channel"`
	First   int    `json:"first" doc:"respondents contacted by it first, about: arms are drawn by lot"`
	Later   int    `json:"later" doc:"respondents contacted by it at most if no mode before reached them"`
}

// ForecastView estimates when a survey ends at best.
type ForecastView struct {
	Contacts    int       `json:"contacts" doc:"respondents to contact, as many as the target takes at the expected rate"`
	OpenMinutes int       `json:"open_minutes" doc:"for which the schedule has to be open"`
	Bound       string    `json:"bound,omitempty" doc:"the channel that takes the longest; absent: the limit per minute" example:"calls"`
	EndsAt      time.Time `json:"ends_at" doc:"at best: everybody answers the first attempt, a contact takes two minutes, and no other survey uses the channels"`
	TooShort    bool      `json:"too_short,omitempty" doc:"the schedule ends before; ends_at is when"`
}

// BudgetForecastView is what the budget of a draft pays for.
type BudgetForecastView struct {
	BudgetView
	PerAttempt string `json:"per_attempt,omitempty" doc:"what the first attempt reserves, on average; absent: not known" example:"0.0075"`
	Attempts   *int64 `json:"attempts,omitempty" doc:"about how many attempts the rest of the budget pays for, at that price; absent: not known" example:"333333"`
}

// SampleView is the first contact of a mode with one respondent.
type SampleView struct {
	Respondent    string   `json:"respondent" example:"r2s"`
	Phone         string   `json:"phone" example:"+525512345678"`
	Questionnaire string   `json:"questionnaire"`
	Mode          Mode     `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Messages      []string `json:"messages,omitempty"`
	Call          *Call    `json:"call,omitempty"`
}

// SurveyLogView is an event of a survey.
type SurveyLogView struct {
	ID         string    `json:"id" doc:"in the order in which things were written"`
	At         time.Time `json:"at"`
	Respondent string    `json:"respondent,omitempty" doc:"id; absent: it is about the survey" example:"r2s"`
	Event      string    `json:"event" doc:"enqueued, handed_over, answered, ended, disposition, message, finished and others"`
	Mode       Mode      `json:"mode,omitempty" enum:"ivr,sms,mobileweb,cati"`
	Channel    string    `json:"channel,omitempty"`
	Attempt    int       `json:"attempt,omitempty" doc:"its number"`
	Outcome    string    `json:"outcome,omitempty" enum:"completed,busy,no_answer,failed,expired,canceled,lost,dead_letter,suppressed"`
	Reason     string    `json:"reason,omitempty" doc:"of ended: why, in the provider's words; of finished: opted out, if the respondent asked not to be contacted any more"`
	From       string    `json:"from,omitempty" enum:"registered,queued,contacted,started,interim partial,completed,partial,breakoff,unresponsive,ineligible,rejected,refused,failed" doc:"the disposition before"`
	To         string    `json:"to,omitempty" enum:"registered,queued,contacted,started,interim partial,completed,partial,breakoff,unresponsive,ineligible,rejected,refused,failed" doc:"the disposition after"`
}

// SurveyLogList is a page of a survey's log.
type SurveyLogList struct {
	Entries    []SurveyLogView `json:"entries"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"absent on the last page"`
}
