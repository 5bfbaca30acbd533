package operators

import (
	"context"
	"time"
)

// AuditEntry records one change, or one attempt to make a change.
type AuditEntry struct {
	ID      int64 // assigned by the store, in order of time
	At      time.Time
	Token   string // id of the token; empty: none was required
	Action  string // id of the route
	Subject string // what was changed: the names in the path
	Status  int    // HTTP status of the answer
	Request string // id of the request, as in the log
	Changes []FieldChange
}

// FieldChange is the change of one field by a request. It holds no secret.
type FieldChange struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"` // empty: the field was absent
	After  string `json:"after,omitempty"`  // empty: the field was removed
	Secret bool   `json:"secret,omitempty"` // Before and After are omitted
}

// AuditFilter selects entries of the audit log. Zero fields select everything.
type AuditFilter struct {
	Before       int64     // only entries with a smaller id
	Since, Until time.Time // at or after Since, before Until; precision is a millisecond
	Limit        int
}

// AuditStore stores the audit log.
type AuditStore interface {
	// AddAudit stores entries. It assigns their ids in slice order.
	AddAudit(ctx context.Context, list []AuditEntry) error
	// Audit returns entries, newest first.
	Audit(ctx context.Context, f AuditFilter) ([]AuditEntry, error)
	// AuditOf returns the entries of a subject, oldest first, at most limit.
	AuditOf(ctx context.Context, subject string, limit int) ([]AuditEntry, error)
	// PurgeAudit deletes the oldest entries from before an instant, at most limit,
	// and returns how many it deleted.
	PurgeAudit(ctx context.Context, before time.Time, limit int) (int, error)
}
