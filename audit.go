package weir

import (
	"context"
	"time"
)

// AuditEntry says who changed something, or tried to.
type AuditEntry struct {
	ID      int64 // given by the store, in the order of time
	At      time.Time
	Token   string // id of the token; empty: none was needed
	Action  string // id of the route
	Subject string // of what
	Status  int    // of the answer
	Request string // id of the request, as the log has it
	Changes []FieldChange
}

// FieldChange is what a request changed of one field. It holds no secret.
type FieldChange struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"` // empty: it was not there
	After  string `json:"after,omitempty"`  // empty: it is not there any more
	Secret bool   `json:"secret,omitempty"` // Before and After are left out
}

// AuditFilter selects entries of the audit log. Zero fields select everything.
type AuditFilter struct {
	Before       int64     // only entries with a smaller id
	Since, Until time.Time // not before one, and before the other, to the millisecond
	Limit        int
}

// AuditStore keeps the entries of the audit log.
type AuditStore interface {
	// AddAudit keeps entries. It gives them ids in their order.
	AddAudit(ctx context.Context, list []AuditEntry) error
	// Audit reads entries, newest first.
	Audit(ctx context.Context, f AuditFilter) ([]AuditEntry, error)
	// AuditOf reads the entries of a subject, oldest first, at most limit.
	AuditOf(ctx context.Context, subject string, limit int) ([]AuditEntry, error)
	// PurgeAudit deletes the oldest entries from before an instant, at most limit,
	// and says how many.
	PurgeAudit(ctx context.Context, before time.Time, limit int) (int, error)
}
