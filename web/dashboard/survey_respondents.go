package dashboard

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard/display"
	surveyapi "weir/web/surveys"
)

// respondentList is the data of the page of respondents.
type respondentList struct {
	Survey              string
	Status, Disposition string // filters; empty: none
	Statuses            []string
	Dispositions        []surveys.Disposition
	Respondents         []surveyapi.RespondentView
	Pager               pager
	Number              string // of a search; it must not get into a URL
	Mistakes            map[string]string
	Importable          bool // the survey takes respondents in
}

// endedStatus is shown for respondents that are done. Their statuses only tell how Weir
// was done with them; their dispositions tell the result.
const endedStatus = "ended"

// shownStatus returns the status of a respondent as pages show it.
func shownStatus(word any) string {
	s := surveys.Status(fmt.Sprint(word))
	if s.Final() && s != surveys.Canceled {
		return endedStatus
	}
	return string(s)
}

// Filtered reports whether the list may omit respondents.
func (l *respondentList) Filtered() bool {
	return l.Status != "" || l.Disposition != "" || l.Number != "" || l.Pager.First != ""
}

func newRespondentList(survey string) (l *respondentList, ended []string) {
	l = &respondentList{Survey: survey, Dispositions: surveys.Dispositions(), Mistakes: map[string]string{}}
	for _, s := range surveys.Statuses() {
		if shown := shownStatus(s); shown == endedStatus {
			ended = append(ended, string(s))
		} else {
			l.Statuses = append(l.Statuses, shown)
		}
	}
	l.Statuses = append(l.Statuses, endedStatus)
	return l, ended
}

func (l *respondentList) content(v *visit) (*content, error) {
	s, err := readSurvey(v.caller, l.Survey)
	l.Importable = surveyCard{SurveySummary: s.SurveySummary}.Importable()
	return &content{title: v.T("Respondents of %s", l.Survey), crumbs: surveyCrumbs(v.Locale, l.Survey, crumb{Text: v.T("Respondents")}), data: l}, err
}

// searchRespondent finds the respondent with a phone number, which is posted in a form so that
// it never appears in a URL.
func searchRespondent(v *visit) (*content, error) {
	l, _ := newRespondentList(v.r.PathValue("name"))
	l.Number = strings.TrimSpace(v.r.PostForm.Get("number"))
	c, err := l.content(v)
	if err != nil {
		return nil, err
	}
	var page surveyapi.RespondentList
	err = v.get(apiPath("v1", "surveys", l.Survey, "respondents"), url.Values{"phone": {l.Number}, "limit": {"2"}}, &page)
	if status, p := statusOf(err); err != nil && status == http.StatusUnprocessableEntity {
		c.status, l.Mistakes["number"] = status, v.T("This is no phone number.")
		for _, e := range p.Errors {
			l.Mistakes["number"] = display.Sentence(e.Detail)
		}
		return c, nil
	}
	if l.Respondents = page.Respondents; len(l.Respondents) == 1 {
		c.to = surveyLink(l.Survey) + "/respondents/" + url.PathEscape(l.Respondents[0].ID)
	}
	return c, err
}

// chooseRespondents returns the list that a page or a file is asked for, with its filters in the query.
func chooseRespondents(v *visit, query url.Values) *respondentList {
	l, ended := newRespondentList(v.r.PathValue("name"))
	if l.Status = choose(v, query, "status", l.Statuses); l.Status == endedStatus {
		query.Set("status", strings.Join(ended, ","))
	}
	l.Disposition = choose(v, query, "disposition", l.Dispositions)
	return l
}

// ResultsQuery returns the query of the file of the listed respondents; empty: it has all of them.
func (l *respondentList) ResultsQuery() template.URL {
	query := url.Values{}
	for name, value := range map[string]string{"status": l.Status, "disposition": l.Disposition} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return template.URL(withQuery("", query)) //nolint:gosec // of the closed lists of filters
}

