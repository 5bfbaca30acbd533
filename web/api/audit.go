package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/operators"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// AuditView is an entry of the audit log.
type AuditView struct {
	ID      string            `json:"id"`
	At      time.Time         `json:"at"`
	Token   string            `json:"token,omitempty" doc:"id of the token, or of the person who is logged in to the dashboard by name (oidc:NAME); absent: none was needed"`
	Action  string            `json:"action" doc:"operationId of the request" example:"put-channel"`
	Subject string            `json:"subject,omitempty" doc:"of what: the names in the path" example:"sms"`
	Status  int               `json:"status" doc:"of the answer"`
	Request string            `json:"request" doc:"X-Request-Id of the answer"`
	Changes []AuditChangeView `json:"changes,omitempty" doc:"what the request changed, field by field; absent: nothing that is recorded"`
}

// AuditChangeView is a field that a request changed.
type AuditChangeView struct {
	Field  string `json:"field" doc:"the path to the field, its parts joined by dots" example:"capacity"`
	Before string `json:"before,omitempty" doc:"absent: it was not set" example:"5"`
	After  string `json:"after,omitempty" doc:"absent: it is no longer set" example:"50"`
	Secret bool   `json:"secret,omitempty" doc:"a secret was changed; neither value is recorded"`
}

// AuditList is one page of the audit log.
type AuditList struct {
	Entries    []AuditView `json:"entries"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

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
		Answers: []route.Answer{{Status: http.StatusOK, Description: "one page", Body: route.TypeOf[AuditList]()}},
	}}
}

// auditFilters are the parameters that select entries.
func auditFilters() []httpjson.Parameter {
	return []httpjson.Parameter{
		{Name: "since", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): entries from then on"},
		{Name: "until", Kind: "string", Format: "date-time", Description: "an instant (RFC 3339): entries before"},
	}
}

func auditView(e *operators.AuditEntry, pii bool) AuditView {
	return AuditView{
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
	entries, next := pageOf(rows, most, func(e *operators.AuditEntry) AuditView { return auditView(e, c.PII()) }, func(e *AuditView) string { return e.ID })
	return route.Reply{Status: http.StatusOK, Body: AuditList{entries, next}}, nil
}

// changeViews returns the view of changes, with phone numbers masked unless
// pii.
func changeViews(list []operators.FieldChange, pii bool) []AuditChangeView {
	var out []AuditChangeView
	for _, c := range list {
		v := AuditChangeView(c)
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
