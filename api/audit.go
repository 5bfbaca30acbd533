package api

import "time"

// AuditChangeView is a field that a request changed.
type AuditChangeView struct {
	Field  string `json:"field" doc:"the path to the field, its parts joined by dots" example:"capacity"`
	Before string `json:"before,omitempty" doc:"absent: it was not set" example:"5"`
	After  string `json:"after,omitempty" doc:"absent: it is no longer set" example:"50"`
	Secret bool   `json:"secret,omitempty" doc:"a secret was changed; neither value is recorded"`
}

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

// AuditList is one page of the audit log.
type AuditList struct {
	Entries    []AuditView `json:"entries"`
	NextCursor string      `json:"next_cursor,omitempty" doc:"absent on the last page"`
}
