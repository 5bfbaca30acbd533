package operators

import (
	"context"
	"database/sql"
	"encoding/hex"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/operators"
	"weir/persistence/columns"
)

var _ operators.SessionStore = (*Store)(nil)

// AddSession implements [operators.SessionStore].
func (s *Store) AddSession(ctx context.Context, x operators.Session) error {
	id := hex.EncodeToString(x.ID[:])
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO sessions (id, token, created_at, expires_at) VALUES "+columns.RowsOf(1, 4),
			id, x.Token, columns.Micros(x.Created), columns.Micros(x.Expires))
		if err != nil || x.Person == "" {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO session_people (session_id, person, held) VALUES "+columns.RowsOf(1, 3), id, x.Person, strings.Join(x.Groups, groupSeparator))
		return err
	})
	return s.Failure("keep a session", err)
}

// groupSeparator is in no name of a group: the configuration separates groups by it.
const groupSeparator = ";"

// Session implements [operators.SessionStore].
func (s *Store) Session(ctx context.Context, id operators.TokenHash, now time.Time) (operators.Session, bool, error) {
	var rows []struct {
		Token   string         `db:"token"`
		Created int64          `db:"created_at"`
		Expires int64          `db:"expires_at"`
		Person  sql.NullString `db:"person"`
		Held    sql.NullString `db:"held"`
	}
	err := s.Read.SelectContext(ctx, &rows, sessionSQL, hex.EncodeToString(id[:]), columns.Micros(now))
	if err != nil || len(rows) == 0 {
		return operators.Session{}, false, s.Failure("read a session", err)
	}
	out := operators.Session{ID: id, Token: rows[0].Token, Created: columns.Instant(rows[0].Created), Expires: columns.Instant(rows[0].Expires), Person: rows[0].Person.String}
	if rows[0].Held.String != "" {
		out.Groups = strings.Split(rows[0].Held.String, groupSeparator)
	}
	return out, true, nil
}

const sessionSQL = "SELECT s.token, s.created_at, s.expires_at, p.person, p.held FROM sessions s LEFT JOIN session_people p ON p.session_id = s.id WHERE s.id = ? AND s.expires_at > ?"

// ExtendSession implements [operators.SessionStore].
func (s *Store) ExtendSession(ctx context.Context, id operators.TokenHash, expires time.Time) error {
	_, err := s.Exec(ctx, "UPDATE sessions SET expires_at = ? WHERE id = ? AND expires_at < ?", columns.Micros(expires), hex.EncodeToString(id[:]), columns.Micros(expires))
	return s.Failure("extend a session", err)
}

// EndSession implements [operators.SessionStore].
func (s *Store) EndSession(ctx context.Context, id operators.TokenHash) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		for _, text := range []string{"DELETE FROM session_people WHERE session_id = ?", "DELETE FROM sessions WHERE id = ?"} {
			if _, err := tx.ExecContext(ctx, text, hex.EncodeToString(id[:])); err != nil {
				return err
			}
		}
		return nil
	})
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
	var n int64
	err = s.Transaction(ctx, func(tx *sqlx.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE id IN "+columns.Marks(len(old))+" AND expires_at <= ?", append(args, columns.Micros(now))...)
		if err != nil {
			return err
		}
		if n, err = result.RowsAffected(); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM session_people WHERE session_id IN "+columns.Marks(len(old))+" AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_people.session_id)", args...)
		return err
	})
	return int(n), s.Failure("purge sessions", err)
}
