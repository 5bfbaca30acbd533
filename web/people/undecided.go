package people

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/operators"
	"weir/people"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// UndecidedView is a message that may be a refusal.
type UndecidedView struct {
	ID      string    `json:"id" doc:"names it in a decision; grows with time"`
	To      string    `json:"to,omitempty" doc:"phone number or another address of the person; without pii:read masked"`
	Channel string    `json:"channel" doc:"name of the channel over which it came"`
	At      time.Time `json:"at" doc:"when it was received"`
	Words   string    `json:"words,omitempty" doc:"the message, up to 500 characters; absent without pii:read"`
	Found   string    `json:"found" doc:"the word or phrase by which it may be a refusal" example:"stop"`
}

// UndecidedList is a page of messages that wait for a decision.
type UndecidedList struct {
	Messages   []UndecidedView `json:"messages" nullable:"false" doc:"the oldest first"`
	Waiting    int             `json:"waiting" doc:"how many wait on all pages; 1000: there may be more"`
	NextCursor string          `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// DecisionBody decides about a message.
type DecisionBody struct {
	ID       string `json:"id" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a message in the list" doc:"of the message"`
	Decision string `json:"decision" enum:"refused,dismissed" doc:"refused: the person does not want to be contacted; dismissed: the message is about something else"`
}

// DecisionView is a decision about a message.
type DecisionView struct {
	ID       string     `json:"id" doc:"of the message"`
	Decision string     `json:"decision" enum:"refused,dismissed" doc:"what was decided"`
	State    *StateView `json:"state,omitempty" doc:"after refused: what counts of the address for all purposes; given, if the person has taken back later what the message says"`
}

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
			Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[UndecidedList]()}},
		},
		{
			Method: "POST", Path: "/v1/consents:decide", ID: "decide-undecided", Tag: "people", Summary: "Decide whether a message is a refusal",
			Description: "refused records a refusal for all purposes with the message as its words, as of the instant of the message, and decides about the other waiting messages of the person, too. " +
				"It is the person's own: only the person takes it back. To decide again in the same way changes nothing; in another way is a conflict.",
			Body: route.TypeOf[DecisionBody](), BodyTypes: []string{httpjson.JSONType}, BodyLimit: httpjson.MaxBody, Handle: r.decide, Repeatable: true,
			Answers: []route.Answer{{Status: http.StatusOK, Description: "decided", Body: route.TypeOf[DecisionView]()}},
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
	out := UndecidedList{Messages: make([]UndecidedView, len(list))}
	if out.Waiting, err = r.messages.CountUndecided(c, maxWaiting); err != nil {
		return route.Reply{}, err
	}
	for i := range list {
		m := &list[i]
		view := UndecidedView{ID: strconv.FormatInt(m.ID, 10), To: plainAddress(m.Address), Channel: m.Channel, At: m.At, Words: m.Text, Found: m.Found}
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
	out := DecisionView{ID: strconv.FormatInt(id, 10), Decision: string(decision)}
	if decision == people.DecidedRefused {
		out.State = &stateViews([]people.State{state})[0]
	}
	return route.Reply{Status: http.StatusOK, Body: out, Changes: []operators.FieldChange{
		{Field: "to", After: auth.MaskNumber(plainAddress(m.Address))}, {Field: "decision", After: out.Decision},
	}}, nil
}
