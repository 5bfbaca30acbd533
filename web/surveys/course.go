package surveys

import (
	"math"
	"net/http"
	"time"

	"weir"
	"weir/internal/phonenumber"
	"weir/surveys"
	"weir/web/httpjson"
	"weir/web/route"
)

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
	Mode      surveys.Mode `json:"mode" enum:"ivr,sms,mobileweb,cati"`
	Channel   string       `json:"channel"`
	Started   int          `json:"started"`
	Answered  int          `json:"answered"`
	Completed int          `json:"completed"`
}

// ArmCourseView counts the respondents of an arm by what they came to.
type ArmCourseView struct {
	Arm           int    `json:"arm" doc:"its place in arms"`
	Questionnaire string `json:"questionnaire"`
	Started       int    `json:"started"`
	Answered      int    `json:"answered"`
	Completed     int    `json:"completed"`
}

// courseRoute shows how a survey goes.
type courseRoute struct {
	finder
	broker surveyBroker
}

func (s courseRoute) routes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: Path + "/course", ID: "get-survey-course", Tag: "surveys",
		Summary:     "Get how a survey goes, by day",
		Description: "Respondents who started, answered and completed on each day, in each mode and arm, beside what the forecast of the launch expected, and what the respondents that are left will take of the channels.",
		Query: []httpjson.Parameter{
			{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339) of the first day; absent: that of the launch"},
			{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339) of the last day; absent: now, or the end of the forecast if it is later, at most 46 days ahead. At most ten years ahead"},
			{Name: "time_zone", Kind: "string", Single: true, Description: "the IANA name of the zone of days and hours; absent: that of the schedule"},
		},
		Handle:  s.onSurvey(s.course),
		Answers: []route.Answer{{Status: http.StatusOK, Description: "at most 92 days, the latest if there are more", Body: route.TypeOf[CourseView]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}}
}

func (s courseRoute) course(c *route.Call, v surveys.Survey) (route.Reply, error) {
	var span surveys.CourseQuery
	span.Since, _ = c.Instant("since")
	span.Until, _ = c.Instant("until")
	if name := c.Query.Text("time_zone"); name != "" {
		var err error
		if span.Zone, err = phonenumber.LoadZone(name); err != nil {
			c.Errors.Add("/time_zone", "unknown", "%v", err)
		}
	}
	if !span.Until.IsZero() && span.Since.After(span.Until) {
		c.Errors.Add("/since", "range", "must be before until")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	plan, course, err := s.broker.Course(c, v, span)
	if err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: courseView(&v, plan, &course)}, nil
}

func courseView(s *surveys.Survey, plan *surveys.Plan, c *surveys.Course) CourseView {
	v := CourseView{
		Survey: s.Name, TimeZone: c.Zone.String(), Started: c.Total.Started, Answered: c.Total.Answered, Completed: c.Total.Completed,
		Days: []CourseDayView{}, Modes: []ModeCourseView{}, Arms: []ArmCourseView{}, Forecast: forecastView(&c.Launch), Rest: forecastView(&c.Rest),
	}
	for i := range c.Days {
		v.Days = append(v.Days, courseDay(&c.Days[i]))
	}
	for _, mode := range surveys.Modes() {
		if channel, used := plan.Channels[mode]; used {
			p := c.Modes[mode]
			v.Modes = append(v.Modes, ModeCourseView{mode, channel, p.Started, p.Answered, p.Completed})
		}
	}
	for i, p := range c.Arms {
		v.Arms = append(v.Arms, ArmCourseView{i, plan.Arms[i].Questionnaire, p.Started, p.Answered, p.Completed})
	}
	for i := range c.Weekly {
		v.WeeklyHours = append(v.WeeklyHours, c.Weekly[i][:])
	}
	return v
}

func courseDay(d *surveys.CourseDay) CourseDayView {
	round := func(x float64) float64 { return math.Round(x*10) / 10 }
	v := CourseDayView{
		Date: d.Begin.Format(time.DateOnly), Windows: []SpanView{}, Started: d.Passed.Started, Answered: d.Passed.Answered, Completed: d.Passed.Completed,
		ExpectedStarted: round(d.Expected), Load: []ChannelLoadView{},
	}
	for _, w := range d.Windows {
		v.Windows = append(v.Windows, SpanView{w.Open.UTC(), w.Close.UTC()})
	}
	for _, l := range d.Load {
		v.Load = append(v.Load, ChannelLoadView{l.Channel, round(l.Time.Minutes())})
	}
	return v
}

// forecastView returns nil if there is no estimate.
func forecastView(f *surveys.Forecast) *ForecastView {
	if f.Unknown {
		return nil
	}
	return &ForecastView{f.Contacts, int(f.Open.Round(time.Minute).Minutes()), f.Bound, f.EndsAt.UTC(), f.TooShort}
}
