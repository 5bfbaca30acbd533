package operators

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/persistence/columns"
	"weir/persistence/commit"
)

// Hold makes every process of this store send nothing until [Store.Unhold]. A
// hold that is there already keeps its instant.
func (s *Store) Hold(ctx context.Context, now time.Time) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var held int
		if err := tx.GetContext(ctx, &held, "SELECT COUNT(*) FROM hold"); err != nil || held > 0 {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO hold (id, since) VALUES (1, ?)", columns.Micros(now))
		return err
	})
	return s.Failure("hold", err)
}

// Unhold ends a hold; without one it does nothing.
func (s *Store) Unhold(ctx context.Context) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM hold")
		return err
	})
	return s.Failure("end the hold", err)
}

// HeldSince returns when the hold began; zero: there is none.
func (s *Store) HeldSince(ctx context.Context) (time.Time, error) {
	var since []int64
	if err := s.Read.SelectContext(ctx, &since, "SELECT since FROM hold"); err != nil || len(since) == 0 {
		return time.Time{}, s.Failure("read the hold", err)
	}
	return columns.Instant(since[0]), nil
}

// Store keeps tokens, sessions, the audit, the hold and what happened in each
// minute.
type Store struct {
	*commit.DB
}
