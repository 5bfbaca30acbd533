package surveyapi

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
	"weir/web/route"
	"weir/web/wire"
)

// importJSON adds up to 1,000 respondents, all or none.
func (s *Service) importJSON(c *route.Call, w http.ResponseWriter, v surveys.Survey, rt *route.Route) error {
	body, err := wire.ReadJSON(w, c.Request, rt.BodyTypes, rt.BodyLimit)
	if err != nil {
		wire.Discard(c.Request.Body)
		return err
	}
	rt.Check.Check(body, "", &c.Errors)
	l := &importer{Service: s, survey: v, distinct: c.Query.Text("duplicates") == "error", update: c.Query.Text("duplicates") == "update"}
	object, _ := body.(map[string]any)
	l.readJSON(c, object)
	if err := c.Invalid(); err != nil {
		return err
	}
	added, err := l.addJSON(c)
	if err != nil {
		return err
	}
	corrected := make([]surveys.Corrected, len(added))
	if l.update {
		if corrected, err = l.correctDuplicates(c, l.rows, added); err != nil {
			return err
		}
	}
	told := ImportView{Errors: []respondents.RowError{}, Respondents: make([]AddedView, 0, len(added))}
	for i, a := range added {
		view := AddedView{ID: a.ID.String(), Duplicate: a.Duplicate, Updated: corrected[i].Changed}
		if err := corrected[i].Err; err != nil {
			view.Reason = err.Error()
		}
		if view.Updated {
			told.Updated++
		}
		told.Respondents = append(told.Respondents, view)
		if a.Duplicate {
			told.Duplicates++
		} else {
			told.Added++
		}
	}
	if told.Added+told.Updated > 0 {
		s.Surveys.Changed(v.ID)
	}
	wire.WriteJSON(w, http.StatusOK, told)
	return nil
}

func (l *importer) readJSON(c *route.Call, body map[string]any) {
	list, _ := body["respondents"].([]any)
	if len(list) > route.PageRows {
		return // reported by the schema
	}
	lacks := missingAttributes(l.survey)
	for i, v := range list {
		o, _ := v.(map[string]any)
		phone, ok := o["phone"].(string)
		if !ok {
			continue // reported by the schema
		}
		attributes, _ := o["attributes"].(map[string]any)
		row, wrong := respondents.RowOf(phone, attributes, l.survey.Definition.Region)
		c.Errors.AddPart("/respondents/"+strconv.Itoa(i), wrong)
		if !slices.ContainsFunc(wrong, func(f weir.FieldError) bool { return strings.Contains(f.Pointer, "/attributes") }) {
			for _, name := range lacks(row.Attributes) {
				c.Errors.Add("/respondents/"+strconv.Itoa(i)+"/attributes/"+name, "required", "%s", errMissingAttribute(name))
			}
		}
		l.rows = append(l.rows, row)
	}
}

// addJSON stores the rows at once. If duplicates are an error, it uses an
// import that is committed only if there are none.
func (l *importer) addJSON(ctx context.Context) ([]surveys.Added, error) {
	if !l.distinct {
		added, err := l.Importer.Add(ctx, l.survey.ID, 0, l.respondents(l.survey, l.rows))
		if err == nil && slices.ContainsFunc(added, func(a surveys.Added) bool { return a.Unsure }) {
			err = errOtherImport()
		}
		return added, err
	}
	imp, err := l.Importer.BeginImport(ctx, l.survey.ID)
	if err != nil {
		return nil, err
	}
	l.id = imp
	added, err := l.Importer.Add(ctx, l.survey.ID, imp, l.respondents(l.survey, l.rows))
	if err == nil {
		taken := &weir.Error{Code: weir.CodeConflict, Message: "the survey has some of the numbers, or they are there twice; nothing was added"}
		for i, a := range added {
			if a.Duplicate {
				taken.Fields = append(taken.Fields, weir.FieldError{Pointer: fmt.Sprintf("/respondents/%d/phone", i), Code: "duplicate", Detail: duplicateNumber})
			}
		}
		if len(taken.Fields) == 0 {
			return added, l.Importer.CommitImport(ctx, l.survey.ID, imp)
		}
		err = taken
	}
	l.abort(ctx)
	return nil, err
}
