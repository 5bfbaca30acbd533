package surveys

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir/api"
	"weir/surveys"
	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// surveysPerPage is the page size of the list, small because each survey is
// counted.
const surveysPerPage = 20

// surveyList is the data of the page of all surveys.
type surveyList struct {
	State  string // filter; empty: none
	States []surveys.State
	Cards  []Card
	Pager  page.Pager
}

// Filtered reports whether the list may omit surveys.
func (l *surveyList) Filtered() bool { return l.State != "" || l.Pager.First != "" }

func (k *knownOfSurveys) loadSurveys(v *page.Visit) (*page.Content, error) {
	query := v.ListQuery(surveysPerPage)
	l := &surveyList{States: surveys.States()}
	l.State = page.Choose(v, query, "state", l.States)
	var list api.SurveyList
	if err := v.Get("/v1/surveys", query, &list); err != nil {
		return nil, err
	}
	l.Pager = v.More(list.NextCursor)
	var err error
	// Statistics are cached for a few seconds, not computed for each browser; the
	// state is always current.
	l.Cards, err = cachedCards(v.Caller, k.cards, list.Surveys)
	return &page.Content{Title: v.T("Surveys"), Crumbs: []page.Crumb{{Text: v.T("Surveys")}}, Data: l}, err
}

// Card is a survey on the overview.
type Card struct {
	api.SurveySummary
	Stats      *api.StatsView // nil: not available
	Bar        display.Bar    // its progress
	FullQuotas int
}

// Editable reports whether the definition can be changed.
func (c Card) Editable() bool { return editableSurvey(&c.SurveySummary) }

// Importable reports whether respondents can be added.
func (c Card) Importable() bool {
	return c.PilotOf == "" && (c.State == surveys.Draft || c.State == surveys.Running || c.State == surveys.Paused)
}

// Deletable reports whether the survey can be deleted now.
func (c Card) Deletable() bool {
	return !c.Locked && (c.State == surveys.Draft || c.State == surveys.Done)
}

// maxSurveys is the maximum number of surveys on the overview.
const maxSurveys = 50

// Completed returns the number of respondents with the disposition completed. The status
// of that name includes respondents who refused or were ineligible.
func (c Card) Completed() int { return c.Stats.Dispositions[string(surveys.Complete)] }

// NotCompleted returns the number of respondents who are done without having completed.
func (c Card) NotCompleted() int {
	return c.Stats.Respondents - c.Of(surveys.Pending) - c.Of(surveys.Active) - c.Completed()
}

// Of returns the number of respondents with a status.
func (c Card) Of(status surveys.Status) int { return c.Stats.Statuses[string(status)] }

// Running lists the running, paused and stopping surveys. Their statistics are
// cached for a few seconds, not computed for each browser.
func Running(c *page.Caller, known *page.Cache[[]Card]) ([]Card, error) {
	if !c.May(page.SurveyReaders()...) {
		return nil, nil
	}
	return known.Get(c.RightsKey(), func() ([]Card, error) {
		var list api.SurveyList
		query := url.Values{"state": {"running,paused,stopping"}, "limit": {strconv.Itoa(maxSurveys)}}
		if err := c.Get("/v1/surveys", query, &list); err != nil {
			return nil, err
		}
		return cardsOf(c, list.Surveys)
	})
}

// cachedCards reads the statistics of surveys.
func cachedCards(c *page.Caller, known *page.Cache[[]Card], list []api.SurveySummary) ([]Card, error) {
	key := []string{"list", c.RightsKey()}
	for _, s := range list {
		key = append(key, s.Survey, string(s.State), strconv.FormatBool(s.Locked))
	}
	return known.Get(strings.Join(key, "\n"), func() ([]Card, error) { return cardsOf(c, list) })
}

func cardsOf(c *page.Caller, list []api.SurveySummary) ([]Card, error) {
	cards := make([]Card, len(list))
	for i, s := range list {
		cards[i].SurveySummary = s
		stats, err := surveyStats(c, s.Survey)
		if err != nil {
			return nil, err
		}
		if stats != nil {
			cards[i].fill(c.Locale, stats)
		}
	}
	return cards, nil
}

// fill draws a survey's progress: toward its target, or otherwise through its
// respondents.
func (c *Card) fill(l *locale.Locale, s *api.StatsView) {
	c.Stats = s
	if s.Target > 0 {
		c.Bar = display.Bar{Title: l.T("Target"), Whole: float64(s.Target), Segments: []display.Segment{{Name: l.T("counted"), Class: "c3", Value: float64(s.Counted)}}}
	} else {
		c.Bar = display.Bar{Title: l.T("Respondents"), Whole: float64(max(1, s.Respondents)), Segments: []display.Segment{
			{Name: l.T("completed"), Class: "c3", Value: float64(c.Completed())},
			{Name: l.T("not completed"), Class: "c8", Value: float64(c.NotCompleted())},
			{Name: l.T("active"), Class: "c1", Value: float64(s.Statuses[string(surveys.Active)])},
		}}
	}
	for _, q := range s.Quotas {
		if q.Counted >= q.Quota {
			c.FullQuotas++
		}
	}
}

// surveyStats reads the statistics of a survey; nil: not available, because its
// definition is no longer valid or it was deleted.
func surveyStats(c *page.Caller, name string) (*api.StatsView, error) {
	var stats api.StatsView
	err := c.Get(page.Path("v1", "surveys", name, "stats"), nil, &stats)
	if status, _ := page.StatusOf(err); err != nil && (status == http.StatusNotFound || status == http.StatusUnprocessableEntity) {
		return nil, nil
	}
	return &stats, err
}

// surveyLog is the data of the page of a survey's log.
type surveyLog struct {
	Survey   string
	Log      []api.SurveyLogView
	Interval page.Interval
	Pager    page.Pager
}

func loadSurveyLog(v *page.Visit) (*page.Content, error) {
	name := v.Request.PathValue("name")
	query, span, err := v.IntervalQuery()
	if err != nil {
		return nil, err
	}
	var list api.SurveyLogList
	if err := v.Get(page.Path("v1", "surveys", name, "log"), query, &list); err != nil {
		return nil, err
	}
	return &page.Content{
		Title: v.T("Log of %s", name), Crumbs: surveyCrumbs(v.Locale, name, page.Crumb{Text: v.T("Log")}),
		Data: &surveyLog{name, list.Entries, span, v.More(list.NextCursor)},
	}, nil
}
