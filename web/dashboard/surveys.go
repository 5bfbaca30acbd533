package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/surveys"
	"weir/web"
)

// surveysPerPage is the page size of the list, small because each survey is
// counted.
const surveysPerPage = 20

// surveyReaders returns the scopes for reading surveys; one is needed.
func surveyReaders() []weir.Scope {
	return []weir.Scope{weir.ScopeContactsRead, weir.ScopeSurveysAdmin}
}

func surveysPage() *page {
	return &page{
		name: "surveys", path: "/surveys", nav: "Surveys", scopes: surveyReaders(),
		load: loadSurveys, live: []string{"list"},
	}
}

// surveyList is the data of the page of all surveys.
type surveyList struct {
	State  string // filter; empty: none
	States []surveys.State
	Cards  []surveyCard
	Pager  pager
}

// Filtered reports whether the list may omit surveys.
func (l *surveyList) Filtered() bool { return l.State != "" || l.Pager.First != "" }

func loadSurveys(v *visit) (*content, error) {
	asked := v.r.URL.Query()
	query := url.Values{"limit": {strconv.Itoa(surveysPerPage)}}
	l := &surveyList{States: surveys.States()}
	if state := asked.Get("state"); slices.Contains(l.States, surveys.State(state)) {
		l.State = state
		query.Set("state", state)
	}
	if cursor := asked.Get("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	var page web.SurveyList
	if err := v.get("/v1/surveys", query, &page); err != nil {
		return nil, err
	}
	l.Pager = v.more(page.NextCursor)
	var err error
	// Statistics are cached for a few seconds, not computed for each browser; the
	// state is always current.
	l.Cards, err = v.counted(page.Surveys)
	return &content{title: "Surveys", crumbs: []crumb{{Text: "Surveys"}}, data: l}, err
}

// counted reads the statistics of surveys.
func (v *visit) counted(list []web.SurveySummary) ([]surveyCard, error) {
	key := []string{"list", v.rights()}
	for _, s := range list {
		key = append(key, s.Survey, string(s.State))
	}
	return v.d.surveys.of(strings.Join(key, "\n"), func() ([]surveyCard, error) {
		cards := make([]surveyCard, len(list))
		for i, s := range list {
			cards[i].SurveySummary = s
			stats, err := v.surveyStats(s.Survey)
			if err != nil {
				return nil, err
			}
			if stats != nil {
				cards[i].fill(stats)
			}
		}
		return cards, nil
	})
}

// surveyStats reads the statistics of a survey; nil: not available, because its
// definition is no longer valid or it was deleted.
func (v *visit) surveyStats(name string) (*web.StatsView, error) {
	var stats web.StatsView
	err := v.get(apiPath("v1", "surveys", name, "stats"), nil, &stats)
	if status, _ := statusOf(err); err != nil && (status == http.StatusNotFound || status == http.StatusUnprocessableEntity) {
		return nil, nil
	}
	return &stats, err
}

// Over returns the number of respondents who are done without having completed.
func (c surveyCard) Over() int {
	return c.Stats.Statuses[surveys.Failed] + c.Stats.Statuses[surveys.Rejected] + c.Stats.Statuses[surveys.Canceled]
}

// Of returns the number of respondents with a status.
func (c surveyCard) Of(status surveys.Status) int { return c.Stats.Statuses[status] }
