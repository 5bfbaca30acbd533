package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/surveys"
	"weir/web"
)

const (
	onePath = "/surveys/{name}"
	// mostRecent is how many log entries a survey's own page shows.
	mostRecent = 15
)

func surveyPage() *page {
	admin := []weir.Scope{weir.ScopeSurveysAdmin}
	return &page{
		name: "survey", path: onePath, scopes: surveyReaders(),
		load: loadSurvey, live: []string{"state", "figures", "people", "calendar", "recent"},
		actions: []action{
			{path: onePath + "/launch", scopes: admin, ask: askLaunch, do: take(surveys.Launch, "is launched")},
			{path: onePath + "/pause", scopes: admin, ask: askPauseSurvey, do: take(surveys.Pause, "is paused")},
			{path: onePath + "/resume", scopes: admin, ask: askResumeSurvey, do: take(surveys.Resume, "goes on")},
			{path: onePath + "/stop", scopes: admin, ask: askStop, do: take(surveys.Stop, "is being stopped")},
		},
		files: map[string]handler{onePath + "/results.csv": surveyFile("results.csv"), onePath + "/log.csv": surveyFile("log.csv")},
	}
}

// surveyData is the data of a survey's page.
type surveyData struct {
	surveyCard
	Why          string // why no respondents are contacted; empty: they are, or the survey is done
	Funnel       []row
	Apart        int // respondents outside the funnel
	Dispositions []row
	Attempts     []attemptRows
	Buckets      []bucketRow
	OverQuota    bool // a bucket exceeds its quota
	Arms         []armRow
	Calendar     *calendar // nil: the schedule is no longer valid
	Log          []web.SurveyLogView
}

// attemptRows holds the attempts of a mode, by outcome.
type attemptRows struct {
	Mode surveys.Mode
	Rows []row
}

// bucketRow is a quota bucket.
type bucketRow struct {
	Where string
	web.QuotaView
	Bar  bar
	Full bool
}

// armRow is one of the variants that a survey compares.
type armRow struct {
	Questionnaire, Modes string
	Ratio                int
}

func (v *visit) survey() (s web.SurveyView, err error) {
	err = v.get(apiPath("v1", "surveys", v.r.PathValue("name")), nil, &s)
	return s, err
}

// surveyCrumbs returns the crumbs of a page of a survey.
func surveyCrumbs(name string, more ...crumb) []crumb {
	if len(more) == 0 {
		return []crumb{{Text: "Surveys", Link: "/surveys"}, {Text: name}}
	}
	return append([]crumb{{Text: "Surveys", Link: "/surveys"}, {Text: name, Link: surveyLink(name)}}, more...)
}

func surveyLink(name string) string { return "/surveys/" + url.PathEscape(name) }

func loadSurvey(v *visit) (*content, error) {
	s, err := v.survey()
	if err != nil {
		return nil, err
	}
	d := &surveyData{surveyCard: surveyCard{SurveySummary: s.SurveySummary}, Why: s.Why, Arms: armsOf(s.Arms)}
	stats, err := v.surveyStats(s.Survey)
	if err != nil {
		return nil, err
	}
	if stats != nil {
		d.fill(stats)
		d.count(v, stats)
	}
	if schedule, wrong := s.Schedule.Compile(); len(wrong) == 0 {
		d.Calendar = calendarOf(s.Schedule, schedule, v.Now())
	}
	var log web.SurveyLogList
	if err := v.get(apiPath("v1", "surveys", s.Survey, "log"), url.Values{"limit": {strconv.Itoa(mostRecent)}}, &log); err != nil {
		return nil, err
	}
	d.Log = log.Entries
	return &content{title: "Survey " + s.Survey, crumbs: surveyCrumbs(s.Survey), data: d}, nil
}

