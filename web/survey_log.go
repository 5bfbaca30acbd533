package web

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"weir"
	"weir/surveys"
)

// SurveyLogView is something that happened in a survey.
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
		description: "The same as log.csv has, page by page.",
		query:       paging(100, 1000), handle: s.listSurveyLog,
		answers: []answer{{http.StatusOK, "one page", typeOf[SurveyLogList]()}},
		codes:   []weir.Code{weir.CodeNotFound},
	}
}

func (s *service) listSurveyLog(c *call) (reply, error) {
	v, err := s.survey(c, c.r.PathValue("survey"))
	if err != nil {
		return reply{}, err
	}
	most, before := c.query.number("limit"), int64(math.MaxInt64)
	if cursor := c.query.text("cursor"); cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			c.wrong.add("/cursor", "format", "must be the next_cursor of a page before")
			return reply{}, c.refuse()
		}
	}
	rows, err := s.SurveyStore.Recent(c, v.ID, before, most+1)
	if err != nil {
		return reply{}, err
	}
	page := SurveyLogList{Entries: []SurveyLogView{}}
	if len(rows) > most {
		rows = rows[:most]
		page.NextCursor = strconv.FormatInt(rows[most-1].ID, 10)
	}
	for i := range rows {
		page.Entries = append(page.Entries, logView(&rows[i]))
	}
	return reply{status: http.StatusOK, body: page}, nil
}

func logView(e *surveys.Entry) SurveyLogView {
	v := SurveyLogView{
		ID: strconv.FormatInt(e.ID, 10), At: e.At.UTC(), Event: e.Event, Mode: e.Mode, Channel: e.Channel, Attempt: e.Attempt,
		Outcome: e.Outcome, Reason: e.Reason, From: e.From, To: e.To,
	}
	if e.Respondent != 0 {
		v.Respondent = e.Respondent.String()
	}
	return v
}
