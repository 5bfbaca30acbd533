package api

import (
	"net/http"
	"strconv"
	"strings"

	"weir/api"
	"weir/operators"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// auditRoutes serves the audit log.
type auditRoutes struct{ trail *auth.Trail }

func (r auditRoutes) table() []*route.Route {
	return []*route.Route{{
		Method: "GET", Path: "/v1/audit", ID: "list-audit", Tag: "access",
		Summary: "List the audit log, newest first",
		Description: "Changes of channels, surveys and respondents and cancellations of contacts, including requests that were refused for lack of a scope. " +
			"Queued contacts and reported dispositions are not in it. Entries appear within seconds and stay for 90 days. " +
			"A change of a channel or survey has the value of each changed field before and after; of a secret only that it changed. " +
			"The actions log-in and log-out are of people who log in to the dashboard by name.",
		Query: append(auditFilters(), route.Paging(100, 1000)...), Handle: r.list,
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[api.AuditList]()}},
	}}
}

// auditFilters are the parameters that select entries.
func auditFilters() []httpjson.Parameter {
	return []httpjson.Parameter{
		{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): entries from then on"},
		{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): entries before"},
	}
}

func auditView(e *operators.AuditEntry, pii bool) api.AuditView {
	return api.AuditView{
		ID: strconv.FormatInt(e.ID, 10), At: e.At.UTC(), Token: e.Token, Action: e.Action, Subject: e.Subject, Status: e.Status, Request: e.Request,
		Changes: changeViews(e.Changes, pii),
	}
}

func (r auditRoutes) list(c *route.Call) (route.Reply, error) {
	most := c.Query.Int("limit")
	f := operators.AuditFilter{Limit: most + 1}
	f.Since, _ = c.Instant("since")
	f.Until, _ = c.Instant("until")
	f.Before = cursorID(c)
	if err := c.Invalid(); err != nil {
		return route.Reply{}, err
	}
	rows, err := r.trail.Entries(c, f)
	if err != nil {
		return route.Reply{}, err
	}
	entries, next := pageOf(rows, most, func(e *operators.AuditEntry) api.AuditView { return auditView(e, c.PII()) }, func(e *api.AuditView) string { return e.ID })
	return route.Reply{Status: http.StatusOK, Body: api.AuditList{Entries: entries, NextCursor: next}}, nil
}

// changeViews returns the view of changes, with phone numbers masked unless
// pii.
func changeViews(list []operators.FieldChange, pii bool) []api.AuditChangeView {
	var out []api.AuditChangeView
	for _, c := range list {
		v := api.AuditChangeView(c)
		if !pii {
			mask := auth.MaskValue
			if strings.Contains(c.Field, "messages") {
				mask = auth.MaskText
			}
			v.Before, v.After = mask(v.Before), mask(v.After)
		}
		out = append(out, v)
	}
	return out
}
