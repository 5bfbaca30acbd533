package operators

import (
	"context"
	"encoding/hex"
	"time"

	"weir/operators"
	"weir/persistence/columns"
)

var _ operators.SessionStore = (*Store)(nil)

// AddSession implements [operators.SessionStore].
func (s *Store) AddSession(ctx context.Context, x operators.Session) error {
	_, err := s.Exec(ctx, "INSERT INTO sessions (id, token, created_at, expires_at) VALUES "+columns.RowsOf(1, 4),
		hex.EncodeToString(x.ID[:]), x.Token, columns.Micros(x.Created), columns.Micros(x.Expires))
	return s.Failure("keep a session", err)
}

// Session implements [operators.SessionStore].
func (s *Store) Session(ctx context.Context, id operators.TokenHash, now time.Time) (operators.Session, bool, error) {
	var rows []struct {
		Token   string `db:"token"`
		Created int64  `db:"created_at"`
		Expires int64  `db:"expires_at"`
	}
	err := s.Read.SelectContext(ctx, &rows, "SELECT token, created_at, expires_at FROM sessions WHERE id = ? AND expires_at > ?", hex.EncodeToString(id[:]), columns.Micros(now))
	if err != nil || len(rows) == 0 {
		return operators.Session{}, false, s.Failure("read a session", err)
	}
	return operators.Session{ID: id, Token: rows[0].Token, Created: columns.Instant(rows[0].Created), Expires: columns.Instant(rows[0].Expires)}, true, nil
}

// ExtendSession implements [operators.SessionStore].
func (s *Store) ExtendSession(ctx context.Context, id operators.TokenHash, expires time.Time) error {
	_, err := s.Exec(ctx, "UPDATE sessions SET expires_at = ? WHERE id = ? AND expires_at < ?", columns.Micros(expires), hex.EncodeToString(id[:]), columns.Micros(expires))
	return s.Failure("extend a session", err)
}

// EndSession implements [operators.SessionStore].
func (s *Store) EndSession(ctx context.Context, id operators.TokenHash) error {
	_, err := s.Exec(ctx, "DELETE FROM sessions WHERE id = ?", hex.EncodeToString(id[:]))
	return s.Failure("end a session", err)
}

// PurgeSessions implements [operators.SessionStore]. A session that is extended in between
// stays.
func (s *Store) PurgeSessions(ctx context.Context, now time.Time, limit int) (int, error) {
	var old []string
	err := s.Read.SelectContext(ctx, &old, "SELECT id FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?", columns.Micros(now), min(limit, columns.PurgeChunk))
	if err != nil || len(old) == 0 {
		return 0, s.Failure("purge sessions", err)
	}
	args := make([]any, 0, len(old)+1)
	for _, id := range old {
		args = append(args, id)
	}
	n, err := s.Exec(ctx, "DELETE FROM sessions WHERE id IN "+columns.Marks(len(old))+" AND expires_at <= ?", append(args, columns.Micros(now))...)
	return int(n), s.Failure("purge sessions", err)
}
