package surveys

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/api"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const (
	surveyCalendarPath = "/surveys/_calendar"
	planBack           = 14 // days
	planAhead          = 42
	maxPlanned         = 100 // surveys on the calendar
)

// surveyPlan shows when surveys use which channels.
type surveyPlan struct {
	Days    []time.Time // midnights in UTC
	Heading template.HTML
	Rows    []*planRow
	More    bool     // there are more surveys than are shown
	Invalid []string // surveys whose definition is not valid
	Unknown []string // drafts of which nothing is expected: they have no respondents, or a channel of theirs is gone
}

// planRow is a channel of the calendar.
type planRow struct {
	Channel  string
	Capacity int // 0: not known
	Surveys  []*planBar
	Marks    template.HTML // the days of Over
	Over     []planDay     // on which the loads are more than the channel can do
	Table    []planDay     // of which something is known
}

// planBar is a survey on a channel.
type planBar struct {
	Survey string
	State  surveys.State
	Days   []planCell // one for each day of the calendar
	Bar    template.HTML
}

// planCell is a survey on a channel on a day.
type planCell struct {
	Windows []calendar.Span // in which it contacts, or did
	Load    time.Duration   // slot time that is expected
	Started int             // respondents, over all channels of the survey
}

// planDay is a day of a channel in words.
type planDay struct {
	Date    time.Time
	Surveys string
	Started int
	Load    time.Duration
	Room    time.Duration // slot time within the windows from now on; 0: not known, or none
}

// Share returns which share of the room is taken.
func (d planDay) Share() string { return locale.Percent(float64(d.Load), float64(d.Room)) }

// Over reports whether more is expected than the channel can do within the windows.
func (d planDay) Over() bool { return d.Room > 0 && float64(d.Load) > 1.005*float64(d.Room) }

// Day formats the date.
func (d planDay) Day(l *locale.Locale) string { return l.Day(d.Date) }

// plannedSurvey is what the calendar knows of a survey.
type plannedSurvey struct {
	api.SurveySummary
	Course api.CourseView // by days in UTC, from the first day of the calendar
}

func (k *knownOfSurveys) loadSurveyCalendar(v *page.Visit) (*page.Content, error) {
	plan, err := k.plans.Get(v.RightsKey(), func() (*surveyPlan, error) { return readPlan(v.Caller, time.Now().UTC()) })
	return &page.Content{Title: v.T("Calendar of surveys"), Crumbs: []page.Crumb{{Text: v.T("Surveys"), Link: "/surveys"}, {Text: v.T("Calendar")}}, Data: plan}, err
}

func readPlan(c *page.Caller, now time.Time) (*surveyPlan, error) {
	capacity, err := capacities(c)
	if err != nil {
		return nil, err
	}
	list, more, err := readPlanned(c, now)
	if err != nil {
		return nil, err
	}
	plan := &surveyPlan{More: more}
	first, last := planDays(now)
	var known []plannedSurvey
	for i := range list {
		p := plannedSurvey{SurveySummary: list[i]}
		err := c.Get(page.Path("v1", "surveys", list[i].Survey, "course"), url.Values{"since": {first.Format(time.RFC3339)}, "until": {last.Format(time.RFC3339)}, "time_zone": {"UTC"}}, &p.Course)
		switch status, _ := page.StatusOf(err); {
		case err != nil && status == http.StatusUnprocessableEntity:
			plan.Invalid = append(plan.Invalid, list[i].Survey)
		case err != nil && status != http.StatusNotFound: // it may have been deleted
			return nil, err
		case err == nil:
			known = append(known, p)
		}
	}
	plan.arrange(c.Locale, known, capacity, now)
	return plan, nil
}

// capacities returns the slots of each channel; without the right to see channels, of none.
func capacities(c *page.Caller) (map[string]int, error) {
	out := map[string]int{}
	if !c.May(page.Readers()...) {
		return out, nil
	}
	list, _, err := choices.Channels(c)
	for i := range list {
		out[list[i].Channel] = list[i].Capacity
	}
	return out, err
}

