package surveys

import (
	"context"
	"net/http"
	"strconv"

	"weir"
	"weir/api"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// logStore reads the log of a survey: Log from the oldest entry on, Recent from the newest.
type logStore interface {
	Log(ctx context.Context, survey, after int64, limit int) ([]surveys.LogEntry, error)
	Recent(ctx context.Context, f surveys.LogFilter) (_ []surveys.LogEntry, next int64, err error)
}

// logRoute serves the log of a survey.
type logRoute struct {
	finder
	store logStore
}

func (s logRoute) routes() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: Path + "/log", ID: "list-survey-log", Tag: "surveys",
		Summary:     "What happened in a survey, newest first",
		Description: "The same as log.csv has, page by page. A page about one respondent may be short, or empty, and yet not be the last: that one has no next_cursor.",
		Query: append([]httpjson.Parameter{
			{Name: "respondent", Kind: "string", Description: "id of a respondent: only what is about this one"},
			{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): entries from then on"},
			{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): entries before"},
		}, route.Paging(100, 1000)...), Handle: s.onSurvey(s.listSurveyLog),
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.SurveyLogList]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}}
}

func (s logRoute) listSurveyLog(c *route.Call, v surveys.Survey) (route.Reply, error) {
	var err error
	f := surveys.LogFilter{Survey: v.ID, Limit: c.Query.Int("limit")}
	f.Since, _ = c.Instant("since")
	f.Until, _ = c.Instant("until")
	if id := c.Query.Text("respondent"); id != "" {
		if f.Respondent, err = surveys.ParseRespondentID(id); err != nil {
			c.Errors.Add("/respondent", "format", "must be the id of a respondent")
		}
	}
	if cursor := c.Query.Text("cursor"); cursor != "" {
		if f.Before, err = strconv.ParseInt(cursor, 10, 64); err != nil || f.Before < 1 {
			c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
		}
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	rows, next, err := s.store.Recent(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	page := api.SurveyLogList{Entries: []api.SurveyLogView{}}
	if next != 0 {
		page.NextCursor = strconv.FormatInt(next, 10)
	}
	for i := range rows {
		page.Entries = append(page.Entries, logView(shownEntry(c, rows[i])))
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}

// shownEntry returns an entry with the numbers in its reason, which are the provider's words, masked without
// pii:read.
func shownEntry(c *route.Call, e surveys.LogEntry) surveys.LogEntry {
	if !c.PII() {
		e.Reason = auth.MaskText(e.Reason)
	}
	return e
}

func logView(e surveys.LogEntry) api.SurveyLogView {
	v := api.SurveyLogView{
		ID: strconv.FormatInt(e.ID, 10), At: e.At.UTC(), Event: e.Event, Mode: e.Mode, Channel: e.Channel, Attempt: e.Attempt,
		Outcome: string(e.Outcome), Reason: e.Reason, From: string(e.From), To: string(e.To),
	}
	if e.Respondent != 0 {
		v.Respondent = e.Respondent.String()
	}
	return v
}
