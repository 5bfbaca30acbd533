package web

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/ops"
)

// mostWaiting is the max number of entries that wait in memory while the store
// is down.
const mostWaiting = 10_000

// Trail buffers audit log entries on their way to the store, so that no request
// waits for it. Call [Trail.Write] every second, and at shutdown.
type Trail struct {
	store   ops.AuditStore
	mu      sync.Mutex
	waiting []ops.AuditEntry
	lost    int
}

// NewTrail returns a trail that writes to a store.
func NewTrail(store ops.AuditStore) *Trail { return &Trail{store: store} }

func (t *Trail) add(e ops.AuditEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) >= mostWaiting {
		t.lost++
		return
	}
	t.waiting = append(t.waiting, e)
}

// Write stores the waiting entries. On failure they stay waiting. It also
// returns an error if entries were dropped since the last successful write.
func (t *Trail) Write(ctx context.Context) error {
	t.mu.Lock()
	list, lost := t.waiting, t.lost
	t.waiting, t.lost = nil, 0
	t.mu.Unlock()
	if len(list) > 0 {
		if err := t.store.AddAudit(ctx, list); err != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.waiting = append(list, t.waiting...)
			t.lost += lost
			return err
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d entries of the audit log were lost while the store was down; the log has their lines", lost)
	}
	return nil
}

// traffic reports whether a route is excluded from the audit log although it
// changes something: such requests come by the thousand, and leave their own
// records.
func traffic(id string) bool { return id == "post-contacts" || id == "post-disposition" }

// audited reports whether a request belongs in the audit log. Requests refused
// for lack of a valid token do not, or strangers could fill the store; nor do
// rate-limited requests and dry runs.
func (w *recorder) audited() bool {
	return w.route != nil && w.route.method != http.MethodGet && !traffic(w.route.id) && !w.tried &&
		w.status != http.StatusUnauthorized && w.status != http.StatusTooManyRequests
}

// plainName matches names that cannot be one of our secrets: names and ids of
// channels, surveys, contacts and respondents.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// subject returns what a request is about, from the names in its path.
func subject(r *http.Request) string {
	var names []string
	for _, part := range []string{"channel", "survey", "id"} {
		if name := r.PathValue(part); plainName.MatchString(name) {
			names = append(names, maskValue(name))
		}
	}
	return strings.Join(names, "/")
}

// remember adds a request to the audit log if it belongs there.
func (s *service) remember(rec *recorder, r *http.Request, id string, at time.Time) {
	if s.Trail != nil && rec.audited() {
		s.Trail.add(ops.AuditEntry{At: at, Token: rec.who, Action: rec.route.id, Subject: subject(r), Status: rec.status, Request: id, Changes: rec.changes})
	}
}

// AuditView is an entry of the audit log.
type AuditView struct {
	ID      string            `json:"id"`
	At      time.Time         `json:"at"`
	Token   string            `json:"token,omitempty" doc:"id of the token; absent: none was needed"`
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

func (s *service) auditRoutes() []*route {
	return []*route{{
		method: "GET", path: "/v1/audit", id: "list-audit", tag: "access",
		summary: "Who changed what, newest first",
		description: "Changes of channels, surveys and respondents and cancellations of contacts, including requests that were refused for lack of a scope. " +
			"Queued contacts and reported dispositions are not in it. Entries appear within seconds and stay for 90 days. " +
			"A change of a channel or survey has the value of each changed field before and after; of a secret only that it changed.",
		query: append([]parameter{
			{name: "since", kind: "string", format: "date-time", description: "an instant (RFC 3339): entries from then on"},
			{name: "until", kind: "string", format: "date-time", description: "an instant (RFC 3339): entries before"},
		}, paging(100, 1000)...), handle: s.listAudit,
		answers: []answer{{http.StatusOK, "one page", typeOf[AuditList]()}},
	}}
}

func (s *service) listAudit(c *call) (reply, error) {
	most := c.query.number("limit")
	f := ops.AuditFilter{Limit: most + 1}
	f.Since, _ = c.instant("since")
	f.Until, _ = c.instant("until")
	if cursor := c.query.text("cursor"); cursor != "" {
		var err error
		if f.Before, err = strconv.ParseInt(cursor, 10, 64); err != nil || f.Before < 1 {
			c.wrong.add("/cursor", "format", "must be the next_cursor of a page before")
		}
	}
	if err := c.refuse(); err != nil {
		return reply{}, err
	}
	rows, err := s.Trail.store.Audit(c, f)
	if err != nil {
		return reply{}, err
	}
	page := AuditList{Entries: []AuditView{}}
	if len(rows) > most {
		rows = rows[:most]
		page.NextCursor = strconv.FormatInt(rows[most-1].ID, 10)
	}
	for _, e := range rows {
		page.Entries = append(page.Entries, AuditView{
			ID: strconv.FormatInt(e.ID, 10), At: e.At.UTC(), Token: e.Token, Action: e.Action, Subject: e.Subject, Status: e.Status, Request: e.Request,
			Changes: changeViews(e.Changes, c.pii()),
		})
	}
	return reply{status: http.StatusOK, body: page}, nil
}
