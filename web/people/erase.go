package people

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/surveys"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// SurveyBroker ends respondents.
type SurveyBroker interface {
	StopRespondent(ctx context.Context, s surveys.Survey, id surveys.RespondentID) (surveys.Respondent, error)
	Changed(survey int64)
}

// RespondentRemover removes respondents whose contacts have ended.
type RespondentRemover interface {
	RemoveRespondent(ctx context.Context, survey int64, id surveys.RespondentID) error
}

// Remainder is something that an erasure leaves.
type Remainder string

// The remainders.
const (
	RemainsState       Remainder = "state"
	RemainsContacts    Remainder = "contacts"
	RemainsRespondents Remainder = "respondents"
	RemainsEvents      Remainder = "events"
	RemainsAudit       Remainder = "audit"
	RemainsBackups     Remainder = "backups"
)

func (r Remainder) why() string {
	switch r {
	case RemainsState:
		return "whether the person may be contacted, by a keyed hash of the address: so a list cannot bring the person back, and the address cannot be read from it without the key"
	case RemainsContacts:
		return "contacts that are being canceled, or are still to be found: they can be deleted when they have ended"
	case RemainsRespondents:
		return "respondents whose contact is in flight: they can be removed when it has ended"
	case RemainsEvents:
		return "events of the past, with the address and messages, until WEIR_EVENT_RETENTION is over; what webhooks and applications received is theirs to erase"
	case RemainsAudit:
		return "the audit log, with the address masked, as the proof of this erasure"
	default:
		return "backups of the database, as long as you keep them"
	}
}

func (r *personRoutes) eraseRoute() *route.Route {
	return &route.Route{
		Method: "POST", Path: "/v1/people:erase", ID: "erase-person", Tag: "people", Summary: "Erase a person",
		Description: "Whatever waits for the person is canceled. The address, and what was said, is removed from the history of consents; the person from surveys; contacts and messages are deleted. " +
			"The answer is a receipt of what went and what remains. Whether the person may be contacted stays as it is. Repeating the request is safe, and continues where an error or the end of the process has interrupted it.",
		Body: route.TypeOf[api.EraseBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.erase, Repeatable: true,
		Also:    []operators.Scope{operators.ScopeContactsWrite, operators.ScopeSurveysAdmin, operators.ScopePIIRead}, // the receipt says whether a number is known
		Answers: []route.Answer{{Status: http.StatusOK, Description: "the receipt", Body: route.TypeOf[api.ErasureView]()}},
	}
}

// erase erases a person. The parts are erased one after the other, and each finds what an earlier
// request has left.
func (r *personRoutes) erase(c *route.Call) (route.Reply, error) {
	to := strings.TrimSpace(text(c.Body, "to"))
	if to == "" {
		c.Errors.Add("/to", "required", "must be an address")
	} else if err := people.CheckAddress(to); err != nil {
		c.Errors.Add("/to", "format", "%v", err)
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	canonical := people.Canonical(to)
	removed, open, err := r.removeRespondents(c, canonical)
	if err != nil {
		return route.Reply{}, err
	}
	gone, err := r.finder.Erase(c, r.finder.Spellings(to))
	if err != nil {
		return route.Reply{}, err
	}
	consents, err := r.consents.Erase(c, canonical)
	if err != nil {
		return route.Reply{}, err
	}
	states, _, err := r.consents.Consents(c, canonical, 1)
	if err != nil {
		return route.Reply{}, err
	}
	out := api.ErasureView{Complete: open+gone.Open == 0 && !gone.More, Consents: consents, Respondents: removed, Contacts: gone.Contacts, Messages: gone.Messages}
	for _, rest := range []struct {
		what  Remainder
		n     int
		stays bool
	}{
		{RemainsState, 0, len(states) > 0}, {RemainsContacts, gone.Open, gone.Open > 0 || gone.More}, {RemainsRespondents, open, open > 0},
		{RemainsEvents, 0, true}, {RemainsAudit, 0, true}, {RemainsBackups, 0, true},
	} {
		if rest.stays {
			out.Remains = append(out.Remains, api.RemainderView{What: string(rest.what), Count: rest.n, Why: rest.what.why()})
		}
	}
	return route.Reply{Status: http.StatusOK, Body: out, Changes: []operators.FieldChange{
		{Field: "to", After: auth.MaskNumber(to)}, {Field: "consents", After: strconv.Itoa(consents)}, {Field: "respondents", After: strconv.Itoa(removed)},
		{Field: "contacts", After: strconv.Itoa(gone.Contacts)}, {Field: "messages", After: strconv.Itoa(gone.Messages)},
	}}, nil
}

// removeRespondents removes the person from all surveys. Those whose contact is in flight are
// ended, and stay until it has ended.
func (r *personRoutes) removeRespondents(c *route.Call, canonical string) (removed, open int, _ error) {
	if r.respondents == nil {
		return 0, 0, nil
	}
	for _, number := range people.Numbers(canonical) {
		list, err := r.respondents.ByPhone(c, number, maxRespondents)
		if err != nil {
			return removed, open, err
		}
		for i := range list {
			done, err := r.removeRespondent(c, &list[i])
			if err != nil {
				return removed, open, err
			}
			if done {
				removed++
			} else {
				open++
			}
		}
	}
	return removed, open, nil
}

// removeRespondent removes a respondent, and reports whether it could.
func (r *personRoutes) removeRespondent(c *route.Call, is *surveys.Respondent) (bool, error) {
	s, err := r.respondents.SurveyByID(c, is.Survey)
	if err == nil && !is.Status.Final() && s.State != surveys.Draft {
		_, err = r.broker.StopRespondent(c, s, is.ID)
	}
	if err == nil {
		err = r.remover.RemoveRespondent(c, is.Survey, is.ID)
	}
	switch {
	case err == nil:
		r.broker.Changed(is.Survey)
		return true, nil
	case weir.CodeOf(err) == weir.CodeConflict:
		return false, nil
	case weir.CodeOf(err) == weir.CodeNotFound: // another request has removed it, or its survey
		return true, nil
	default:
		return false, err
	}
}
