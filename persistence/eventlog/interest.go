package eventlog

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/events"
	"weir/persistence/values"
)

var _ events.Interest = (*Store)(nil)

// maxExpired is how many interests one call of ExpireInterests ends.
const maxExpired = 100

// WantContactEvents implements [events.Interest].
func (s *Store) WantContactEvents(ctx context.Context, who string, until time.Time) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error { return s.WantIn(ctx, tx, who, until) })
	return s.Failure("want events of contacts", err)
}

// UnwantContactEvents implements [events.Interest].
func (s *Store) UnwantContactEvents(ctx context.Context, who string) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error { return s.UnwantIn(ctx, tx, who) })
	return s.Failure("end the interest in events of contacts", err)
}

// WantIn is [Store.WantContactEvents] within a transaction.
func (s *Store) WantIn(ctx context.Context, tx *sqlx.Tx, who string, until time.Time) error {
	known, err := s.changing(ctx, tx, who, false)
	if err != nil {
		return err
	}
	if known {
		_, err = tx.ExecContext(ctx, "UPDATE event_interests SET until = ? WHERE name = ?", values.Micros(until), who)
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO event_interests (name, until) VALUES (?, ?)"+s.Dialect.Merge("name")+"until = "+s.Dialect.Fresh("until"), who, values.Micros(until))
	return err
}

// UnwantIn is [Store.UnwantContactEvents] within a transaction.
func (s *Store) UnwantIn(ctx context.Context, tx *sqlx.Tx, who string) error {
	known, err := s.changing(ctx, tx, who, true)
	if err != nil || !known {
		return err
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM event_interests WHERE name = ?", who)
	return err
}

// changing reports whether there is an interest and, if it is not as it shall be, fences
// off every writer: this waits for the batches that are being committed, and each later
// one reads the interests again.
func (s *Store) changing(ctx context.Context, tx *sqlx.Tx, who string, whenKnown bool) (known bool, err error) {
	var n int
	if err := tx.GetContext(ctx, &n, "SELECT COUNT(*) FROM event_interests WHERE name = ?", who); err != nil {
		return false, err
	}
	if known = n > 0; known == whenKnown {
		_, err = tx.ExecContext(ctx, "UPDATE writers SET fence = fence + 1")
	}
	return known, err
}

// ExpireInterests ends the interests whose time is over.
func (s *Store) ExpireInterests(ctx context.Context, now time.Time) error {
	err := s.Transaction(ctx, func(tx *sqlx.Tx) error {
		var names []string
		err := tx.SelectContext(ctx, &names, "SELECT name FROM event_interests WHERE until > 0 AND until < ? LIMIT ?", values.Micros(now), maxExpired)
		for _, who := range names {
			if err == nil {
				err = s.UnwantIn(ctx, tx, who)
			}
		}
		return err
	})
	return s.Failure("expire interests in events of contacts", err)
}
