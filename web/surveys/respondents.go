package surveys

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir"
	"weir/api"
	"weir/internal/phonenumber"
	"weir/operators"
	"weir/surveys"
	"weir/surveys/questions"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// respondentStore reads respondents.
type respondentStore interface {
	Respondent(ctx context.Context, survey int64, id surveys.RespondentID) (surveys.Respondent, error)
	Respondents(ctx context.Context, f surveys.Filter) (_ []surveys.Respondent, next surveys.RespondentID, err error)
	Answers(ctx context.Context, survey int64, ids []surveys.RespondentID) (map[surveys.RespondentID]map[string]questions.Answer, error)
	AnswerSums(ctx context.Context, f surveys.SumFilter) (map[surveys.AnswerSum]int, error)
	AnswerTexts(ctx context.Context, f surveys.TextFilter) (_ []surveys.AnswerText, next surveys.RespondentID, err error)
	Counts(ctx context.Context, survey int64) (surveys.Sums, error)
}

// corrector corrects and removes respondents.
type corrector interface {
	Correct(ctx context.Context, survey int64, list []surveys.Correction) ([]surveys.Corrected, error)
	RemoveRespondent(ctx context.Context, survey int64, id surveys.RespondentID) error
}

// reportBroker takes reports on respondents.
type reportBroker interface {
	// Report applies an application's report on a respondent. The report is
	// durable when it returns.
	Report(ctx context.Context, s surveys.Survey, id surveys.RespondentID, h surveys.Report) (surveys.Respondent, error)
	// WhyRespondent explains why a respondent waits. It returns the zero value if
	// it does not.
	WhyRespondent(ctx context.Context, s surveys.Survey, r surveys.Respondent) (operators.Why, error)
}

// correctionBroker stops respondents, and learns what was changed.
type correctionBroker interface {
	// StopRespondent ends a respondent. It is not an error if it is final.
	StopRespondent(ctx context.Context, s surveys.Survey, id surveys.RespondentID) (surveys.Respondent, error)
	Changed(survey int64)
}

// respondentFinder finds respondents by the survey and the id in a path.
type respondentFinder struct {
	finder
	store  respondentStore
	tokens surveys.Tokens
}

// respondentRoutes shows respondents and takes reports on them.
type respondentRoutes struct {
	respondentFinder
	broker   reportBroker
	contacts weir.ContactReader
}

// correctionRoutes changes, stops and removes one respondent.
type correctionRoutes struct {
	respondentFinder
	broker    correctionBroker
	corrector corrector
}

