package dashboard

import (
	"net/http"
	"net/url"
	"slices"

	"weir/api"
	"weir/operators"
	"weir/people"
)

const undecidedPath = peoplePath + "/undecided"

// undecidedData is the data of the page of messages that may be opt-outs.
type undecidedData struct {
	Messages []api.UndecidedView
	Waiting  int
	Clipped  bool // more wait than are counted
	Unread   bool // the token may not read what was said
	Pager    pager
}

// undecidedPage is the length of a page.
const undecidedPage = 50

// maxCountedUndecided is up to how many messages the API counts.
const maxCountedUndecided = 1000

// countUndecided returns how many messages wait for a decision; 0 if the token may not know.
func countUndecided(c *caller) (int, error) {
	if !c.May(operators.ScopePeopleAdmin) {
		return 0, nil
	}
	var page api.UndecidedList
	err := c.get("/v1/consents:undecided", url.Values{"limit": {"1"}}, &page)
	if status, _ := statusOf(err); err != nil && status == http.StatusNotFound {
		return 0, nil // the API has no routes of people
	}
	return page.Waiting, err
}

func loadUndecided(v *visit) (*content, error) {
	var page api.UndecidedList
	if err := v.get("/v1/consents:undecided", v.listQuery(undecidedPage), &page); err != nil {
		return nil, err
	}
	d := &undecidedData{Messages: page.Messages, Waiting: page.Waiting, Clipped: page.Waiting >= maxCountedUndecided, Unread: !v.May(operators.ScopePIIRead), Pager: v.more(page.NextCursor)}
	return &content{title: v.T("May be an opt-out"), crumbs: []crumb{{Text: v.T("People"), Link: peoplePath}, {Text: v.T("May be an opt-out")}}, data: d}, nil
}

// decideUndecided decides about one message, and returns to the list.
func decideUndecided(v *visit) (*content, error) {
	id, decision := v.r.PostForm.Get("id"), v.r.PostForm.Get("decision")
	var out api.DecisionView
	err := v.call(http.MethodPost, "/v1/consents:decide", map[string]any{"id": id, "decision": decision}, &out)
	status, p := statusOf(err)
	if err != nil && !slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}, status) {
		return nil, err
	}
	c := &content{title: v.T("May be an opt-out"), to: undecidedPath}
	switch {
	case err != nil:
		c.flash = &flash{Bad: true, Text: v.T("Nothing was decided: %s.", p.Detail)}
	case out.State == nil:
		c.flash = &flash{Text: v.T("The message is dismissed. Nothing is recorded.")}
	case out.State.Status == string(people.Refused):
		c.flash = &flash{Text: v.T("The refusal is recorded with the message as its words. From now on contacts to this person end as suppressed. Only the person can take it back.")}
	default:
		c.flash = &flash{Bad: true, Text: v.T("The refusal is kept in the history and changes nothing: the person took it back after this message.")}
	}
	return c, nil
}