// count builds the charts of the statistics.
func (d *surveyData) count(v *visit, s *web.StatsView) {
	d.Funnel, d.Apart = funnelOf(s)
	link := v.Link("/surveys", s.Survey, "respondents")
	var rows []row
	for _, x := range surveys.Dispositions() {
		rows = append(rows, row{
			Name: string(x), Value: float64(s.Dispositions[x]), Class: dispositionClass(x),
			Link: link + "?" + url.Values{"disposition": {string(x)}}.Encode(),
		})
	}
	d.Dispositions = rowsOf(float64(s.Respondents), rows)
	d.Attempts = attemptsOf(s.Attempts)
	for _, q := range s.Quotas {
		full := q.Counted >= q.Quota
		class := "c1"
		if full {
			class = "c3"
		}
		where := whereText(q.Where)
		d.OverQuota = d.OverQuota || q.Counted > q.Quota
		d.Buckets = append(d.Buckets, bucketRow{where, q, bar{
			Title: where, Whole: float64(q.Quota), Segments: []segment{{"counted", class, float64(q.Counted)}},
		}, full})
	}
}

// funnelOf counts how many respondents reached at least each step. Respondents who
// were ineligible, were rejected by a full quota or refused may have been at any
// step, so they are counted apart.
func funnelOf(s *web.StatsView) (rows []row, apart int) {
	beside := []surveys.Disposition{surveys.Ineligible, surveys.RejectedQuota, surveys.Refused}
	for _, d := range beside {
		apart += s.Dispositions[d]
	}
	reached := func(step surveys.Disposition) (n float64) {
		for d, count := range s.Dispositions {
			if step.CanBecome(d) && !slices.Contains(beside, d) {
				n += float64(count)
			}
		}
		return n
	}
	all := float64(s.Respondents)
	return rowsOf(max(1, all), []row{
		{Name: "in the survey", Class: "c8", Value: all},
		{Name: "begun with", Class: "c5", Value: reached(surveys.Queued)},
		{Name: "contacted", Class: "c1", Value: reached(surveys.Contacted)},
		{Name: "answered", Class: "c1", Value: reached(surveys.Started)},
		{Name: "answered in part or more", Class: "c1", Value: reached(surveys.InterimPartial)},
		{Name: "completed", Class: "c3", Value: reached(surveys.Complete)},
	}), apart
}

// dispositionClass returns the color class of a disposition: good, bad, otherwise
// final, or in progress.
func dispositionClass(d surveys.Disposition) string {
	switch {
	case d == surveys.Complete || d == surveys.Partial:
		return "c3"
	case d == surveys.Unreached || d == surveys.Refused || d == surveys.Breakoff:
		return "c4"
	case d.Final():
		return "c2"
	case d == surveys.Registered:
		return "c8"
	default:
		return "c1"
	}
}

// attemptsOf groups attempts by mode.
func attemptsOf(list []web.AttemptsView) []attemptRows {
	var out []attemptRows
	for _, mode := range surveys.Modes() {
		var rows []row
		for _, a := range list {
			if a.Mode == mode {
				rows = append(rows, row{Name: words(a.Outcome), Value: float64(a.Count), Class: outcomeClass(a.Outcome)})
			}
		}
		if len(rows) > 0 {
			out = append(out, attemptRows{mode, rowsOf(0, rows)})
		}
	}
	return out
}

func outcomeClass(o weir.Outcome) string {
	switch o {
	case weir.Completed:
		return "c3"
	case weir.Failed, weir.Lost, weir.DeadLetter:
		return "c4"
	default:
		return "c2"
	}
}

// whereText describes in words the respondents of a bucket.
func whereText(where map[string]surveys.Match) string {
	var parts []string
	for name, m := range where {
		parts = append(parts, words(name)+" "+matchText(m))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "everybody"
	}
	return strings.Join(parts, ", ")
}

func matchText(m surveys.Match) string {
	switch {
	case m.In != nil:
		return strings.Join(m.In, " or ")
	case m.From != nil && m.To != nil:
		return fmt.Sprintf("%v to %v", *m.From, *m.To)
	case m.From != nil:
		return fmt.Sprintf("from %v", *m.From)
	case m.To != nil:
		return fmt.Sprintf("up to %v", *m.To)
	default:
		return "any number"
	}
}

func armsOf(arms []surveys.Arm) []armRow {
	if len(arms) < 2 {
		return nil // nothing to compare
	}
	var out []armRow
	for _, a := range arms {
		modes := make([]string, len(a.Modes))
		for i, m := range a.Modes {
			modes[i] = string(m)
		}
		out = append(out, armRow{a.Questionnaire, strings.Join(modes, ", then "), a.Ratio})
	}
	return out
}
