package dashboard

import (
	"net/http"
	"net/url"
	"strconv"

	"weir"
	"weir/surveys"
	"weir/web"
)

// mostSurveys is the maximum number of surveys on the overview.
const mostSurveys = 50

// surveyCard is a survey on the overview.
type surveyCard struct {
	web.SurveySummary
	Stats *web.StatsView // nil: not available
	Bar   bar            // its progress
	Full  int
}

// surveyCards lists the running, paused and stopping surveys. Their statistics are
// cached for a few seconds, not computed for each browser.
func (v *visit) surveyCards() ([]surveyCard, error) {
	if !v.may([]weir.Scope{weir.ScopeContactsRead, weir.ScopeSurveysAdmin}) {
		return nil, nil
	}
	return v.d.surveys.of(v.rights(), func() ([]surveyCard, error) {
		var list web.SurveyList
		query := url.Values{"state": {"running,paused,stopping"}, "limit": {strconv.Itoa(mostSurveys)}}
		if err := v.get("/v1/surveys", query, &list); err != nil {
			if status, _ := statusOf(err); status == http.StatusNotFound {
				return nil, nil // this instance has no surveys
			}
			return nil, err
		}
		cards := []surveyCard{}
		for _, s := range list.Surveys {
			card := surveyCard{SurveySummary: s}
			var stats web.StatsView
			switch err := v.get(apiPath("v1", "surveys", s.Survey, "stats"), nil, &stats); {
			case err == nil:
				card.fill(&stats)
			default:
				if status, _ := statusOf(err); status != http.StatusNotFound && status != http.StatusUnprocessableEntity {
					return nil, err
				}
			}
			cards = append(cards, card)
		}
		return cards, nil
	})
}

// fill draws a survey's progress: toward its target, or otherwise through its
// respondents.
func (c *surveyCard) fill(s *web.StatsView) {
	c.Stats = s
	if s.Target > 0 {
		c.Bar = bar{Title: "Wanted", Whole: float64(s.Target), Segments: []segment{{"counted", "c3", float64(s.Counted)}}}
	} else {
		c.Bar = bar{Title: "Respondents", Whole: float64(max(1, s.Respondents)), Segments: []segment{
			{"completed", "c3", float64(s.Statuses[surveys.Completed])},
			{"over in another way", "c8", float64(s.Statuses[surveys.Failed] + s.Statuses[surveys.Rejected] + s.Statuses[surveys.Canceled])},
			{"active", "c1", float64(s.Statuses[surveys.Active])},
		}}
	}
	for _, q := range s.Quotas {
		if q.Counted >= q.Quota {
			c.Full++
		}
	}
}
