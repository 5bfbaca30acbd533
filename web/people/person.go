package people

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/surveys"
	webapi "weir/web/api"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// RespondentFinder finds respondents over all surveys.
type RespondentFinder interface {
	ByPhone(ctx context.Context, phone string, limit int) ([]surveys.Respondent, error)
	RespondentsByID(ctx context.Context, ids []surveys.RespondentID) ([]surveys.Respondent, error)
	SurveyByID(ctx context.Context, id int64) (surveys.Survey, error)
	Recent(ctx context.Context, f surveys.LogFilter) (_ []surveys.LogEntry, next int64, err error)
}

// maxRespondents bounds the surveys in which a person is found.
const maxRespondents = 500

const (
	maxReasons = 20          // surveys for which the log is read
	reasonSpan = time.Minute // around the end of a respondent
)

// personRoutes serves everything about a person.
type personRoutes struct {
	consents    people.Consents
	history     people.History
	purposes    people.Purposes
	finder      *webapi.Finder
	respondents RespondentFinder // nil: there are none
	broker      SurveyBroker
	remover     RespondentRemover
	now         func() time.Time
	zones       *people.Zones
}

func (r *personRoutes) table() []*route.Route {
	return []*route.Route{{
		Method: "POST", Path: "/v1/people:find", ID: "find-person", Tag: "people", Summary: "Find everything about a person",
		Description: "What a person has said about being contacted, whether the rules allow a contact now, the contacts to the person and the messages from the person over all channels, and the surveys. " +
			"The person is named by an address, by a contact or by a respondent, in the body, so that no address, log or history keeps it. The search is in the audit log, with the address masked.",
		Body: route.TypeOf[api.FindBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.find, Repeatable: true,
		Also:    []operators.Scope{operators.ScopePIIRead},
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the person, and one page of contacts and messages", Body: route.TypeOf[api.PersonView]()}},
		Codes:   []weir.Code{weir.CodeNotFound},
	}, r.eraseRoute()}
}

// find shows everything about a person.
func (r *personRoutes) find(c *route.Call) (route.Reply, error) {
	to, err := r.addressed(c)
	if err != nil {
		return route.Reply{}, err
	}
	var before int64
	if cursor := text(c.Body, "cursor"); cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil || before < 1 {
			c.Errors.Add("/cursor", "format", "must be the next_cursor of a page before")
		}
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	limit := 100
	if n, ok := c.Body["limit"].(float64); ok {
		limit = int(n)
	}
	out := api.PersonView{To: to}
	canonical := people.Canonical(to)
	states, list, err := r.consents.Consents(c, canonical, limit+1)
	if err != nil {
		return route.Reply{}, err
	}
	if out.MoreConsents = len(list) > limit; out.MoreConsents {
		list = list[:limit]
	}
	states = reached(c, states)
	out.PersonConsents = personConsents(c, states, list)
	if out.Verdicts, err = r.verdicts(c, canonical, states); err != nil {
		return route.Reply{}, err
	}
	if out.Respondents, out.MoreRespondents, err = r.surveys(c, canonical); err != nil {
		return route.Reply{}, err
	}
	if out.Conversation, err = r.finder.Page(c, r.finder.Spellings(to), before, limit); err != nil {
		return route.Reply{}, err
	}
	return route.Reply{Status: http.StatusOK, Body: out, Changes: []operators.FieldChange{{Field: "to", After: auth.MaskNumber(to)}}}, nil
}

// addressed returns the address of the person that a request names in one of three ways.
func (r *personRoutes) addressed(c *route.Call) (string, error) {
	to, contact, respondent := strings.TrimSpace(text(c.Body, "to")), text(c.Body, "contact"), text(c.Body, "respondent")
	named := 0
	for _, s := range []string{text(c.Body, "to"), contact, respondent} {
		if s != "" {
			named++
		}
	}
	if named != 1 {
		c.Errors.Add("", "required", "must name the person by one of to, contact and respondent")
	} else if contact+respondent == "" && to == "" {
		c.Errors.Add("/to", "required", "must be an address")
	}
	if err := c.Invalid(); err != nil {
		return "", err
	}
	switch {
	case contact != "":
		ref, err := weir.ParseRef(contact)
		if err != nil {
			return "", weir.Errorf(weir.CodeNotFound, "there is no such contact")
		}
		return r.finder.AddressOf(c, ref)
	case respondent != "":
		id, err := surveys.ParseRespondentID(respondent)
		if err != nil || r.respondents == nil {
			return "", weir.Errorf(weir.CodeNotFound, "there is no such respondent")
		}
		list, err := r.respondents.RespondentsByID(c, []surveys.RespondentID{id})
		if err == nil && len(list) == 0 {
			err = weir.Errorf(weir.CodeNotFound, "there is no respondent %s", id)
		}
		if err != nil {
			return "", err
		}
		s, err := r.respondents.SurveyByID(c, list[0].Survey)
		if err != nil && weir.CodeOf(err) != weir.CodeNotFound {
			return "", err
		}
		if c.Limited() && (err != nil || !c.Reaches(operators.Survey(s.Name))) {
			return "", weir.Errorf(weir.CodeNotFound, "there is no respondent %s", id)
		}
		return list[0].Phone, nil
	}
	return to, nil
}

// verdicts returns what the rules of each purpose say about a person now.
func (r *personRoutes) verdicts(c *route.Call, canonical string, states []people.State) ([]api.VerdictView, error) {
	now := r.now()
	before, err := r.history.Contacted(c, canonical, now)
	if err != nil {
		return nil, err
	}
	known := r.purposes.Purposes()
	names := []string{people.DefaultPurpose}
	for name := range known {
		if name != people.DefaultPurpose {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	out := make([]api.VerdictView, len(names))
	for i, name := range names {
		p := known[name]
		if p == nil {
			p = people.NoRules()
		}
		o := people.Look(&people.Claim{Name: name, Purpose: p, States: states, Before: before, Zones: r.zones.Of("", canonical, p.Zone())}, now)
		out[i] = api.VerdictView{Purpose: name, Allowed: o.Allowed, Rule: string(o.Rule), Text: o.Text, Until: httpjson.Instant(o.Until), NotOver: o.NotOver}
	}
	return out, nil
}

// surveys returns the person as a respondent of surveys.
func (r *personRoutes) surveys(c *route.Call, canonical string) (views []api.PersonRespondentView, more bool, err error) {
	views = []api.PersonRespondentView{}
	if r.respondents == nil {
		return views, false, nil
	}
	var list []surveys.Respondent
	for _, number := range people.Numbers(canonical) {
		some, err := r.respondents.ByPhone(c, number, maxRespondents+1)
		if err != nil {
			return nil, false, err
		}
		list = append(list, some...)
	}
	slices.SortFunc(list, func(a, b surveys.Respondent) int { return cmp.Compare(b.ID, a.ID) })
	if more = len(list) > maxRespondents; more {
		list = list[:maxRespondents]
	}
	for i := range list {
		is := &list[i]
		s, err := r.respondents.SurveyByID(c, is.Survey)
		if weir.CodeOf(err) == weir.CodeNotFound || err == nil && s.Deleting {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if !c.Reaches(operators.Survey(s.Name)) {
			continue
		}
		v := api.PersonRespondentView{
			Survey: s.Name, ID: is.ID.String(), Status: string(is.Status), Disposition: string(is.Disposition), Attempts: is.Attempts.Total(),
			Answers: is.Totals.Received, AddedAt: is.Added.UTC(), FinishedAt: httpjson.Instant(is.Finished),
		}
		if is.Contact != (weir.Ref{}) {
			v.Contact = is.Contact.String()
		}
		if len(views) < maxReasons && is.Status.Final() {
			if v.Reason, err = r.reasonOf(c, is); err != nil {
				return nil, false, err
			}
		}
		views = append(views, v)
	}
	return views, more, nil
}

// reasonOf returns the latest reason in the log of the survey from around the end of a respondent.
func (r *personRoutes) reasonOf(c *route.Call, is *surveys.Respondent) (string, error) {
	log, _, err := r.respondents.Recent(c, surveys.LogFilter{
		Survey: is.Survey, Respondent: is.ID, Since: is.Finished.Add(-reasonSpan), Until: is.Finished.Add(reasonSpan), Limit: 10,
	})
	for _, e := range log {
		if e.Reason != "" {
			return e.Reason, err
		}
	}
	return "", err
}
