package surveys

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/people"
	"weir/surveys"
	"weir/surveys/calendar"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
	"weir/web/dashboard/why"
)

// causeText describes why a survey stops or is done.
func causeText(l *locale.Locale, c surveys.Cause) string {
	switch c {
	case surveys.Exhausted:
		return l.T("finished: everyone was contacted")
	case surveys.Reached:
		return l.T("finished: the target is reached")
	case surveys.WindowOver:
		return l.T("finished: the last window has closed")
	case surveys.ByUser:
		return l.T("stopped by a user")
	case surveys.BudgetSpent:
		return l.T("finished: its budget is spent")
	default:
		return l.Word(string(c))
	}
}

// logEventText describes an event of a survey's log.
func logEventText(l *locale.Locale, event string) string {
	switch event {
	case "enqueued":
		return l.T("queued")
	case string(surveys.ContactAccepted):
		return l.T("sent to provider")
	case string(surveys.ContactEnded):
		return l.T("finished")
	default:
		return l.Word(event)
	}
}

// maxRecent is how many log entries a survey's own page shows.
const maxRecent = 15

// surveyData is the data of a survey's page.
type surveyData struct {
	Card
	Purpose      string         // of its contacts
	Asks         bool           // Weir itself asks its questions
	Waits        *why.View      // why no respondents are contacted; nil: they are, or the survey is done
	BrakeView    *why.BrakeView // nil: it has none
	Skipped      []why.SkippedRow
	Funnel       []display.Row
	Dispositions []display.Row
	Attempts     []attemptRows
	Buckets      []bucketRow
	OverQuota    bool // a bucket exceeds its quota
	Arms         []armRow
	Course       *courseData       // nil: nobody is in it, or its definition is not valid
	Calendar     *scheduleCalendar // nil: the schedule is no longer valid, or the survey is done
	NoZone       string            // its time zone, if that is none
	Log          []api.SurveyLogView
}

// attemptRows holds the attempts of a mode, by outcome.
type attemptRows struct {
	Mode surveys.Mode
	Rows []display.Row
}

// bucketRow is a quota bucket.
type bucketRow struct {
	Where string
	api.QuotaView
	Bar  display.Bar
	Full bool
}

// armRow is one of the variants that a survey compares.
type armRow struct {
	Questionnaire, Modes string
	Ratio                int
}

func readSurvey(c *page.Caller, name string) (s api.SurveyView, err error) {
	err = c.Get(page.Path("v1", "surveys", name), nil, &s)
	return s, err
}

// surveyCrumbs returns the crumbs of a page of a survey.
func surveyCrumbs(l *locale.Locale, name string, more ...page.Crumb) []page.Crumb {
	return append([]page.Crumb{{Text: l.T("Surveys"), Link: "/surveys"}, {Text: name, Link: Link(name)}}, more...)
}

// Link returns the path of a survey's page.
func Link(name string) string { return "/surveys/" + url.PathEscape(name) }

