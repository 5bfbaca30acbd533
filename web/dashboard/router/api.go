package router

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/client/routerclient"
	"weir/router"
	"weir/router/label"
	"weir/router/resource"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

// clientOf returns a client of the job router with the rights of the session. Errors that
// explain why the router cannot answer are worded for readers of a page.
func clientOf(c *page.Caller) *routerclient.Client {
	return routerclient.Over(func(ctx context.Context, method, target string, body, into any) error {
		return send(ctx, c, method, target, body, into)
	})
}

func send(ctx context.Context, c *page.Caller, method, target string, body, into any) error {
	req, err := c.NewRequest(ctx, method, target, body)
	if err != nil {
		return err
	}
	_, err = c.Send(req, into)
	switch status, p := page.StatusOf(err); {
	case err == nil:
		return nil
	case status == http.StatusServiceUnavailable:
		return &page.Problem{Status: status, Wait: p.Wait, Detail: c.T("The router is unavailable: %s.", p.Detail)}
	case status == http.StatusUnauthorized && c.Who.Open:
		return &page.Problem{Status: http.StatusForbidden, Detail: c.T("The router requires a token. " +
			"Create one and log in with it: weir token create --name ann --scope router --scope pii:read")}
	}
	return err
}

// moreOf returns the pager of a list of the router, from the link to its next page.
func moreOf(v *page.Visit, nextLink string) page.Pager {
	query, _ := routerclient.After(nextLink) // without a readable link this is the last page
	return v.More(query.Get("skipToken"))
}

// listQuery returns the query for the page of a list that the browser asks for.
func listQuery(v *page.Visit) url.Values {
	query := url.Values{"maxpagesize": {strconv.Itoa(page.RowsPerPage)}}
	if cursor := v.Request.URL.Query().Get("cursor"); cursor != "" {
		query.Set("skipToken", cursor)
	}
	return query
}

// listPage reads a page of a list of the router.
func listPage[T any](v *page.Visit, kind string, query url.Values) ([]T, page.Pager, error) {
	entries, err := routerclient.List[T](v.Request.Context(), clientOf(v.Caller), kind, query)
	return entries.Value, moreOf(v, entries.NextLink), err
}

// firstEntries reads the beginning of a list.
func firstEntries[T any](v *page.Visit, kind string, query url.Values) ([]T, error) {
	query.Set("maxpagesize", strconv.Itoa(page.MaxListed))
	entries, err := routerclient.List[T](v.Request.Context(), clientOf(v.Caller), kind, query)
	return entries.Value, err
}

// routerJob adds to a job what its tables show.
type routerJob struct{ router.Job }

// jobStatuses returns the statuses by which jobs can be filtered, as displayed.
func jobStatuses(l *locale.Locale) []page.Option {
	return []page.Option{
		{Value: "active", Text: l.T("not finished")}, {Value: "queued", Text: l.T("queued")}, {Value: "assigned", Text: l.T("assigned")}, {Value: "completed", Text: l.T("completed")}, {Value: "closed", Text: l.T("closed")}, {Value: "cancelled", Text: l.T("cancelled")},
		{Value: "created", Text: l.T("created")}, {Value: "pendingClassification", Text: l.T("pending classification")}, {Value: "classificationFailed", Text: l.T("classification failed")},
		{Value: "pendingSchedule", Text: l.T("pending schedule")}, {Value: "scheduled", Text: l.T("scheduled")}, {Value: "scheduleFailed", Text: l.T("schedule failed")}, {Value: "waitingForActivation", Text: l.T("waiting for activation")},
	}
}

// StatusText returns the job's status in words.
func (j routerJob) StatusText(l *locale.Locale) string {
	for _, o := range jobStatuses(l) {
		if o.Value == string(j.Status) {
			return o.Text
		}
	}
	return string(j.Status)
}

// Done reports whether the status is final.
func (j routerJob) Done() bool {
	return slices.Contains([]resource.JobStatus{resource.JobClosed, resource.JobCancelled, resource.JobScheduleFailed}, j.Status)
}

// CurrentAssignment returns the assignment that is not closed; nil: none.
func (j routerJob) CurrentAssignment() *router.Assignment {
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() && j.Status != resource.JobCancelled {
			return &a
		}
	}
	return nil
}

// labelLine lists labels on one line: labels that are true by name only, and
// without Id, which the router itself adds.
func labelLine(l label.Set) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		switch value := l[name]; {
		case name == "Id":
		case value == label.Bool(true):
			parts = append(parts, name)
		default:
			parts = append(parts, name+" "+labelText(value))
		}
	}
	return strings.Join(parts, ", ")
}

func labelText(v label.Value) string {
	if f, ok := v.Number(); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return v.String()
}

// selectorText returns a selector's condition.
func selectorText(s resource.WorkerSelector) string {
	signs := map[label.Operator]string{
		label.Equal: "=", label.NotEqual: "≠", label.LessThan: "<", label.LessOrEqual: "≤", label.GreaterThan: ">", label.GreaterOrEqual: "≥",
	}
	value := ""
	if !s.Value.IsZero() {
		value = " " + labelText(s.Value)
	}
	return s.Key + " " + cmp.Or(signs[s.Operator], string(s.Operator)) + value
}