func (s respondentRoutes) routes() []*route.Route {
	const all, one = Path + "/respondents", Path + "/respondents/{id}"
	view := route.TypeOf[api.RespondentView]()
	return []*route.Route{
		{
			Method: "GET", Path: all, ID: "list-respondents", Tag: "respondents",
			Summary:     "List respondents by id",
			Description: "A page may be short, or empty, and yet not be the last: that one has no next_cursor.",
			Query:       slices.Concat(respondentFilters(), []httpjson.Parameter{{Name: "phone", Kind: "string", Description: "a number, as in an import"}}, route.Paging(100, 1000)),
			Handle:      s.onSurvey(s.listRespondents),
			Answers:     []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.RespondentList]()}},
			Codes:       []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "GET", Path: one, ID: "get-respondent", Tag: "respondents",
			Summary: "A respondent", Handle: s.getRespondent,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the respondent", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "POST", Path: one + "/disposition", ID: "post-disposition", Tag: "respondents",
			Summary: "Report the disposition of a respondent",
			Description: "By the application that holds it. All of it is durable when the answer comes. A disposition that is reported twice, or late, changes nothing; " +
				"one that cannot follow, or that comes after the end, is a conflict. If the answers put the respondent into a quota that is full, the answer says `rejected` and `messages_withheld`: only the survey's `quota_message` is sent.",
			Body: route.TypeOf[api.HearingBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody,
			Handle:  s.postDisposition,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the respondent as it is now", Body: route.TypeOf[api.HeardView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

// respondentFilters are the parameters that select respondents in lists and results.
func respondentFilters() []httpjson.Parameter {
	return []httpjson.Parameter{
		{Name: "status", Kind: "string", Enum: httpjson.Words(surveys.Statuses()), Description: "one or more, joined by commas"},
		{Name: "disposition", Kind: "string", Enum: httpjson.Words(surveys.Dispositions()), Description: "one or more, joined by commas"},
		{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): respondents last changed then or later"},
		{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): respondents last changed before"},
	}
}

func (s correctionRoutes) routes() []*route.Route {
	const one = Path + "/respondents/{id}"
	view := route.TypeOf[api.RespondentView]()
	codes := []weir.Code{weir.CodeNotFound, weir.CodeConflict}
	return []*route.Route{
		{
			Method: "PATCH", Path: one, ID: "patch-respondent", Tag: "respondents",
			Summary: "Correct a respondent who has not been contacted yet",
			Description: "A JSON merge patch (RFC 7396) of the phone number and the attributes; the quota follows from the attributes. A respondent who was given up because the texts use a value that was missing becomes pending again. " +
				"409 if the respondent was contacted or is finished, or if another respondent of the survey has the number. Repeating it changes nothing.",
			Body: route.TypeOf[api.RespondentPatch](), BodyTypes: []string{httpjson.JSONType, httpjson.MergePatchType}, BodyLimit: httpjson.MaxBody,
			Handle:  s.patchRespondent,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the respondent as it is now", Body: view}},
			Codes:   codes,
		},
		{
			Method: "DELETE", Path: one, ID: "delete-respondent", Tag: "respondents",
			Summary: "Remove a respondent",
			Description: "With its number and its attributes. Its attempts stay in the survey's figures and its entries, under its id, in the log. " +
				"409 while a contact of the respondent is queued or in flight: stop the respondent first.",
			Handle:  s.deleteRespondent,
			Answers: []route.Answer{{Status: http.StatusNoContent, Description: "removed"}},
			Codes:   codes,
		},
		{
			Method: "POST", Path: one + "/stop", ID: "stop-respondent", Tag: "respondents",
			Summary: "Stop contacting a respondent",
			Description: "A queued contact is canceled, and the provider is asked to cancel one in flight. The status becomes `canceled`; the disposition stays as far as the conversation came. " +
				"A respondent who is finished stays as it is, so it is safe to repeat.",
			Handle: s.stopRespondent, Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the respondent as it is now", Body: view}},
			Codes:   codes,
		},
	}
}

func (s respondentRoutes) listRespondents(c *route.Call, v surveys.Survey) (route.Reply, error) {
	f, err := respondentFilter(c, v)
	if err != nil {
		return route.Reply{}, err
	}
	rows, next, err := s.store.Respondents(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	page := api.RespondentList{Respondents: make([]api.RespondentView, 0, len(rows))}
	if next != 0 {
		page.NextCursor = next.String()
	}
	how := progressOf(v)
	for i := range rows {
		page.Respondents = append(page.Respondents, shownRespondent(c, s.tokens, how, &rows[i]))
	}
	return route.Reply{Status: http.StatusOK, Body: page}, nil
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
			return f, auth.ErrForbidden(operators.ScopePIIRead)
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

// respondent finds the respondent of a path.
func (s respondentFinder) respondent(c *route.Call) (surveys.Survey, surveys.Respondent, error) {
	v, err := s.survey(c, c.Request.PathValue("survey"))
	if err != nil {
		return v, surveys.Respondent{}, err
	}
	id, err := s.tokens.Parse(c.Request.PathValue("id"))
	if err != nil {
		return v, surveys.Respondent{}, weir.Errorf(weir.CodeNotFound, "there is no such respondent")
	}
	r, err := s.store.Respondent(c, v.ID, id)
	if weir.CodeOf(err) == weir.CodeNotFound {
		err = weir.Errorf(weir.CodeNotFound, "survey %s has no respondent %s", v.Name, id)
	}
	return v, r, err
}

func (s respondentRoutes) getRespondent(c *route.Call) (route.Reply, error) {
	v, r, err := s.respondent(c)
	if err != nil {
		return route.Reply{}, err
	}
	view := shownRespondent(c, s.tokens, progressOf(v), &r)
	if view.Answers, err = s.answersOf(c, v, &r); err != nil {
		return route.Reply{}, err
	}
	why, err := s.broker.WhyRespondent(c, v, r)
	view.WhyView = why.View()
	return route.Reply{Status: http.StatusOK, Body: view}, err
}

func (s respondentRoutes) postDisposition(c *route.Call) (route.Reply, error) {
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
	is, err := s.broker.Report(c, v, r.ID, h)
	switch {
	case errors.Is(err, surveys.ErrFinal):
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "the respondent's status is final: %s", r.Status)
	case errors.Is(err, surveys.ErrDisposition):
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "the disposition %s cannot follow %s", h.Disposition, r.Disposition)
	case err != nil:
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: api.HeardView{RespondentView: shownRespondent(c, s.tokens, progressOf(v), &is), MessagesWithheld: len(h.Messages) > 0 && h.WithholdsMessages(is.Progress)}}, nil
}

// readReport reads a report on a respondent. It skips values that do not fit the
// schema, which were reported.
func (s respondentRoutes) readReport(c *route.Call, r *surveys.Respondent) (surveys.Report, error) {
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
		if n := utf8.RuneCountInString(text); ok && (n > httpjson.MaxMessage || strings.TrimSpace(text) == "") {
			c.Errors.Add("/messages/"+strconv.Itoa(i), "length", "must have 1 to %d characters", httpjson.MaxMessage)
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
func (s respondentRoutes) serialOf(c *route.Call, r *surveys.Respondent, id string) (int, error) {
	ref, err := weir.ParseRef(id)
	if err == nil && ref == r.Contact {
		return r.Serial, nil
	}
	if err == nil {
		contact, _, err := s.contacts.Contact(c, ref)
		switch {
		case err == nil && contact.Owner.ID == int64(r.ID) && contact.Owner.Group == r.Survey:
			return contact.Owner.Serial, nil
		case err != nil && weir.CodeOf(err) != weir.CodeNotFound:
			return 0, err
		}
	}
	c.Errors.Add("/contact", "unknown", "the respondent had no such contact")
	return 0, nil
}

// shownRespondent returns the view of a respondent, with the phone number
// masked without pii:read.
func shownRespondent(c *route.Call, tokens surveys.Tokens, how surveyProgress, r *surveys.Respondent) api.RespondentView {
	v := how.view(r)
	v.Token = tokens.Of(r.ID)
	if !c.PII() {
		maskRespondent(&v)
	}
	return v
}

func (s correctionRoutes) patchRespondent(c *route.Call) (route.Reply, error) {
	v, r, err := s.respondent(c)
	if err != nil {
		return route.Reply{}, err
	}
	if err := checkAcceptsRespondents(v); err != nil {
		return route.Reply{}, err
	}
	change := surveys.Correction{ID: r.ID}
	if phone, ok := c.Body["phone"].(string); ok {
		if change.Phone, err = phonenumber.Normalize(phone, v.Definition.Region); err != nil {
			c.Errors.Add("/phone", "format", "%v", err)
		}
	}
	if attributes, ok := c.Body["attributes"].(map[string]any); ok {
		values, wrong := respondents.Attributes(attributes)
		c.Errors.AddPart("/attributes", wrong)
		change.Attributes = values
		for name := range attributes {
			if _, kept := values[name]; !kept {
				change.Without = append(change.Without, name)
			}
		}
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if is, _, err := change.Apply(r, v.Definition.Quotas); err != nil {
		return route.Reply{}, err
	} else if names := missingAttributes(v)(is.Attributes); len(names) > 0 {
		for _, name := range names {
			c.Errors.Add("/attributes/"+name, "required", "%s", errMissingAttribute(name))
		}
		return route.Reply{}, c.Invalid()
	}
	list, err := s.corrector.Correct(c, v.ID, []surveys.Correction{change})
	if err == nil {
		err = list[0].Err
	}
	if err != nil {
		return route.Reply{}, err
	}
	if list[0].Changed {
		s.broker.Changed(v.ID)
	}
	return route.Reply{
		Status: http.StatusOK, Body: shownRespondent(c, s.tokens, progressOf(v), &list[0].Respondent),
		Changes: route.ChangesOf(personalData(&r), personalData(&list[0].Respondent), func(string) bool { return true }),
	}, nil
}

// personalData is the part of a respondent that may be corrected. The trail records
// only the names of the fields that changed.
func personalData(r *surveys.Respondent) map[string]any {
	out := map[string]any{"phone": r.Phone}
	for name, value := range r.Attributes {
		out["attributes."+name] = value
	}
	return out
}

func (s correctionRoutes) deleteRespondent(c *route.Call) (route.Reply, error) {
	v, r, err := s.respondent(c)
	if err == nil {
		err = s.corrector.RemoveRespondent(c, v.ID, r.ID)
	}
	if err != nil {
		return route.Reply{}, err
	}
	s.broker.Changed(v.ID)
	return route.Reply{Status: http.StatusNoContent}, nil
}

func (s correctionRoutes) stopRespondent(c *route.Call) (route.Reply, error) {
	v, r, err := s.respondent(c)
	if err != nil {
		return route.Reply{}, err
	}
	is, err := s.broker.StopRespondent(c, v, r.ID)
	if err != nil {
		return route.Reply{}, err
	}
	return route.Reply{
		Status: http.StatusOK, Body: shownRespondent(c, s.tokens, progressOf(v), &is),
		Changes: route.ChangesOf(map[string]any{"status": r.Status}, map[string]any{"status": is.Status}, surveySecret),
	}, nil
}