func (k *knownOfSurveys) loadSurvey(v *page.Visit) (*page.Content, error) {
	s, err := readSurvey(v.Caller, v.Request.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &surveyData{Card: Card{SurveySummary: s.SurveySummary}, Asks: s.Questions != nil, Purpose: cmp.Or(s.Purpose, people.DefaultPurpose), Arms: armsOf(v.Locale, s.Arms)}
	stats, err := surveyStats(v.Caller, s.Survey)
	if err != nil {
		return nil, err
	}
	if stats != nil {
		d.fill(v.Locale, stats)
		d.addStats(v, stats)
	}
	if stats != nil && stats.Respondents > 0 {
		if d.Course, err = readCourse(v.Caller, k.courses, &s.SurveySummary); err != nil {
			return nil, err
		}
	}
	// A stored schedule may no longer be valid, for instance if this release has no such zone. That of a survey
	// that is done opens nothing any more.
	switch schedule, wrong := calendar.Compile(s.Schedule); {
	case s.State == surveys.Done:
	case len(wrong) == 0:
		d.Calendar = calendarOf(v.Locale, s.Schedule, schedule, v.Now())
	case slices.ContainsFunc(wrong, func(e weir.FieldError) bool { return strings.HasSuffix(e.Pointer, "/time_zone") }):
		d.NoZone = s.Schedule.TimeZone
	}
	var log api.SurveyLogList
	if err := v.Get(page.Path("v1", "surveys", s.Survey, "log"), url.Values{"limit": {strconv.Itoa(maxRecent)}}, &log); err != nil {
		return nil, err
	}
	d.Log = log.Entries
	if d.Skipped, err = why.Skipped(v, k.skipped, "survey", s.Survey); err != nil {
		return nil, err
	}
	var moved time.Time
	if len(d.Log) > 0 {
		moved = d.Log[0].At // newest first
	}
	d.Waits = why.Of(v.Locale, &s.WhyView, "", moved, v.Now())
	d.BrakeView = why.BrakeOf(v.Locale, s.Brake, countOf(stats), s.Braked)
	return &page.Content{Title: v.T("Survey %s", s.Survey), Crumbs: surveyCrumbs(v.Locale, s.Survey), Data: d}, nil
}

// countOf returns what a survey's brake counts; nil if it is not known.
func countOf(stats *api.StatsView) *weir.BrakeFigures {
	if stats == nil {
		return nil
	}
	return stats.Brake
}

// addStats builds the charts of the statistics.
func (d *surveyData) addStats(v *page.Visit, s *api.StatsView) {
	d.Funnel = funnelOf(v.Locale, s)
	link := v.Link("/surveys", s.Survey, "respondents")
	var rows []display.Row
	for _, x := range surveys.Dispositions() {
		rows = append(rows, display.Row{
			Name: v.Word(string(x)), Value: float64(s.Dispositions[string(x)]), Class: dispositionClass(x),
			Link: link + "?" + url.Values{"disposition": {string(x)}}.Encode(),
		})
	}
	d.Dispositions = display.Rows(v.Locale, float64(s.Respondents), rows)
	d.Attempts = attemptsOf(v.Locale, s.Attempts)
	for _, q := range s.Quotas {
		full := q.Counted >= q.Quota
		class := "c1"
		if full {
			class = "c3"
		}
		where := whereText(v.Locale, q.Where)
		d.OverQuota = d.OverQuota || q.Counted > q.Quota
		d.Buckets = append(d.Buckets, bucketRow{where, q, display.Bar{
			Title: where, Whole: float64(q.Quota), Segments: []display.Segment{{Name: v.T("counted"), Class: class, Value: float64(q.Counted)}},
		}, full})
	}
}

// funnelOf shows how many respondents came to each step.
func funnelOf(l *locale.Locale, s *api.StatsView) (rows []display.Row) {
	for _, step := range s.Funnel {
		name, class := StepText(l, surveys.Disposition(step.Step))
		rows = append(rows, display.Row{Name: name, Class: class, Value: float64(step.Respondents)})
	}
	return display.Rows(l, max(1, float64(s.Respondents)), rows)
}

// StepText returns the name of a step of the funnel, and the class of its color.
func StepText(l *locale.Locale, step surveys.Disposition) (name, class string) {
	switch step {
	case surveys.Registered:
		return l.T("in the survey"), "c8"
	case surveys.Queued:
		return l.T("queued"), "c5"
	case surveys.Contacted:
		return l.T("contacted"), "c1"
	case surveys.Started:
		return l.T("answered"), "c1"
	case surveys.InterimPartial:
		return l.T("partially completed"), "c1"
	default:
		return l.T("completed"), "c3"
	}
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
func attemptsOf(l *locale.Locale, list []api.AttemptsView) []attemptRows {
	var out []attemptRows
	for _, mode := range surveys.Modes() {
		var rows []display.Row
		for _, a := range list {
			if a.Mode == mode {
				rows = append(rows, display.Row{Name: AttemptWord(l, mode, weir.Outcome(a.Outcome)), Value: float64(a.Count), Class: outcomeClass(weir.Outcome(a.Outcome))})
			}
		}
		if len(rows) > 0 {
			out = append(out, attemptRows{mode, display.Rows(l, 0, rows)})
		}
	}
	return out
}

// AttemptWord returns the outcome of an attempt. What is completed is an interview.
func AttemptWord(l *locale.Locale, mode surveys.Mode, o weir.Outcome) string {
	switch {
	case o != weir.Completed:
		return l.Word(string(o))
	case surveys.Voice(mode):
		return l.T("answered")
	default:
		return l.T("delivered")
	}
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
func whereText(l *locale.Locale, where map[string]surveys.Match) string {
	var parts []string
	for name, m := range where {
		parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+matchText(l, m))
	}
	// A map has no order, and a page that refreshes must not change its texts.
	slices.Sort(parts)
	if len(parts) == 0 {
		return l.T("all respondents")
	}
	return strings.Join(parts, ", ")
}

func matchText(l *locale.Locale, m surveys.Match) string {
	switch {
	case m.In != nil:
		return strings.Join(m.In, l.T(" or "))
	case m.From != nil && m.To != nil:
		return l.T("%[1]s to %[2]s", fmt.Sprint(*m.From), fmt.Sprint(*m.To))
	case m.From != nil:
		return l.T("from %s", fmt.Sprint(*m.From))
	case m.To != nil:
		return l.T("up to %s", fmt.Sprint(*m.To))
	default:
		return l.T("any number")
	}
}

func armsOf(l *locale.Locale, arms []surveys.Arm) []armRow {
	if len(arms) < 2 {
		return nil // nothing to compare
	}
	var out []armRow
	for _, a := range arms {
		out = append(out, armRow{a.Questionnaire, display.Join(a.Modes, l.T(", then ")), a.Ratio})
	}
	return out
}

// statusCount is a fact about a survey: how many of its respondents have one of some
// statuses.
type statusCount struct {
	name locale.Message
	of   []surveys.Status
}

// askSurvey returns the question about a step of a survey. Without statistics, all
// counts are 0.
func askSurvey(about page.Asking, counts ...statusCount) func(*page.Visit) (*page.Question, error) {
	return func(v *page.Visit) (*page.Question, error) {
		name := v.Request.PathValue("name")
		q := about.Question(v.Locale, name)
		_, stats, err := aboutSurvey(v.Caller, name, q)
		if err != nil {
			return nil, err
		}
		for _, c := range counts {
			n := 0
			for _, status := range c.of {
				n += stats.Statuses[string(status)]
			}
			q.Facts = append(q.Facts, page.Fact{Name: v.T(c.name), Value: v.Number(n)})
		}
		return q, nil
	}
}

// deleteSurvey deletes a survey, and leads to the list, or from a pilot to its survey's pilots.
func deleteSurvey(v *page.Visit) (*page.Done, error) {
	name := v.Request.PathValue("name")
	to := "/surveys"
	if of, n := surveys.PilotOf(name); n != 0 {
		to = pilotLink(of)
	}
	return &page.Done{Text: v.T("Survey %s is deleted.", name), To: to}, v.Call(http.MethodDelete, page.Path("v1", "surveys", name), nil, nil)
}

// aboutSurvey reads a survey and its statistics, and fills the question about it.
func aboutSurvey(c *page.Caller, name string, q *page.Question) (s api.SurveyView, stats *api.StatsView, err error) {
	if s, err = readSurvey(c, name); err != nil {
		return s, nil, err
	}
	if stats, err = surveyStats(c, s.Survey); err != nil {
		return s, nil, err
	}
	q.Back, q.Crumbs = Link(s.Survey), surveyCrumbs(c.Locale, s.Survey, page.Crumb{Text: q.Button})
	if stats == nil {
		return s, &api.StatsView{}, nil
	}
	q.Facts = []page.Fact{{Name: c.T("Respondents"), Value: c.Number(stats.Respondents)}}
	return s, stats, nil
}

// launchCheck is what the launch of a survey would find.
type launchCheck struct{ api.LaunchCheckView }

// ManyQuestionnaires reports whether respondents get different texts.
func (c *launchCheck) ManyQuestionnaires() bool {
	return slices.ContainsFunc(c.Samples, func(s api.SampleView) bool { return s.Questionnaire != c.Samples[0].Questionnaire })
}

// Lacking returns the attributes that texts use and respondents have no value for, as texts have them.
func (c *launchCheck) Lacking() string {
	var names []string
	for _, e := range c.Errors {
		if name := lackingOf(e); name != "" && !slices.Contains(names, "{{"+name+"}}") {
			names = append(names, "{{"+name+"}}")
		}
	}
	return strings.Join(names, ", ")
}

// lackingOf returns the attribute that a mistake says a respondent lacks, if it does.
func lackingOf(e weir.FieldError) string {
	if of, name, ok := strings.Cut(e.Pointer, "/attributes/"); ok && strings.HasPrefix(of, "/respondents/") {
		return name
	}
	return ""
}

// Others returns what a launch would be refused for besides.
func (c *launchCheck) Others() []weir.FieldError {
	return slices.DeleteFunc(slices.Clone(c.Errors), func(e weir.FieldError) bool { return lackingOf(e) != "" })
}

// Assumes returns what the forecast assumes.
func (c *launchCheck) Assumes(l *locale.Locale) string {
	if c.Forecast == nil {
		return ""
	}
	text := l.T("The forecast assumes that everybody answers the first attempt, that a contact takes about two minutes, and that no other survey uses the channels.") + " "
	if c.Forecast.Bound != "" {
		return text + l.T("It counts %d respondents; channel %s takes the longest.", c.Forecast.Contacts, c.Forecast.Bound)
	}
	return text + l.T("It counts %d respondents; the limit per minute takes the longest.", c.Forecast.Contacts)
}

// facts returns how many respondents each mode is for, who is missing a value, and the forecast.
func (c *launchCheck) facts(l *locale.Locale, schedule *calendar.Schedule) (list []page.Fact) {
	for _, m := range c.Modes {
		var texts []string
		if m.First > 0 || m.Later == 0 {
			texts = append(texts, l.T("about %d first", m.First))
		}
		if m.Later > 0 {
			texts = append(texts, l.T("up to %d later", m.Later))
		}
		list = append(list, page.Fact{Name: l.T("Respondents by %s", m.Mode), Value: strings.Join(texts, ", ")})
	}
	if c.Missing > 0 {
		list = append(list, page.Fact{Name: l.T("Missing a value used in the texts"), Value: l.Number(c.Missing)})
	}
	if c.Partial {
		list = append(list, page.Fact{Name: l.T("Checked"), Value: l.T("the first %d; the launch checks all", c.Respondents)})
	}
	if b := c.Budget; b != nil {
		text := l.T("%[1]s of %[2]s %[3]s are left", l.Amount(b.Left), l.Amount(b.Money), b.Currency)
		if b.Attempts != nil {
			text = l.T("%[2]s of %[3]s %[4]s are left, which pays for about %[1]d attempts at %[5]s %[4]s", *b.Attempts, l.Amount(b.Left), l.Amount(b.Money), b.Currency, l.Amount(b.PerAttempt))
		}
		list = append(list, page.Fact{Name: l.T("Budget"), Value: text})
	}
	if f := c.Forecast; f != nil && schedule != nil {
		at := clockText(l, f.EndsAt.In(schedule.Zone())) + " " + schedule.Zone().String()
		text := l.T("about %s", at)
		if f.TooShort {
			text = l.T("not before the last window closes, %s", at)
		}
		list = append(list, page.Fact{Name: l.T("Ends at best"), Value: text})
	}
	return list
}

func askLaunch(v *page.Visit) (*page.Question, error) {
	name := v.Request.PathValue("name")
	q := page.Asking{Title: "Launch survey %s", Button: "Launch", Text: "Respondents are contacted whenever a window is open. After launch, channels, arms and texts are locked."}.Question(v.Locale, name)
	s, stats, err := aboutSurvey(v.Caller, name, q)
	if err != nil {
		return nil, err
	}
	if stats.Respondents == 0 {
		q.Text = v.T("The survey has no respondents. Import them first, on its page or by weir survey import people.csv %s", s.Survey)
	}
	for _, mode := range surveys.Modes() {
		if m, ok := s.Modes[mode]; ok {
			q.Facts = append(q.Facts, page.Fact{Name: v.T("Channel for %s", mode), Value: m.Channel})
		}
	}
	schedule, wrong := calendar.Compile(s.Schedule)
	if len(wrong) == 0 {
		q.Facts = append(q.Facts, page.Fact{Name: v.T("Window"), Value: calendarOf(v.Locale, s.Schedule, schedule, v.Now()).Next})
	}
	q.Facts = append(q.Facts, targetFacts(v.Locale, surveys.Definition(s.SurveyDefinition))...)
	switch {
	case s.Application != nil && s.Application.URL != "":
	case s.Questions != nil:
		q.Facts = append(q.Facts, page.Fact{Name: v.T("Questions"), Value: v.Number(len(s.Questions.Questions))})
	case s.Answer != nil:
		q.Facts = append(q.Facts, page.Fact{Name: v.T("Answers by text"), Value: v.T("the first message completes a respondent, and is %s in the results", s.Answer.Attribute)})
	default:
		q.Facts = append(q.Facts, page.Fact{Name: v.T("Application"), Value: v.T("none: answers are not evaluated, and nobody completes unless a program of yours reports it to the API")})
	}
	if s.State != surveys.Draft {
		return q, nil // a launch that is repeated changes nothing
	}
	check := &launchCheck{}
	q.Check = check
	if err := v.Get(page.Path("v1", "surveys", s.Survey, "launch-check"), nil, &check.LaunchCheckView); err != nil {
		return nil, err
	}
	page.Translate(v.Locale, check.Errors)
	page.Translate(v.Locale, check.Warnings)
	q.Facts = append(q.Facts, check.facts(v.Locale, schedule)...)
	n := check.Missing
	q.Refused = len(check.Others()) > 0 || n > 0 && n == check.Respondents
	if n > 0 && n < check.Respondents {
		q.Fields = []page.Field{{Name: "skip", Label: v.T("Launch all the same, and do not contact respondents who are missing a value unless they are corrected before their turn"), Type: "checkbox", Required: true}}
	}
	return q, nil
}

// targetFacts returns how many respondents a survey needs, and when it ends at the latest.
func targetFacts(l *locale.Locale, d surveys.Definition) []page.Fact {
	plan, wrong := d.Compile(surveys.Defaults{})
	if len(wrong) > 0 {
		return nil // the check reports it
	}
	var facts []page.Fact
	if target := plan.Target(); target > 0 {
		text := l.Number(target)
		if rate := d.InitialSuccessRate; rate != nil && *rate > 0 {
			text = l.T("%[2]s; about %[1]d respondents are needed if %[3]s succeed", plan.BatchSize(surveys.Tally{}), text, locale.Percent(*rate, 1))
		}
		facts = append(facts, page.Fact{Name: l.T("Target"), Value: text})
	}
	if last, bounded := plan.Schedule.LastClose(); bounded {
		facts = append(facts, page.Fact{Name: l.T("Ends at the latest"), Value: clockText(l, last.In(plan.Schedule.Zone())) + " " + plan.Schedule.Zone().String()})
	}
	return facts
}

// surveyStep applies a step to a survey. Errors of a launch, such as respondents without
// a required attribute, are listed above the question.
func surveyStep(step surveys.Step, became locale.Message) func(*page.Visit) (*page.Done, error) {
	return func(v *page.Visit) (*page.Done, error) {
		name := v.Request.PathValue("name")
		var s api.SurveyView
		path := page.Path("v1", "surveys", name) + ":" + string(step)
		if step == surveys.Launch && v.Request.PostForm.Get("skip") != "" {
			path += "?missing=skip"
		}
		err := v.Call(http.MethodPost, path, nil, &s)
		text := v.T(became, name)
		for _, w := range s.Warnings {
			text += " " + v.T("Warning: %s.", v.Mistake(w.Detail))
		}
		return &page.Done{Text: text, To: Link(name)}, err
	}
}

// surveyFiles serves files about a survey below the path of its page.
func surveyFiles(path string, files ...string) map[string]page.Handler {
	served := make(map[string]page.Handler, len(files))
	for _, file := range files {
		served[path+"/"+file] = surveyFile(file)
	}
	return served
}

// surveyFile forwards a file from the API to the browser.
func surveyFile(file string) page.Handler {
	return func(v *page.Visit, w http.ResponseWriter) error {
		if _, err := readSurvey(v.Caller, v.Request.PathValue("name")); err != nil {
			return err // rendered as a page
		}
		query := url.Values{}
		if strings.HasPrefix(file, "results.") {
			chooseRespondents(v, query)
		}
		if format := v.Request.URL.Query().Get("format"); format != "" {
			query.Set("format", format)
		}
		to := page.Path("v1", "surveys", v.Request.PathValue("name"), file)
		if strings.HasSuffix(file, ".xlsx") {
			return v.Forward(w, page.WithQuery(to, query))
		}
		return v.Export(w, to, query)
	}
}
