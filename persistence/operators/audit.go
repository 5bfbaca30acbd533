package operators

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/operators"
	"weir/persistence/columns"
	"weir/persistence/database"
)

var _ operators.AuditStore = (*Store)(nil)

const auditColumns = "id, at, token, action, subject, status, request, changes"

// AddAudit implements [operators.AuditStore].
func (s *Store) AddAudit(ctx context.Context, list []operators.AuditEntry) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		for part := range slices.Chunk(list, columns.PurgeChunk) {
			var args []any
			for _, e := range part {
				var changes any // mostly NULL
				if len(e.Changes) > 0 {
					raw, err := json.Marshal(e.Changes)
					if err != nil {
						return err
					}
					changes = string(raw)
				}
				args = append(args, s.NextID(e.At), columns.Micros(e.At), e.Token, e.Action, e.Subject, int64(e.Status), e.Request, changes)
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO audit ("+auditColumns+") VALUES "+columns.RowsOf(len(part), 8), args...); err != nil {
				return err
			}
		}
		return nil
	})
	return s.Failure("write the audit log", err)
}

// Audit implements [operators.AuditStore].
func (s *Store) Audit(ctx context.Context, f operators.AuditFilter) ([]operators.AuditEntry, error) {
	low, high := database.Bounds(f.Since, f.Until)
	return s.selectAudit(ctx, auditSQL, low, min(high, cmp.Or(f.Before, math.MaxInt64)), f.Limit)
}

// auditSQL goes by ids, which are in the order of time and hold it.
const auditSQL = "SELECT " + auditColumns + " FROM audit WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?"

const auditOfSQL = "SELECT " + auditColumns + " FROM audit WHERE subject = ? ORDER BY id LIMIT ?"

// AuditOf implements [operators.AuditStore].
func (s *Store) AuditOf(ctx context.Context, subject string, limit int) ([]operators.AuditEntry, error) {
	return s.selectAudit(ctx, auditOfSQL, subject, limit)
}

func (s *Store) selectAudit(ctx context.Context, text string, args ...any) ([]operators.AuditEntry, error) {
	var rows []struct {
		ID      int64  `db:"id"`
		At      int64  `db:"at"`
		Token   string `db:"token"`
		Action  string `db:"action"`
		Subject string `db:"subject"`
		Status  int    `db:"status"`
		Request string `db:"request"`
		Changes []byte `db:"changes"`
	}
	err := s.Read.SelectContext(ctx, &rows, text, args...)
	list := make([]operators.AuditEntry, 0, len(rows))
	for _, r := range rows {
		e := operators.AuditEntry{
			ID: r.ID, At: columns.Instant(r.At), Token: r.Token, Action: r.Action, Subject: r.Subject, Status: r.Status, Request: r.Request,
		}
		if len(r.Changes) > 0 && err == nil {
			err = json.Unmarshal(r.Changes, &e.Changes)
		}
		list = append(list, e)
	}
	return list, s.Failure("read the audit log", err)
}

// PurgeAudit implements [operators.AuditStore]. Ids are in the order of time, so that
// the oldest are found without an index on it.
func (s *Store) PurgeAudit(ctx context.Context, before time.Time, limit int) (int, error) {
	var old []int64
	err := s.Read.SelectContext(ctx, &old, "SELECT id FROM (SELECT id, at FROM audit ORDER BY id LIMIT ?) oldest WHERE at < ?", min(limit, columns.PurgeChunk), columns.Micros(before))
	if err != nil || len(old) == 0 {
		return 0, s.Failure("purge the audit log", err)
	}
	err = s.Transaction(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM audit WHERE id IN "+columns.Marks(len(old)), columns.Arguments(old)...)
		return err
	})
	return len(old), s.Failure("purge the audit log", err)
}
