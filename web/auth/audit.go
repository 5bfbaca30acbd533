package auth

import (
	"context"
	"fmt"
	"sync"

	"weir/operators"
)

// maxWaiting is the max number of entries that wait in memory while the store
// is down.
const maxWaiting = 10_000

// Trail buffers audit log entries on their way to the store, so that no request
// waits for it. Call [Trail.Write] every second, and at shutdown.
type Trail struct {
	store   operators.AuditStore
	mu      sync.Mutex
	waiting []operators.AuditEntry
	lost    int
}

// NewTrail returns a trail that writes to a store.
func NewTrail(store operators.AuditStore) *Trail { return &Trail{store: store} }

// Entries lists entries of the audit log, the newest first.
func (t *Trail) Entries(ctx context.Context, f operators.AuditFilter) ([]operators.AuditEntry, error) {
	return t.store.Audit(ctx, f)
}

// EntriesOf lists the entries about a subject.
func (t *Trail) EntriesOf(ctx context.Context, subject string, limit int) ([]operators.AuditEntry, error) {
	return t.store.AuditOf(ctx, subject, limit)
}

func (t *Trail) Add(e operators.AuditEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) >= maxWaiting {
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
		return fmt.Errorf("%d audit log entries were dropped while the store was down; the program's log has them", lost)
	}
	return nil
}
