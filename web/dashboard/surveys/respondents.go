package surveys

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/api"
	"weir/operators"
	"weir/surveys"
	"weir/web/dashboard/display"
	"weir/web/dashboard/page"
	"weir/web/dashboard/why"
)

// respondentList is the data of the page of respondents.
type respondentList struct {
	Survey              string
	Status, Disposition string // filters; empty: none
	Statuses            []string
	Dispositions        []surveys.Disposition
	Respondents         []api.RespondentView
	Pager               page.Pager
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

func (l *respondentList) content(v *page.Visit) (*page.Content, error) {
	s, err := readSurvey(v.Caller, l.Survey)
	l.Importable = Card{SurveySummary: s.SurveySummary}.Importable()
	return &page.Content{Title: v.T("Respondents of %s", l.Survey), Crumbs: surveyCrumbs(v.Locale, l.Survey, page.Crumb{Text: v.T("Respondents")}), Data: l}, err
}

// searchRespondent finds the respondent with a phone number, which is posted in a form so that
// it never appears in a URL.
func searchRespondent(v *page.Visit) (*page.Content, error) {
	l, _ := newRespondentList(v.Request.PathValue("name"))
	l.Number = strings.TrimSpace(v.Request.PostForm.Get("number"))
	c, err := l.content(v)
	if err != nil {
		return nil, err
	}
	var list api.RespondentList
	err = v.Get(page.Path("v1", "surveys", l.Survey, "respondents"), url.Values{"phone": {l.Number}, "limit": {"2"}}, &list)
	if status, p := page.StatusOf(err); err != nil && status == http.StatusUnprocessableEntity {
		c.Status, l.Mistakes["number"] = status, v.T("This is no phone number.")
		for _, e := range p.Errors {
			l.Mistakes["number"] = display.Sentence(e.Detail)
		}
		return c, nil
	}
	if l.Respondents = list.Respondents; len(l.Respondents) == 1 {
		c.To = Link(l.Survey) + "/respondents/" + url.PathEscape(l.Respondents[0].ID)
	}
	return c, err
}

// chooseRespondents returns the list that a page or a file is asked for, with its filters in the query.
func chooseRespondents(v *page.Visit, query url.Values) *respondentList {
	l, ended := newRespondentList(v.Request.PathValue("name"))
	if l.Status = page.Choose(v, query, "status", l.Statuses); l.Status == endedStatus {
		query.Set("status", strings.Join(ended, ","))
	}
	l.Disposition = page.Choose(v, query, "disposition", l.Dispositions)
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
	return template.URL(page.WithQuery("", query)) //nolint:gosec // of the closed lists of filters
}

func loadRespondents(v *page.Visit) (*page.Content, error) {
	name := v.Request.PathValue("name")
	query := v.ListQuery(page.RowsPerPage)
	l := chooseRespondents(v, query)
	var list api.RespondentList
	if err := v.Get(page.Path("v1", "surveys", name, "respondents"), query, &list); err != nil {
		return nil, err
	}
	l.Respondents, l.Pager = list.Respondents, v.More(list.NextCursor)
	return l.content(v)
}

// respondentData is the data of a respondent's page.
type respondentData struct {
	api.RespondentView
	Waits          *why.View // nil: it does not wait
	Stoppable      bool      // the survey contacts the respondent, and the token may stop that
	AttemptsByMode []page.Fact
	Attributes     []page.Fact
	respondentHistory
}

// respondentHistory is the part of a survey's log about one respondent.
type respondentHistory struct {
	History []api.SurveyLogView // oldest first
	More    bool                // there is more than is shown
}

// maxHistory is the maximum number of entries of a respondent's history shown.
const maxHistory = 200

// readHistory reads a respondent's events from the survey's log. It is cached for a few
// seconds, because the log has no index by respondent.
func readHistory(c *page.Caller, known *page.Cache[respondentHistory], r *api.RespondentView) (respondentHistory, error) {
	return known.Get(strings.Join([]string{r.Survey, r.ID, c.RightsKey()}, "\n"), func() (past respondentHistory, err error) {
		// Nothing about a respondent is older than its import, so that the log is read from
		// there.
		query := url.Values{"respondent": {r.ID}, "limit": {strconv.Itoa(maxHistory)}, "since": {r.AddedAt.Format(time.RFC3339)}}
		for range page.MaxEmptyPages {
			var list api.SurveyLogList
			if err := c.Get(page.Path("v1", "surveys", r.Survey, "log"), query, &list); err != nil {
				return past, err
			}
			past.History, past.More = append(past.History, list.Entries...), list.NextCursor != ""
			if !past.More || len(past.History) >= maxHistory {
				break
			}
			query.Set("cursor", list.NextCursor)
		}
		slices.Reverse(past.History)
		return past, nil
	})
}

func (k *knownOfSurveys) loadRespondent(v *page.Visit) (*page.Content, error) {
	name, id := v.Request.PathValue("name"), v.Request.PathValue("id")
	d := &respondentData{}
	if err := v.Get(page.Path("v1", "surveys", name, "respondents", id), nil, &d.RespondentView); err != nil {
		return nil, err
	}
	if v.MaySurvey(name, operators.ScopeSurveysAdmin) && !surveys.Status(d.Status).Final() {
		s, err := readSurvey(v.Caller, name)
		if err != nil {
			return nil, err
		}
		d.Stoppable = s.State == surveys.Running || s.State == surveys.Paused
	}
	d.Waits = why.Of(v.Locale, &d.RespondentView.WhyView, "", time.Time{}, v.Now())
	d.Attributes = page.FactsOf(d.RespondentView.Attributes, func(value string) string { return value })
	var err error
	if d.respondentHistory, err = readHistory(v.Caller, k.histories, &d.RespondentView); err != nil {
		return nil, err
	}
	a := d.RespondentView.Attempts
	for _, m := range []struct {
		mode  surveys.Mode
		count int
	}{{surveys.IVR, a.IVR}, {surveys.SMS, a.SMS}, {surveys.MobileWeb, a.MobileWeb}, {surveys.CATI, a.CATI}} {
		if m.count > 0 {
			d.AttemptsByMode = append(d.AttemptsByMode, page.Fact{Name: string(m.mode), Value: v.Number(m.count)})
		}
	}
	crumbs := surveyCrumbs(v.Locale, name, page.Crumb{Text: v.T("Respondents"), Link: Link(name) + "/respondents"}, page.Crumb{Text: d.ID})
	return &page.Content{Title: v.T("Respondent %[1]s of %[2]s", d.ID, name), Crumbs: crumbs, Data: d}, nil
}