func loadRespondents(v *visit) (*content, error) {
	name := v.r.PathValue("name")
	query := v.listQuery(rowsPerPage)
	l := chooseRespondents(v, query)
	var page surveyapi.RespondentList
	if err := v.get(apiPath("v1", "surveys", name, "respondents"), query, &page); err != nil {
		return nil, err
	}
	l.Respondents, l.Pager = page.Respondents, v.more(page.NextCursor)
	return l.content(v)
}

// respondentData is the data of a respondent's page.
type respondentData struct {
	surveyapi.RespondentView
	Waits          *whyView // nil: it does not wait
	Stoppable      bool     // the survey contacts the respondent, and the token may stop that
	AttemptsByMode []fact
	Attributes     []fact
	respondentHistory
}

// respondentHistory is the part of a survey's log about one respondent.
type respondentHistory struct {
	History []surveyapi.SurveyLogView // oldest first
	More    bool                      // there is more than is shown
}

// maxHistory is the maximum number of entries of a respondent's history shown.
const maxHistory = 200

// readHistory reads a respondent's events from the survey's log. It is cached for a few
// seconds, because the log has no index by respondent.
func readHistory(c *caller, known *cache[respondentHistory], r *surveyapi.RespondentView) (respondentHistory, error) {
	return known.get(strings.Join([]string{r.Survey, r.ID, c.rights()}, "\n"), func() (past respondentHistory, err error) {
		// Nothing about a respondent is older than its import, so that the log is read from
		// there.
		query := url.Values{"respondent": {r.ID}, "limit": {strconv.Itoa(maxHistory)}, "since": {r.AddedAt.Format(time.RFC3339)}}
		for range maxEmptyPages {
			var page surveyapi.SurveyLogList
			if err := c.get(apiPath("v1", "surveys", r.Survey, "log"), query, &page); err != nil {
				return past, err
			}
			past.History, past.More = append(past.History, page.Entries...), page.NextCursor != ""
			if !past.More || len(past.History) >= maxHistory {
				break
			}
			query.Set("cursor", page.NextCursor)
		}
		slices.Reverse(past.History)
		return past, nil
	})
}

func (k *knownOfSurveys) loadRespondent(v *visit) (*content, error) {
	name, id := v.r.PathValue("name"), v.r.PathValue("id")
	d := &respondentData{}
	if err := v.get(apiPath("v1", "surveys", name, "respondents", id), nil, &d.RespondentView); err != nil {
		return nil, err
	}
	if v.MaySurvey(name, operators.ScopeSurveysAdmin) && !d.Status.Final() {
		s, err := readSurvey(v.caller, name)
		if err != nil {
			return nil, err
		}
		d.Stoppable = s.State == surveys.Running || s.State == surveys.Paused
	}
	d.Waits = whyOf(v.Locale, &d.RespondentView.WhyView, "", time.Time{}, v.Now())
	d.Attributes = factsOf(d.RespondentView.Attributes, func(value string) string { return value })
	var err error
	if d.respondentHistory, err = readHistory(v.caller, k.histories, &d.RespondentView); err != nil {
		return nil, err
	}
	a := d.RespondentView.Attempts
	for _, m := range []struct {
		mode  surveys.Mode
		count int
	}{{surveys.IVR, a.IVR}, {surveys.SMS, a.SMS}, {surveys.MobileWeb, a.MobileWeb}, {surveys.CATI, a.CATI}} {
		if m.count > 0 {
			d.AttemptsByMode = append(d.AttemptsByMode, fact{string(m.mode), v.Number(m.count)})
		}
	}
	crumbs := surveyCrumbs(v.Locale, name, crumb{Text: v.T("Respondents"), Link: surveyLink(name) + "/respondents"}, crumb{Text: d.ID})
	return &content{title: v.T("Respondent %[1]s of %[2]s", d.ID, name), crumbs: crumbs, data: d}, nil
}
