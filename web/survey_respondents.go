package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/ops"
	"weir/surveys"
	"weir/surveys/respondents"
)

func (s *service) listRespondents(c *call) (reply, error) {
	v, err := s.survey(c, c.r.PathValue("survey"))
	if err != nil {
		return reply{}, err
	}
	f, err := respondentFilter(c, v)
	if err != nil {
		return reply{}, err
	}
	rows, next, err := s.SurveyStore.Respondents(c, f)
	if err != nil {
		return reply{}, err
	}
	page := RespondentList{Respondents: make([]RespondentView, 0, len(rows))}
	if next != 0 {
		page.NextCursor = next.String()
	}
	how := courseOf(v)
	for i := range rows {
		page.Respondents = append(page.Respondents, s.shownRespondent(c, how, &rows[i]))
	}
	return reply{status: http.StatusOK, body: page}, nil
}

// shownRespondent returns the view of a respondent, with the phone number
// masked without pii:read.
func (s *service) shownRespondent(c *call, how course, r *surveys.Respondent) RespondentView {
	v := how.view(r)
	v.Token = s.Tokens.Of(r.ID)
	if !c.pii() {
		maskRespondent(&v)
	}
	return v
}

// respondentFilter reads the query of a list or of results.
func respondentFilter(c *call, v surveys.Survey) (surveys.Filter, error) {
	f := surveys.Filter{Survey: v.ID, Limit: c.query.number("limit")}
	for _, w := range c.query.words("status") {
		f.Statuses = append(f.Statuses, surveys.Status(w))
	}
	for _, w := range c.query.words("disposition") {
		f.Dispositions = append(f.Dispositions, surveys.Disposition(w))
	}
	var err error
	if cursor := c.query.text("cursor"); cursor != "" {
		if f.After, err = surveys.ParseRespondentID(cursor); err != nil {
			c.wrong.add("/cursor", "format", "must be the next_cursor of a page before")
		}
	}
	if phone := c.query.text("phone"); phone != "" {
		if !c.pii() { // otherwise numbers could be found by trial
			return f, errForbidden(ops.ScopePIIRead)
		}
		if strings.HasPrefix(phone, " ") { // an unescaped plus
			phone = "+" + phone[1:]
		}
		if f.Phone, err = respondents.NormalizePhone(phone, v.Definition.Region); err != nil {
			c.wrong.add("/phone", "format", "%v", err)
		}
	}
	return f, c.refuse()
}

// respondent finds a respondent by the survey and id in a path.
func (s *service) respondent(c *call) (surveys.Survey, surveys.Respondent, error) {
	v, err := s.survey(c, c.r.PathValue("survey"))
	if err != nil {
		return v, surveys.Respondent{}, err
	}
	id, err := s.Tokens.Parse(c.r.PathValue("id"))
	if err != nil {
		return v, surveys.Respondent{}, weir.Errorf(weir.CodeNotFound, "there is no such respondent")
	}
	r, err := s.SurveyStore.Respondent(c, v.ID, id)
	if weir.CodeOf(err) == weir.CodeNotFound {
		err = weir.Errorf(weir.CodeNotFound, "survey %s has no respondent %s", v.Name, id)
	}
	return v, r, err
}

func (s *service) getRespondent(c *call) (reply, error) {
	v, r, err := s.respondent(c)
	if err != nil {
		return reply{}, err
	}
	view := s.shownRespondent(c, courseOf(v), &r)
	why, err := s.Surveys.WhyRespondent(c, v, r)
	view.Why, view.WhyCode = why.Text, why.Code
	return reply{status: http.StatusOK, body: view}, err
}

func (s *service) postDisposition(c *call) (reply, error) {
	v, r, err := s.respondent(c)
	if err != nil {
		return reply{}, err
	}
	h, err := s.hearing(c, &r)
	if err != nil {
		return reply{}, err
	}
	if err := c.refuse(); err != nil {
		return reply{}, err
	}
	if v.State == surveys.Draft {
		return reply{}, weir.Errorf(weir.CodeConflict, "survey %s is a draft; nobody has been contacted", v.Name)
	}
	is, err := s.Surveys.Report(c, v, r.ID, h)
	switch {
	case errors.Is(err, surveys.ErrFinal):
		return reply{}, weir.Errorf(weir.CodeConflict, "the respondent's status is final: %s", r.Status)
	case errors.Is(err, surveys.ErrDisposition):
		return reply{}, weir.Errorf(weir.CodeConflict, "the disposition %s cannot follow %s", h.Disposition, r.Disposition)
	case err != nil:
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: HeardView{s.shownRespondent(c, courseOf(v), &is), len(h.Messages) > 0 && h.WithholdsMessages(is.Progress)}}, nil
}

// hearing reads a report on a respondent. It skips values that do not fit the
// schema, which were reported.
func (s *service) hearing(c *call, r *surveys.Respondent) (surveys.Report, error) {
	var h surveys.Report
	word, _ := c.body["disposition"].(string)
	h.Disposition = surveys.Disposition(word)
	h.Stop, _ = c.body["stop"].(bool)
	h.Key, _ = c.body["key"].(string)
	serial, _ := c.body["serial"].(float64)
	h.Serial = int(serial)
	if h.Serial > r.Serial {
		c.wrong.add("/serial", "unknown", "the respondent had no such contact")
	}
	messages, _ := c.body["messages"].([]any)
	for i, m := range messages {
		text, ok := m.(string)
		if n := utf8.RuneCountInString(text); ok && (n > mostMessage || strings.TrimSpace(text) == "") {
			c.wrong.add("/messages/"+strconv.Itoa(i), "length", "must have 1 to %d characters", mostMessage)
		}
		h.Messages = append(h.Messages, text)
	}
	if answers, ok := c.body["answers"].(map[string]any); ok {
		values, wrong := respondents.Attributes(answers)
		h.Answers = values
		for _, f := range wrong {
			f.Pointer = "/answers" + f.Pointer
			c.wrong.take(f)
		}
	}
	id, ok := c.body["contact"].(string)
	if !ok {
		return h, nil
	}
	if h.Serial != 0 {
		c.wrong.add("/serial", "content", "is the number of the contact; give one of contact and serial")
	}
	var err error
	h.Serial, err = s.serialOf(c, r, id)
	return h, err
}

// serialOf returns the serial number of one of a respondent's contacts.
func (s *service) serialOf(c *call, r *surveys.Respondent, id string) (int, error) {
	ref, err := weir.ParseRef(id)
	if err == nil && ref == r.Contact {
		return r.Serial, nil
	}
	if err == nil {
		contact, _, err := s.Store.Contact(c, ref)
		switch {
		case err == nil && contact.For.ID == int64(r.ID) && contact.For.Survey == r.Survey:
			return contact.For.Serial, nil
		case err != nil && weir.CodeOf(err) != weir.CodeNotFound:
			return 0, err
		}
	}
	c.wrong.add("/contact", "unknown", "the respondent had no such contact")
	return 0, nil
}

func statusWords() []string {
	var out []string
	for _, s := range surveys.Statuses() {
		out = append(out, string(s))
	}
	return out
}

func dispositionWords() []string {
	var out []string
	for _, d := range surveys.Dispositions() {
		out = append(out, string(d))
	}
	return out
}

func surveyStateWords() []string {
	var out []string
	for _, s := range surveys.States() {
		out = append(out, string(s))
	}
	return slices.Clip(out)
}
