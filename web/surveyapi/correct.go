package surveyapi

import (
	"context"
	"net/http"

	"weir"
	"weir/internal/phonenumber"
	"weir/surveys"
	"weir/surveys/respondents"
	"weir/web/route"
	"weir/web/wire"
)

// RespondentPatch is the body of PATCH: a JSON merge patch (RFC 7396).
type RespondentPatch struct {
	Phone      string         `json:"phone,omitempty" minLength:"1" maxLength:"50" doc:"the new number, as in an import" example:"+525512345678"`
	Attributes map[string]any `json:"attributes,omitempty" maxProperties:"100" doc:"merged; null or an empty text removes an attribute"`
}

// correctionRoutes are the routes that change, stop and remove one respondent.
func (s *Service) correctionRoutes() []*route.Route {
	const one = Path + "/respondents/{id}"
	view := route.TypeOf[RespondentView]()
	codes := []weir.Code{weir.CodeNotFound, weir.CodeConflict}
	return []*route.Route{
		{
			Method: "PATCH", Path: one, ID: "patch-respondent", Tag: "respondents",
			Summary: "Correct a respondent who has not been contacted yet",
			Description: "A JSON merge patch (RFC 7396) of the phone number and the attributes; the quota follows from the attributes. A respondent who was given up because the texts use a value that was missing becomes pending again. " +
				"409 if the respondent was contacted or is finished, or if another respondent of the survey has the number. Repeating it changes nothing.",
			Body: route.TypeOf[RespondentPatch](), BodyTypes: []string{wire.JSONType, wire.MergePatchType}, BodyLimit: wire.MaxBody,
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

func (s *Service) patchRespondent(c *route.Call) (route.Reply, error) {
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
	list, err := s.Importer.Correct(c, v.ID, []surveys.Correction{change})
	if err == nil {
		err = list[0].Err
	}
	if err != nil {
		return route.Reply{}, err
	}
	if list[0].Changed {
		s.Surveys.Changed(v.ID)
	}
	return route.Reply{
		Status: http.StatusOK, Body: s.shownRespondent(c, progressOf(v), &list[0].Respondent),
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

func (s *Service) deleteRespondent(c *route.Call) (route.Reply, error) {
	v, r, err := s.respondent(c)
	if err == nil {
		err = s.Importer.RemoveRespondent(c, v.ID, r.ID)
	}
	if err != nil {
		return route.Reply{}, err
	}
	s.Surveys.Changed(v.ID)
	return route.Reply{Status: http.StatusNoContent}, nil
}

func (s *Service) stopRespondent(c *route.Call) (route.Reply, error) {
	v, r, err := s.respondent(c)
	if err != nil {
		return route.Reply{}, err
	}
	is, err := s.Surveys.StopRespondent(c, v, r.ID)
	if err != nil {
		return route.Reply{}, err
	}
	return route.Reply{
		Status: http.StatusOK, Body: s.shownRespondent(c, progressOf(v), &is),
		Changes: route.ChangesOf(map[string]any{"status": r.Status}, map[string]any{"status": is.Status}, surveySecret),
	}, nil
}

// correctDuplicates corrects the respondents whose numbers the survey has. results has
// an entry for each row; those of new respondents are zero.
func (l *importer) correctDuplicates(ctx context.Context, rows []respondents.Row, added []surveys.Added) (results []surveys.Corrected, _ error) {
	results = make([]surveys.Corrected, len(rows))
	var list []surveys.Correction
	var at []int
	for i, a := range added {
		if a.Duplicate && !a.Unsure {
			list, at = append(list, surveys.Correction{ID: a.ID, Attributes: rows[i].Attributes}), append(at, i)
		}
	}
	if len(list) == 0 {
		return results, nil
	}
	corrected, err := l.Importer.Correct(ctx, l.survey.ID, list)
	for i, r := range corrected {
		results[at[i]] = r
	}
	return results, err
}
