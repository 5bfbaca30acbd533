package people

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/internal/validation"
	"weir/operators"
	"weir/people"
	"weir/surveys"
	"weir/web/httpjson"
	"weir/web/route"
)

// PurposeView is a purpose.
type PurposeView struct {
	Name string `json:"name" doc:"as contacts and surveys name it" example:"research"`
	people.Purpose
}

// PurposeList lists purposes by name.
type PurposeList struct {
	Purposes []PurposeView `json:"purposes" nullable:"false" doc:"by name; default is among them once its rules were set"`
}

const purposePath = "/v1/purposes/{name}"

// purposeRoutes serves purposes.
type purposeRoutes struct {
	purposes people.Purposes
	surveys  SurveyLister // nil: there are none
}

func (r *purposeRoutes) table() []*route.Route {
	view := route.TypeOf[PurposeView]()
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/purposes", ID: "list-purposes", Tag: "people", Summary: "List purposes", Handle: r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "all of them", Body: route.TypeOf[PurposeList]()}},
		},
		{
			Method: "GET", Path: purposePath, ID: "get-purpose", Tag: "people", Summary: "Get a purpose", Handle: r.get,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "the purpose", Body: view}},
			Codes:   []weir.Code{weir.CodeNotFound},
		},
		{
			Method: "PUT", Path: purposePath, ID: "put-purpose", Tag: "people", Summary: "Set the rules of a purpose",
			Description: "A purpose says what contacts are for, and which rules hold for them for the sake of the person. Contacts and surveys name one; without a name it is default. " +
				"The body replaces all rules. When the response arrives, every later claim is judged by them, also of contacts that waited already.",
			Body: route.TypeOf[people.Purpose](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.put,
			Query:   []httpjson.Parameter{route.Create("purpose"), route.DryRun()},
			Answers: []route.Answer{{Status: http.StatusOK, Description: "set", Body: view}, {Status: http.StatusCreated, Description: "created", Body: view}, route.RightAnswer()},
			Codes:   []weir.Code{weir.CodeConflict},
		},
		{
			Method: "DELETE", Path: purposePath, ID: "delete-purpose", Tag: "people", Summary: "Delete a purpose",
			Description: "Refused (409) while a survey that is not done names it. For contacts that have it already its rules hold.", Handle: r.remove,
			Answers: []route.Answer{{Status: http.StatusNoContent, Description: "deleted"}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

func (r *purposeRoutes) list(_ *route.Call) (route.Reply, error) {
	known := r.purposes.Purposes()
	out := PurposeList{Purposes: make([]PurposeView, 0, len(known))}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out.Purposes = append(out.Purposes, PurposeView{name, *known[name]})
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

func (r *purposeRoutes) get(c *route.Call) (route.Reply, error) {
	name, p, err := r.named(c)
	if err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: PurposeView{name, *p}}, nil
}

// named returns the purpose that the path names.
func (r *purposeRoutes) named(c *route.Call) (string, *people.Purpose, error) {
	name := c.Request.PathValue("name")
	p := r.purposes.Purposes()[name]
	if p == nil {
		return name, nil, weir.Errorf(weir.CodeNotFound, "there is no purpose %q", name)
	}
	return name, p, nil
}

func (r *purposeRoutes) put(c *route.Call) (route.Reply, error) {
	name := c.Request.PathValue("name")
	if !people.ValidPurposeName(name) {
		c.Errors.Add("/name", "format", "must be 1 to 63 characters of a-z, 0-9, underscore and hyphen, begin with a letter or digit, and not be %s", people.AllPurposes)
	}
	var given people.Purpose
	text, err := json.Marshal(c.Body)
	if err != nil {
		return route.Reply{}, err
	}
	_ = json.Unmarshal(text, &given) // it skips values of a wrong type, which the schema reports
	compiled, wrong := given.Compile()
	c.Errors.Append(validation.Without(wrong, c.Errors)...)
	before := r.purposes.Purposes()[name]
	on := c.Condition("purpose", "/name")
	if before != nil && on.Create {
		return route.Reply{}, c.Taken(on, name)
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	if c.DryRun() {
		return route.Checked(r.purposes.CheckPurpose(c, name, compiled, on))
	}
	if err := r.purposes.PutPurpose(c, name, compiled, on); err != nil {
		return route.Reply{}, err
	}
	out := route.Reply{Status: http.StatusOK, Body: PurposeView{name, *compiled}, Changes: []operators.FieldChange{{Field: "rules", After: rulesText(compiled)}}}
	if before == nil {
		out.Status = http.StatusCreated
	} else {
		out.Changes[0].Before = rulesText(before)
	}
	if compiled.ExemptReason != "" {
		out.Changes = append(out.Changes, operators.FieldChange{Field: "exempt_reason", After: compiled.ExemptReason})
	}
	return out, nil
}

// rulesText returns the rules of a purpose as the audit log has them.
func rulesText(p *people.Purpose) string {
	parts := []string{"consent " + string(p.Consent)}
	if h := p.QuietHours; h != nil {
		parts = append(parts, "quiet "+h.From+" to "+h.To)
	}
	for i := range p.Caps {
		parts = append(parts, "cap "+p.Caps[i].Text())
	}
	if p.RepeatGuard != "" {
		parts = append(parts, "repeat guard "+p.RepeatGuard)
	}
	if n := len(p.Holidays); n > 0 {
		parts = append(parts, strconv.Itoa(n)+" holidays")
	}
	if p.Help != "" {
		parts = append(parts, "help "+strconv.Quote(p.Help))
	}
	if p.Confirmation != "" {
		parts = append(parts, "confirmation "+strconv.Quote(p.Confirmation))
	}
	if len(p.ExemptFrom) > 0 {
		parts = append(parts, fmt.Sprint("exempt from ", p.ExemptFrom))
	}
	return strings.Join(parts, "; ")
}

func (r *purposeRoutes) remove(c *route.Call) (route.Reply, error) {
	name, _, err := r.named(c)
	if err != nil {
		return route.Reply{}, err
	}
	users, err := r.users(c, name)
	if err != nil {
		return route.Reply{}, err
	}
	if len(users) > 0 {
		return route.Reply{}, weir.Errorf(weir.CodeConflict, "purpose %s is in use by the surveys %s", name, strings.Join(users, ", "))
	}
	if err := r.purposes.DeletePurpose(c, name); err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusNoContent}, nil
}

// maxUsers bounds the surveys that an error names.
const maxUsers = 5

// users lists surveys that are not done and have the purpose.
func (r *purposeRoutes) users(c *route.Call, purpose string) (names []string, err error) {
	if r.surveys == nil {
		return nil, nil
	}
	states := slices.DeleteFunc(slices.Clone(surveys.States()), func(s surveys.State) bool { return s == surveys.Done })
	for after := ""; len(names) < maxUsers; {
		page, err := r.surveys.Surveys(c, states, after, 100)
		if err != nil || len(page) == 0 {
			return names, err
		}
		for i := range page {
			if after = page[i].Name; page[i].Definition.Purpose == purpose && len(names) < maxUsers {
				names = append(names, after)
			}
		}
	}
	return names, nil
}
