package people

import (
	"net/http"
	"net/url"
	"slices"

	"weir/api"
	"weir/operators"
	"weir/people"
	"weir/web/dashboard/page"
)

const undecidedPath = Path + "/undecided"

// undecidedData is the data of the page of messages that may be opt-outs.
type undecidedData struct {
	Messages []api.UndecidedView
	Waiting  int
	Clipped  bool // more wait than are counted
	Unread   bool // the token may not read what was said
	Pager    page.Pager
}

// undecidedPage is the length of a page.
const undecidedPage = 50

// maxCountedUndecided is up to how many messages the API counts.
const maxCountedUndecided = 1000

// CountUndecided returns how many messages wait for a decision; 0 if the token may not know.
func CountUndecided(c *page.Caller) (int, error) {
	if !c.May(operators.ScopePeopleAdmin) {
		return 0, nil
	}
	var list api.UndecidedList
	err := c.Get("/v1/consents:undecided", url.Values{"limit": {"1"}}, &list)
	if status, _ := page.StatusOf(err); err != nil && status == http.StatusNotFound {
		return 0, nil // the API has no routes of people
	}
	return list.Waiting, err
}

func loadUndecided(v *page.Visit) (*page.Content, error) {
	var list api.UndecidedList
	if err := v.Get("/v1/consents:undecided", v.ListQuery(undecidedPage), &list); err != nil {
		return nil, err
	}
	d := &undecidedData{Messages: list.Messages, Waiting: list.Waiting, Clipped: list.Waiting >= maxCountedUndecided, Unread: !v.May(operators.ScopePIIRead), Pager: v.More(list.NextCursor)}
	return &page.Content{Title: v.T("May be an opt-out"), Crumbs: []page.Crumb{{Text: v.T("People"), Link: Path}, {Text: v.T("May be an opt-out")}}, Data: d}, nil
}

// decideUndecided decides about one message, and returns to the list.
func decideUndecided(v *page.Visit) (*page.Content, error) {
	id, decision := v.Request.PostForm.Get("id"), v.Request.PostForm.Get("decision")
	var out api.DecisionView
	err := v.Call(http.MethodPost, "/v1/consents:decide", map[string]any{"id": id, "decision": decision}, &out)
	status, p := page.StatusOf(err)
	if err != nil && !slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, status) {
		return nil, err
	}
	c := &page.Content{Title: v.T("May be an opt-out"), To: undecidedPath}
	switch {
	case err != nil:
		c.Flash = &page.Flash{Bad: true, Text: v.T("Nothing was decided: %s.", p.Detail)}
	case out.State == nil:
		c.Flash = &page.Flash{Text: v.T("The message is dismissed. Nothing is recorded.")}
	case out.State.Status == string(people.Refused):
		c.Flash = &page.Flash{Text: v.T("The refusal is recorded with the message as its words. From now on contacts to this person end as suppressed. Only the person can take it back.")}
	default:
		c.Flash = &page.Flash{Bad: true, Text: v.T("The refusal is kept in the history and changes nothing: the person took it back after this message.")}
	}
	return c, nil
}
