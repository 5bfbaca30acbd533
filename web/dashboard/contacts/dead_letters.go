package contacts

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"time"

	"weir/api"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const deadLettersPath = "/dead-letters"

// deadFilter is a filter of dead letters, with the same names in page addresses and
// in the API.
type deadFilter struct{ query url.Values }

func deadFilterOf(asked url.Values) (deadFilter, error) {
	out := url.Values{}
	for name, values := range asked {
		switch name {
		case "contact":
			out[name] = values
		case "channel", "outcome", "reason": // an empty reason selects dead letters without one
			out[name] = values[:1]
		case "from", "until":
			if values[0] != "" {
				out[name] = values[:1]
			}
		}
	}
	_, err := page.ReadInterval(out)
	return deadFilter{out}, err
}

// group narrows the filter to one group.
func (w deadFilter) group(g api.DeadGroupView) deadFilter {
	out := url.Values{"channel": {g.Channel}, "outcome": {g.Outcome}, "reason": {g.Reason}}
	for _, name := range []string{"from", "until"} {
		if w.query.Has(name) {
			out[name] = w.query[name]
		}
	}
	return deadFilter{out}
}

// OfContacts reports whether contacts were selected by their ids.
func (w deadFilter) OfContacts() bool { return w.query.Has("contact") }

// WithoutInterval returns the filter without its interval.
func (w deadFilter) WithoutInterval() url.Values {
	out := maps.Clone(w.query)
	out.Del("from")
	out.Del("until")
	return out
}

// Interval returns the filter's interval, which bounds when contacts became dead
// letters.
func (w deadFilter) Interval() page.Interval {
	span, _ := page.ReadInterval(w.query) // validated when it was read
	return span
}

// Link returns the path of a step for the filtered dead letters.
func (w deadFilter) Link(v *page.View, step string) string {
	return v.Link(deadLettersPath, step) + "?" + w.query.Encode()
}

// Back returns the page that lists the filtered dead letters.
func (w deadFilter) Back() string { return page.WithQuery(deadLettersPath+"/list", w.query) }

// page returns the page that has the actions on the filtered dead letters.
func (w deadFilter) page() string {
	switch ids := w.query["contact"]; {
	case w.query.Has("back"): // they were selected in a list
		return w.query.Get("back")
	case len(ids) == 1:
		return Link(ids[0])
	}
	return deadLettersPath
}

// body returns the request body for the API. until is the time at which they were
// counted, which excludes later ones; empty: no such limit.
func (w deadFilter) body(until string) map[string]any {
	out := map[string]any{}
	if w.query.Has("contact") {
		return map[string]any{"contacts": w.query["contact"]}
	}
	for name, values := range w.apiQuery() {
		out[name] = values[0]
	}
	if len(out) == 0 {
		out["all"] = true
	}
	// The earlier end holds: that of the filter, or the instant of the count that was confirmed.
	if end := w.Interval().End; until != "" {
		if counted, err := time.Parse(time.RFC3339, until); err != nil || end.IsZero() || counted.Before(end) {
			out["until"] = until
		}
	}
	return out
}

// apiQuery returns the filter under the API's names.
func (w deadFilter) apiQuery() url.Values {
	out := url.Values{}
	for _, name := range []string{"channel", "outcome", "reason"} {
		if w.query.Has(name) {
			out[name] = w.query[name]
		}
	}
	w.Interval().Put(out, "since", "until")
	return out
}

// facts describes the filter in words.
func (w deadFilter) facts(l *locale.Locale) []page.Fact {
	switch ids := w.query["contact"]; {
	case len(ids) == 1:
		return []page.Fact{{Name: l.T("Contact"), Value: ids[0]}}
	case len(ids) > 1:
		return []page.Fact{{Name: l.T("Selected contacts"), Value: l.Number(len(ids))}}
	}
	list := []page.Fact{}
	for _, part := range []struct {
		name string
		text locale.Message
	}{{"channel", "channel"}, {"outcome", "outcome"}, {"reason", "reason"}, {"from", "from"}, {"until", "until"}} {
		value := w.query.Get(part.name)
		switch part.name {
		case "outcome":
			value = l.Word(value)
		case "reason":
			value = l.Reason(value)
		}
		if w.query.Has(part.name) {
			list = append(list, page.Fact{Name: l.T(part.text), Value: cmp.Or(value, l.T("no reason"))})
		}
	}
	if len(list) == 0 {
		return []page.Fact{{Name: l.T("Filter"), Value: l.T("all dead letters")}}
	}
	return list
}

// deadGroup is a group with its filter.
type deadGroup struct {
	api.DeadGroupView
	Filter deadFilter
}

// deadData is the data of the page of all dead letters.
type deadData struct {
	Groups []deadGroup
	Total  int64
	All    deadFilter
}

