package surveys

import (
	"math"
	"net/http"
	"time"

	"weir"
	"weir/api"
	"weir/internal/phonenumber"
	"weir/surveys"
	"weir/web/httpjson"
	"weir/web/route"
)

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
		Answers: []route.Answer{{Status: http.StatusOK, Description: "at most 92 days, the latest if there are more", Body: route.TypeOf[api.CourseView]()}},
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

func courseView(s *surveys.Survey, plan *surveys.Plan, c *surveys.Course) api.CourseView {
	v := api.CourseView{
		Survey: s.Name, TimeZone: c.Zone.String(), Started: c.Total.Started, Answered: c.Total.Answered, Completed: c.Total.Completed,
		Days: []api.CourseDayView{}, Modes: []api.ModeCourseView{}, Arms: []api.ArmCourseView{}, Forecast: forecastView(&c.Launch), Rest: forecastView(&c.Rest),
	}
	for i := range c.Days {
		v.Days = append(v.Days, courseDay(&c.Days[i]))
	}
	for _, mode := range surveys.Modes() {
		if channel, used := plan.Channels[mode]; used {
			p := c.Modes[mode]
			v.Modes = append(v.Modes, api.ModeCourseView{Mode: mode, Channel: channel, Started: p.Started, Answered: p.Answered, Completed: p.Completed})
		}
	}
	for i, p := range c.Arms {
		v.Arms = append(v.Arms, api.ArmCourseView{Arm: i, Questionnaire: plan.Arms[i].Questionnaire, Started: p.Started, Answered: p.Answered, Completed: p.Completed})
	}
	for i := range c.Weekly {
		v.WeeklyHours = append(v.WeeklyHours, c.Weekly[i][:])
	}
	return v
}

func courseDay(d *surveys.CourseDay) api.CourseDayView {
	round := func(x float64) float64 { return math.Round(x*10) / 10 }
	v := api.CourseDayView{
		Date: d.Begin.Format(time.DateOnly), Windows: []api.SpanView{}, Started: d.Passed.Started, Answered: d.Passed.Answered, Completed: d.Passed.Completed,
		ExpectedStarted: round(d.Expected), Load: []api.ChannelLoadView{},
	}
	for _, w := range d.Windows {
		v.Windows = append(v.Windows, api.SpanView{OpensAt: w.Open.UTC(), ClosesAt: w.Close.UTC()})
	}
	for _, l := range d.Load {
		v.Load = append(v.Load, api.ChannelLoadView{Channel: l.Channel, SlotMinutes: round(l.Time.Minutes())})
	}
	return v
}

// forecastView returns nil if there is no estimate.
func forecastView(f *surveys.Forecast) *api.ForecastView {
	if f.Unknown {
		return nil
	}
	return &api.ForecastView{Contacts: f.Contacts, OpenMinutes: int(f.Open.Round(time.Minute).Minutes()), Bound: f.Bound, EndsAt: f.EndsAt.UTC(), TooShort: f.TooShort}
}
