package web

import (
	"net/http"
	"strconv"
	"time"

	"weir"
	"weir/surveys"
)

// SurveyLogView is an event of a survey.
type SurveyLogView struct {
	ID         string              `json:"id" doc:"in the order in which things were written"`
	At         time.Time           `json:"at"`
	Respondent string              `json:"respondent,omitempty" doc:"id; absent: it is about the survey" example:"r2s"`
	Event      string              `json:"event" doc:"enqueued, handed_over, answered, ended, disposition, message, finished and others"`
	Mode       surveys.Mode        `json:"mode,omitempty" enum:"ivr,sms,mobileweb,cati"`
	Channel    string              `json:"channel,omitempty"`
	Attempt    int                 `json:"attempt,omitempty" doc:"its number"`
	Outcome    weir.Outcome        `json:"outcome,omitempty" enum:"completed,busy,no_answer,failed,expired,canceled,lost,dead_letter"`
	Reason     string              `json:"reason,omitempty" doc:"why it ended so, in the provider's words"`
	From       surveys.Disposition `json:"from,omitempty" enum:"registered,queued,contacted,started,interim partial,completed,partial,breakoff,unresponsive,ineligible,rejected,refused,failed" doc:"the disposition before"`
	To         surveys.Disposition `json:"to,omitempty" enum:"registered,queued,contacted,started,interim partial,completed,partial,breakoff,unresponsive,ineligible,rejected,refused,failed" doc:"the disposition after"`
}

// SurveyLogList is a page of a survey's log.
type SurveyLogList struct {
	Entries    []SurveyLogView `json:"entries"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

func (s *service) logRoute() *route {
	return &route{
		method: "GET", path: surveyPath + "/log", id: "list-survey-log", tag: "surveys",
		summary:     "What happened in a survey, newest first",
		description: "The same as log.csv has, page by page. A page about one respondent may be short, or empty, and yet not be the last: that one has no next_cursor.",
		query: append([]parameter{
			{name: "respondent", kind: "string", description: "id of a respondent: only what is about this one"},
			{name: "since", kind: "string", format: "date-time", description: "an instant (RFC 3339): entries from then on"},
			{name: "until", kind: "string", format: "date-time", description: "an instant (RFC 3339): entries before"},
		}, paging(100, 1000)...), handle: s.listSurveyLog,
		answers: []answer{{http.StatusOK, "one page", typeOf[SurveyLogList]()}},
		codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (s *service) listSurveyLog(c *call) (reply, error) {
	v, err := s.survey(c, c.r.PathValue("survey"))
	if err != nil {
		return reply{}, err
	}
	f := surveys.LogFilter{Survey: v.ID, Limit: c.query.number("limit")}
	f.Since, _ = c.instant("since")
	f.Until, _ = c.instant("until")
	if id := c.query.text("respondent"); id != "" {
		if f.Respondent, err = surveys.ParseRespondentID(id); err != nil {
			c.wrong.add("/respondent", "format", "must be the id of a respondent")
		}
	}
	if cursor := c.query.text("cursor"); cursor != "" {
		if f.Before, err = strconv.ParseInt(cursor, 10, 64); err != nil || f.Before < 1 {
			c.wrong.add("/cursor", "format", "must be the next_cursor of a page before")
		}
	}
	if err := c.refuse(); err != nil {
		return reply{}, err
	}
	rows, next, err := s.SurveyStore.Recent(c, f)
	if err != nil {
		return reply{}, err
	}
	page := SurveyLogList{Entries: []SurveyLogView{}}
	if next != 0 {
		page.NextCursor = strconv.FormatInt(next, 10)
	}
	for i := range rows {
		page.Entries = append(page.Entries, logView(&rows[i]))
	}
	return reply{status: http.StatusOK, body: page}, nil
}

func logView(e *surveys.LogEntry) SurveyLogView {
	v := SurveyLogView{
		ID: strconv.FormatInt(e.ID, 10), At: e.At.UTC(), Event: e.Event, Mode: e.Mode, Channel: e.Channel, Attempt: e.Attempt,
		Outcome: e.Outcome, Reason: e.Reason, From: e.From, To: e.To,
	}
	if e.Respondent != 0 {
		v.Respondent = e.Respondent.String()
	}
	return v
}
