package people

import (
	"net/http"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// maxWaiting bounds how many messages are counted.
const maxWaiting = 1000

// undecidedRoutes serves messages that may be refusals.
type undecidedRoutes struct{ messages people.Messages }

func (r *undecidedRoutes) table() []*route.Route {
	return []*route.Route{
		{
			Method: "GET", Path: "/v1/consents:undecided", ID: "list-undecided", Tag: "people", Summary: "List messages that may be refusals",
			Description: "Messages that contain a stop word or a usual phrase and other words besides. A person decides about each: until then nothing is recorded, and the sender may be contacted. " +
				"They are deleted after the retention of contacts. Without pii:read addresses are masked, and the message is left out.",
			Query: route.Paging(100, 1000), Handle: r.list,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.UndecidedList]()}},
		},
		{
			Method: "POST", Path: "/v1/consents:decide", ID: "decide-undecided", Tag: "people", Summary: "Decide whether a message is a refusal",
			Description: "refused records a refusal for all purposes with the message as its words, as of the instant of the message, and decides about the other waiting messages of the person, too. " +
				"It is the person's own: only the person takes it back. To decide again in the same way changes nothing; in another way is a conflict.",
			Body: route.TypeOf[api.DecisionBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.decide, Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "decided", Body: route.TypeOf[api.DecisionView]()}},
			Codes:   []weir.Code{weir.CodeNotFound, weir.CodeConflict},
		},
	}
}

func (r *undecidedRoutes) list(c *route.Call) (route.Reply, error) {
	after := cursorOf(c)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	limit := c.Query.Int("limit")
	list, err := r.messages.Undecided(c, after, limit)
	if err != nil {
		return route.Reply{}, err
	}
	out := api.UndecidedList{Messages: make([]api.UndecidedView, len(list))}
	if out.Waiting, err = r.messages.CountUndecided(c, maxWaiting); err != nil {
		return route.Reply{}, err
	}
	for i := range list {
		m := &list[i]
		view := api.UndecidedView{ID: strconv.FormatInt(m.ID, 10), To: plainAddress(m.Address), Channel: m.Channel, At: m.At, Words: m.Text, Found: m.Found}
		if !c.PII() {
			view.To, view.Words = auth.MaskNumber(view.To), ""
		}
		out.Messages[i] = view
	}
	if len(list) == limit {
		out.NextCursor = strconv.FormatInt(list[limit-1].ID, 10)
	}
	return route.Reply{Status: http.StatusOK, Body: out}, nil
}

// plainAddress returns a canonical address as contacts have it.
func plainAddress(address string) string {
	return strings.TrimPrefix(strings.TrimPrefix(address, "tel:"), "other:")
}

func (r *undecidedRoutes) decide(c *route.Call) (route.Reply, error) {
	id, err := strconv.ParseInt(text(c.Body, "id"), 10, 64)
	if err != nil && len(c.Errors) == 0 {
		c.Errors.Add("/id", "format", "must be the id of a message in the list")
	}
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	decision := people.Decision(text(c.Body, "decision"))
	m, state, err := r.messages.Decide(c, id, decision, c.Principal.ID())
	if err != nil {
		return route.Reply{}, err
	}
	out := api.DecisionView{ID: strconv.FormatInt(id, 10), Decision: string(decision)}
	if decision == people.DecidedRefused {
		out.State = &stateViews([]people.State{state})[0]
	}
	return route.Reply{Status: http.StatusOK, Body: out, Changes: []operators.FieldChange{
		{Field: "to", After: auth.MaskNumber(plainAddress(m.Address))}, {Field: "decision", After: out.Decision},
	}}, nil
}
