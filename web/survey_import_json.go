package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/surveys"
	"weir/surveys/respondents"
)

// importJSON adds up to 1,000 respondents, all or none.
func (s *service) importJSON(c *call, w http.ResponseWriter, v surveys.Survey, rt *route) error {
	body, err := readJSON(w, c.r, rt.bodyTypes, rt.bodyLimit)
	if err != nil {
		ignore(c.r.Body)
		return err
	}
	rt.check.check(body, "", &c.wrong)
	l := &loading{service: s, survey: v, distinct: c.query.text("duplicates") == "error"}
	object, _ := body.(map[string]any)
	l.readJSON(c, object)
	if err := c.refuse(); err != nil {
		return err
	}
	added, err := l.addJSON(c)
	if err != nil {
		return err
	}
	told := ImportView{Errors: []respondents.RowError{}, Respondents: make([]AddedView, 0, len(added))}
	for _, a := range added {
		told.Respondents = append(told.Respondents, AddedView{a.ID.String(), a.Duplicate})
		if a.Duplicate {
			told.Duplicates++
		} else {
			told.Added++
		}
	}
	if told.Added > 0 {
		s.Surveys.Changed(v.ID)
	}
	writeJSON(w, http.StatusOK, told)
	return nil
}

func (l *loading) readJSON(c *call, body map[string]any) {
	list, _ := body["respondents"].([]any)
	if len(list) > pageRows {
		return // reported by the schema
	}
	lacks := lackingIn(l.survey)
	for i, v := range list {
		o, _ := v.(map[string]any)
		phone, ok := o["phone"].(string)
		if !ok {
			continue // reported by the schema
		}
		attributes, _ := o["attributes"].(map[string]any)
		row, wrong := respondents.RowOf(phone, attributes, l.survey.Definition.Region)
		for _, f := range wrong {
			f.Pointer = "/respondents/" + strconv.Itoa(i) + f.Pointer
			c.wrong.take(f)
		}
		if !slices.ContainsFunc(wrong, func(f weir.FieldError) bool { return strings.Contains(f.Pointer, "/attributes") }) {
			for _, name := range lacks(row.Attributes) {
				c.wrong.add("/respondents/"+strconv.Itoa(i)+"/attributes/"+name, "required", "%s", errLacks(name))
			}
		}
		l.rows = append(l.rows, row)
	}
}

// addJSON stores the rows at once. If duplicates are an error, it uses an
// import that is committed only if there are none.
func (l *loading) addJSON(ctx context.Context) ([]surveys.Added, error) {
	if !l.distinct {
		added, err := l.SurveyStore.Add(ctx, l.survey.ID, 0, l.respondents(l.survey, l.rows))
		if err == nil && slices.ContainsFunc(added, func(a surveys.Added) bool { return a.Unsure }) {
			err = errUnsure()
		}
		return added, err
	}
	imp, err := l.SurveyStore.BeginImport(ctx, l.survey.ID)
	if err != nil {
		return nil, err
	}
	l.imp = imp
	added, err := l.SurveyStore.Add(ctx, l.survey.ID, imp, l.respondents(l.survey, l.rows))
	if err == nil {
		taken := &weir.Error{Code: weir.CodeConflict, Message: "the survey has some of the numbers, or they are there twice; nothing was added"}
		for i, a := range added {
			if a.Duplicate {
				taken.Fields = append(taken.Fields, weir.FieldError{Pointer: fmt.Sprintf("/respondents/%d/phone", i), Code: "duplicate", Detail: errHasNumber})
			}
		}
		if len(taken.Fields) == 0 {
			return added, l.SurveyStore.CommitImport(ctx, l.survey.ID, imp)
		}
		err = taken
	}
	l.abort(ctx)
	return nil, err
}