// planDays returns the midnights that begin the first and the last day.
func planDays(now time.Time) (first, last time.Time) {
	today := now.UTC().Truncate(24 * time.Hour)
	return today.AddDate(0, 0, -planBack), today.AddDate(0, 0, planAhead)
}

// readPlanned lists the surveys that are not over, and those that have been for less than two weeks.
func readPlanned(c *page.Caller, now time.Time) (list []api.SurveySummary, more bool, err error) {
	first, _ := planDays(now)
	query := url.Values{"limit": {"100"}}
	for {
		var summaries api.SurveyList
		if err := c.Get("/v1/surveys", query, &summaries); err != nil {
			return nil, false, err
		}
		for i := range summaries.Surveys {
			if s := &summaries.Surveys[i]; s.EndedAt.IsZero() || s.EndedAt.After(first) {
				list = append(list, *s)
			}
		}
		if len(list) > maxPlanned {
			return list[:maxPlanned], true, nil
		}
		if summaries.NextCursor == "" {
			return list, false, nil
		}
		query.Set("cursor", summaries.NextCursor)
	}
}

// arrange lays the surveys out over their channels.
func (p *surveyPlan) arrange(l *locale.Locale, list []plannedSurvey, capacity map[string]int, now time.Time) {
	first, last := planDays(now)
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		p.Days = append(p.Days, day)
	}
	rows := map[string]*planRow{}
	for i := range list {
		if list[i].State == surveys.Draft && list[i].Course.Rest == nil {
			p.Unknown = append(p.Unknown, list[i].Survey)
			continue
		}
		for _, channel := range channelsOf(&list[i].Course) {
			if rows[channel] == nil {
				rows[channel] = &planRow{Channel: channel, Capacity: capacity[channel]}
				p.Rows = append(p.Rows, rows[channel])
			}
			if bar := p.bar(&list[i], channel, now); bar != nil {
				rows[channel].Surveys = append(rows[channel].Surveys, bar)
			}
		}
	}
	p.Rows = slices.DeleteFunc(p.Rows, func(r *planRow) bool { return len(r.Surveys) == 0 })
	slices.SortFunc(p.Rows, func(a, b *planRow) int { return cmp.Compare(a.Channel, b.Channel) })
	for _, r := range p.Rows {
		for i, date := range p.Days {
			d := r.day(i, date, now)
			if d.Over() {
				r.Over = append(r.Over, d)
			}
			if d.Surveys != "" {
				r.Table = append(r.Table, d)
			}
		}
		p.draw(l, r, now)
	}
	p.Heading = p.heading(l, now)
}

func channelsOf(c *api.CourseView) (list []string) {
	for _, m := range c.Modes {
		if !slices.Contains(list, m.Channel) {
			list = append(list, m.Channel)
		}
	}
	return list
}

// bar lays a survey on a channel out over the days; nil: it is on none of them.
func (p *surveyPlan) bar(s *plannedSurvey, channel string, now time.Time) *planBar {
	begin, end, last := now, time.Time{}, time.Time{} // end cuts windows; none opens after last
	if !s.LaunchedAt.IsZero() {
		begin = s.LaunchedAt
	}
	switch {
	case !s.EndedAt.IsZero():
		end = s.EndedAt
	case s.Course.Rest != nil:
		last = s.Course.Rest.EndsAt
	default:
		end = now // nobody is left to start, or its channel is gone
	}
	days := map[string]*api.CourseDayView{}
	for i := range s.Course.Days {
		days[s.Course.Days[i].Date] = &s.Course.Days[i]
	}
	bar, some := &planBar{Survey: s.Survey, State: s.State}, false
	for _, date := range p.Days {
		var cell planCell
		if day := days[date.Format(time.DateOnly)]; day != nil {
			cell = cellOf(day, channel, begin, end, last)
		}
		some = some || len(cell.Windows) > 0
		bar.Days = append(bar.Days, cell)
	}
	if !some {
		return nil
	}
	return bar
}