func loadDeadGroups(v *page.Visit) (*page.Content, error) {
	which, err := deadFilterOf(v.Request.URL.Query())
	if err != nil {
		return nil, err
	}
	var groups api.DeadGroups
	if err := v.Get("/v1/dead-letters/groups", which.apiQuery(), &groups); err != nil {
		return nil, err
	}
	d := &deadData{All: which}
	for _, g := range groups.Groups {
		d.Groups = append(d.Groups, deadGroup{g, which.group(g)})
		d.Total += g.Count
	}
	return &page.Content{Title: v.T("Dead letters"), Crumbs: []page.Crumb{{Text: v.T("Dead letters")}}, Data: d}, nil
}

// deadListData is the data of a list of dead letters.
type deadListData struct {
	Filter deadFilter
	Facts  []page.Fact
	List   []deadEntry
	Pager  page.Pager
}

type deadEntry struct {
	api.DeadView
	Filter deadFilter
}

func loadDeadList(v *page.Visit) (*page.Content, error) {
	which, err := deadFilterOf(v.Request.URL.Query())
	if err != nil {
		return nil, err
	}
	query := v.ListQuery(page.RowsPerPage)
	maps.Copy(query, which.apiQuery())
	var list api.DeadList
	if err := v.Get("/v1/dead-letters", query, &list); err != nil {
		return nil, err
	}
	d := &deadListData{Filter: which, Facts: which.facts(v.Locale), Pager: v.More(list.NextCursor)}
	for _, dead := range list.DeadLetters {
		d.List = append(d.List, deadEntry{dead, deadFilter{url.Values{"contact": {dead.Contact.ID}}}})
	}
	return &page.Content{Title: v.T("Filtered dead letters"), Crumbs: []page.Crumb{{Text: v.T("Dead letters"), Link: deadLettersPath}, {Text: v.T("List")}}, Data: d}, nil
}

// deadFilterForAction reads the filter of an action. One on a selection, which has a page to
// return to, is refused if nothing is selected: it must not become one on all.
func deadFilterForAction(v *page.Visit) (deadFilter, error) {
	asked := v.Request.URL.Query()
	if asked.Has("back") && !asked.Has("contact") {
		return deadFilter{}, errNoneSelected()
	}
	which, err := deadFilterOf(asked)
	if asked.Has("back") {
		which.query.Set("back", page.LocalPath(asked.Get("back")))
	}
	return which, err
}

// deadLetterQuestion counts the dead letters before it asks for confirmation.
func deadLetterQuestion(v *page.Visit, step string, about page.Asking) (*page.Question, api.DeadDone, error) {
	which, err := deadFilterForAction(v)
	if err != nil {
		return nil, api.DeadDone{}, err
	}
	until := countInstant(v)
	body := which.body(until.Value)
	body["dry_run"] = true
	var count api.DeadDone
	if err := v.Call(http.MethodPost, "/v1/dead-letters:"+step, body, &count); err != nil {
		return nil, count, err
	}
	q := about.Question(v.Locale)
	q.Back, q.Facts = which.page(), append([]page.Fact{{Name: v.T("Count"), Value: v.Number(count.Matching)}}, which.facts(v.Locale)...)
	q.Crumbs, q.Fields = []page.Crumb{{Text: v.T("Dead letters"), Link: deadLettersPath}, {Text: q.Button}}, []page.Field{until}
	return q, count, nil
}

func askRequeue(v *page.Visit) (*page.Question, error) {
	q, count, err := deadLetterQuestion(v, "requeue", page.Asking{Title: "Requeue dead letters", Button: "Requeue"})
	if err != nil {
		return nil, err
	}
	q.Text = v.T("%d people are contacted again: each dead letter becomes a new contact with the same content, at the end of the queue. "+
		"Check the reasons first: a lost contact may have reached the person.", count.Matching)
	return q, nil
}

func askDiscard(v *page.Visit) (*page.Question, error) {
	q, _, err := deadLetterQuestion(v, "discard", page.Asking{
		Title: "Discard dead letters", Button: "Discard", Danger: true,
		Text: "Discarded dead letters are no longer listed and cannot be requeued. Their contacts stay readable until their retention ends.",
	})
	return q, err
}

func bulkDeadLetters(step string, did locale.Message) func(*page.Visit) (*page.Done, error) {
	return func(v *page.Visit) (*page.Done, error) {
		which, err := deadFilterForAction(v)
		if err != nil {
			return nil, err
		}
		var out api.DeadDone
		if err := v.Call(http.MethodPost, "/v1/dead-letters:"+step, which.body(v.Request.PostForm.Get("until")), &out); err != nil {
			return nil, err
		}
		text := v.T(did, out.Done)
		if out.WindowClosed > 0 {
			text += " " + v.T("%s not requeued: their window has closed.", v.Number(out.WindowClosed))
		}
		if out.ChannelGone > 0 {
			text += " " + v.T("%s not requeued: their channel was deleted.", v.Number(out.ChannelGone))
		}
		if rest := out.Remaining - out.WindowClosed - out.ChannelGone; rest > 0 {
			text += " " + v.T("%s remain: repeat the action.", v.Number(rest))
		}
		return &page.Done{Text: text, To: which.page()}, nil
	}
}
