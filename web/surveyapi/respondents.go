package surveyapi

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/internal/phonenumber"
	"weir/ops"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/route"
	"weir/web/wire"
)

func (s *Service) listRespondents(c *route.Call, v surveys.Survey) (route.Reply, error) {
	f, err := respondentFilter(c, v)
	if err != nil {
		return route.Reply{}, err
	}
	rows, next, err := s.SurveyStore.Respondents(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	page := RespondentList{Respondents: make([]RespondentView, 0, len(rows))}
	if next != 0 {
		page.NextCursor = next.String()
	}
	how := progressOf(v)
	for i := range rows {
		page.Respondents = append(page.Respondents, s.shownRespondent(c, how, &rows[i]))
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
}

// shownRespondent returns the view of a respondent, with the phone number
// masked without pii:read.
func (s *Service) shownRespondent(c *route.Call, how surveyProgress, r *surveys.Respondent) RespondentView {
	v := how.view(r)
	v.Token = s.Tokens.Of(r.ID)
	if !c.PII() {
		maskRespondent(&v)
	}
	return v
}

// respondentFilter reads the query of a list or of results.
func respondentFilter(c *route.Call, v surveys.Survey) (surveys.Filter, error) {
	f := surveys.Filter{Survey: v.ID, Limit: c.Query.Int("limit")}
	for _, w := range c.Query.List("status") {
		f.Statuses = append(f.Statuses, surveys.Status(w))
	}
	for _, w := range c.Query.List("disposition") {
		f.Dispositions = append(f.Dispositions, surveys.Disposition(w))
	}
	f.Since, _ = c.Instant("since")
	f.Until, _ = c.Instant("until")
	var err error
	if cursor := c.Query.Text("cursor"); cursor != "" {
		if f.After, err = surveys.ParseRespondentID(cursor); err != nil {
			c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
		}
	}
	if phone := c.Query.Text("phone"); phone != "" {
		if !c.PII() { // otherwise numbers could be found by trial
			return f, auth.ErrForbidden(ops.ScopePIIRead)
		}
		if strings.HasPrefix(phone, " ") { // an unescaped plus
			phone = "+" + phone[1:]
		}
		if f.Phone, err = phonenumber.Normalize(phone, v.Definition.Region); err != nil {
			c.Errors.Add("/phone", "format", "%v", err)
		}
	}
	return f, c.Invalid()
}

// respondent finds a respondent by the survey and id in a path.
func (s *Service) respondent(c *route.Call) (surveys.Survey, surveys.Respondent, error) {
	v, err := s.survey(c, c.Request.PathValue("survey"))
	if err != nil {
		return v, surveys.Respondent{}, err
	}
	id, err := s.Tokens.Parse(c.Request.PathValue("id"))
	if err != nil {
		return v, surveys.Respondent{}, weir.Errorf(weir.CodeNotFound, "there is no such respondent")
	}
	r, err := s.SurveyStore.Respondent(c, v.ID, id)
	if weir.CodeOf(err) == weir.CodeNotFound {
		err = weir.Errorf(weir.CodeNotFound, "survey %s has no respondent %s", v.Name, id)
	}
	return v, r, err
}

func (s *Service) getRespondent(c *route.Call) (route.Reply, error) {
	v, r, err := s.respondent(c)
	if err != nil {
		return route.Reply{}, err
	}
	view := s.shownRespondent(c, progressOf(v), &r)
	why, err := s.Surveys.WhyRespondent(c, v, r)
	view.Why, view.WhyCode, view.WhyInstants = why.Text, why.Code, why.Instants()
	return route.Reply{Status: http.StatusOK, Body: view}, err
}

func (s *Service) postDisposition(c *route.Call) (route.Reply, error) {
	v, r, err := s.respondent(c)
	if err != nil {
		return route.Reply{}, err
	}
	h, err := s.readReport(c, &r)
	if err != nil {
		return route.Reply{}, err
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if v.State == surveys.Draft {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "survey %s is a draft; no respondent has been contacted", v.Name)
	}
	is, err := s.Surveys.Report(c, v, r.ID, h)
	switch {
	case errors.Is(err, surveys.ErrFinal):
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "the respondent's status is final: %s", r.Status)
	case errors.Is(err, surveys.ErrDisposition):
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "the disposition %s cannot follow %s", h.Disposition, r.Disposition)
	case err != nil:
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: HeardView{s.shownRespondent(c, progressOf(v), &is), len(h.Messages) > 0 && h.WithholdsMessages(is.Progress)}}, nil
}

// readReport reads a report on a respondent. It skips values that do not fit the
// schema, which were reported.
func (s *Service) readReport(c *route.Call, r *surveys.Respondent) (surveys.Report, error) {
	var h surveys.Report
	word, _ := c.Body["disposition"].(string)
	h.Disposition = surveys.Disposition(word)
	h.Stop, _ = c.Body["stop"].(bool)
	h.Key, _ = c.Body["key"].(string)
	serial, _ := c.Body["serial"].(float64)
	h.Serial = int(serial)
	if h.Serial > r.Serial {
		c.Errors.Add("/serial", "unknown", "the respondent had no such contact")
	}
	messages, _ := c.Body["messages"].([]any)
	for i, m := range messages {
		text, ok := m.(string)
		if n := utf8.RuneCountInString(text); ok && (n > wire.MaxMessage || strings.TrimSpace(text) == "") {
			c.Errors.Add("/messages/"+strconv.Itoa(i), "length", "must have 1 to %d characters", wire.MaxMessage)
		}
		h.Messages = append(h.Messages, text)
	}
	if answers, ok := c.Body["answers"].(map[string]any); ok {
		values, wrong := respondents.Attributes(answers)
		h.Answers = values
		c.Errors.AddPart("/answers", wrong)
	}
	id, ok := c.Body["contact"].(string)
	if !ok {
		return h, nil
	}
	if h.Serial != 0 {
		c.Errors.Add("/serial", "content", "is the number of the contact; give one of contact and serial")
	}
	var err error
	h.Serial, err = s.serialOf(c, r, id)
	return h, err
}

// serialOf returns the serial number of one of a respondent's contacts.
func (s *Service) serialOf(c *route.Call, r *surveys.Respondent, id string) (int, error) {
	ref, err := weir.ParseRef(id)
	if err == nil && ref == r.Contact {
		return r.Serial, nil
	}
	if err == nil {
		contact, _, err := s.Contacts.Contact(c, ref)
		switch {
		case err == nil && contact.For.ID == int64(r.ID) && contact.For.Survey == r.Survey:
			return contact.For.Serial, nil
		case err != nil && weir.CodeOf(err) != weir.CodeNotFound:
			return 0, err
		}
	}
	c.Errors.Add("/contact", "unknown", "the respondent had no such contact")
	return 0, nil
}