func cellOf(day *api.CourseDayView, channel string, begin, end, last time.Time) (cell planCell) {
	for _, w := range day.Windows {
		span := calendar.Span{Open: calendar.LaterOf(w.OpensAt, begin), Close: w.ClosesAt}
		if !end.IsZero() && span.Close.After(end) {
			span.Close = end
		}
		if span.Close.After(span.Open) && (last.IsZero() || span.Open.Before(last)) {
			cell.Windows = append(cell.Windows, span)
		}
	}
	for _, l := range day.Load {
		if l.Channel == channel {
			cell.Load = time.Duration(l.SlotMinutes * float64(time.Minute))
		}
	}
	cell.Started = day.Started
	return cell
}

// day sums up a day of a channel. The room is what the channel can do while at least one of the
// surveys may contact, from now on.
func (r *planRow) day(i int, date, now time.Time) planDay {
	d := planDay{Date: date}
	var names []string
	var open []calendar.Span
	for _, s := range r.Surveys {
		cell := &s.Days[i]
		if len(cell.Windows) == 0 {
			continue
		}
		names = append(names, s.Survey)
		d.Load, d.Started = d.Load+cell.Load, d.Started+cell.Started
		for _, w := range cell.Windows {
			if w.Close.After(now) {
				open = append(open, calendar.Span{Open: calendar.LaterOf(w.Open, now), Close: w.Close})
			}
		}
	}
	d.Surveys = strings.Join(names, ", ")
	d.Room = calendar.Union(open) * time.Duration(r.Capacity)
	return d
}

// place returns where an instant is, in days from the first.
func (p *surveyPlan) place(at time.Time) float64 { return at.Sub(p.Days[0]).Hours() / 24 }

func (p *surveyPlan) draw(l *locale.Locale, r *planRow, now time.Time) {
	for _, s := range r.Surveys {
		plan := display.Plan{Title: l.T("%[1]s on %[2]s", s.Survey, r.Channel), Days: len(p.Days), Now: p.place(now), Class: stateClass(s.State)}
		for _, cell := range s.Days {
			bar := display.PlanBar{Share: r.share(&cell, now)}
			for _, w := range cell.Windows {
				bar.From, bar.To = p.place(w.Open), p.place(w.Close)
				plan.Bars = append(plan.Bars, bar)
			}
		}
		s.Bar = plan.SVG(l)
	}
	marks := display.Plan{Title: l.T("More than %s can do", r.Channel), Days: len(p.Days), Now: p.place(now)}
	for _, d := range r.Over {
		marks.Marked = append(marks.Marked, int(p.place(d.Date)))
	}
	if len(r.Over) > 0 {
		r.Marks = marks.SVG(l)
	}
}

// share returns which share of the channel a survey is expected to take in its windows of a day.
func (r *planRow) share(cell *planCell, now time.Time) float64 {
	var open time.Duration
	for _, w := range cell.Windows {
		if from := calendar.LaterOf(w.Open, now); w.Close.After(from) {
			open += w.Close.Sub(from)
		}
	}
	if room := open * time.Duration(r.Capacity); room > 0 {
		return min(1, float64(cell.Load)/float64(room))
	}
	return 0
}

func stateClass(s surveys.State) string {
	switch s {
	case surveys.Draft:
		return "c5"
	case surveys.Done:
		return "c8"
	default:
		return "c1"
	}
}

func (p *surveyPlan) heading(l *locale.Locale, now time.Time) template.HTML {
	plan := display.Plan{Title: l.T("Days from %[1]s to %[2]s", monthDay(l, p.Days[0]), monthDay(l, p.Days[len(p.Days)-1])), Days: len(p.Days), Now: p.place(now)}
	for i, day := range p.Days {
		if day.Weekday() == time.Monday {
			plan.Labels = append(plan.Labels, display.PlanLabel{Day: i, Text: monthDay(l, day)})
		}
	}
	return plan.SVG(l)
}
