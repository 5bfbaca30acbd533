package fill

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"weir"
	"weir/persistence"
	"weir/persistence/dialect"
)

// Store is a store to be filled. Its schema and its channels must exist.
type Store struct {
	db     dialect.Database
	server bool
}

// Open opens the store at a URL.
func Open(ctx context.Context, url string) (*Store, error) {
	db, err := persistence.OpenDatabase(ctx, url, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return &Store{db, !strings.HasPrefix(url, "sqlite:")}, nil
}

// Close closes the store. Everything written is in its data files then.
func (s *Store) Close() error { return s.db.Close() }

// Channel returns the id of a channel.
func (s *Store) Channel(ctx context.Context, name string) (id weir.ChannelID, err error) {
	err = s.db.Pools().Read.QueryRowContext(ctx, "SELECT id FROM channels WHERE name = ? AND deleted = 0", name).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("channel %s: %w", name, err)
	}
	return id, nil
}

// Contacts inserts contacts into a database that no program uses; the next one counts them at
// its start. progress is called after each transaction with the number inserted so far.
func (s *Store) Contacts(ctx context.Context, c Contacts, progress func(int)) error {
	if len(c.Channels) == 0 {
		return errors.New("contacts need a channel")
	}
	tables := c.tables()
	for done := 0; done < c.Count; {
		n := min(chunk, c.Count-done)
		err := s.transaction(ctx, func(tx *sql.Tx) error {
			for table, columns := range tables {
				if err := Rows(ctx, tx, table, columns, c.First+done, n); err != nil {
					return err
				}
			}
			return s.index(ctx, tx, c, done, n)
		})
		if err != nil {
			return err
		}
		done += n
		progress(done)
	}
	return nil
}

// index adds contacts to the index by channel, which a server does not need.
func (s *Store) index(ctx context.Context, tx *sql.Tx, c Contacts, done, n int) error {
	if s.server {
		return nil
	}
	for table, columns := range c.indexed() {
		if err := Rows(ctx, tx, table, columns, c.First+done, n); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "UPDATE meta SET value = MAX(value, (SELECT MAX(id) FROM contacts)) WHERE name = 'contacts_indexed'")
	return err
}

// People inserts people; progress is called after each transaction with the number inserted
// so far.
func (s *Store) People(ctx context.Context, p People, progress func(int)) error {
	for done := 0; done < p.Count; {
		n := min(chunk, p.Count-done)
		err := s.transaction(ctx, func(tx *sql.Tx) error {
			err := errors.Join(
				Rows(ctx, tx, "consent_states", p.refusals(s.server), done, n),
				Rows(ctx, tx, "person_contacts", p.history(s.server, "n", 1), done, n))
			if err != nil || s.server {
				return err
			}
			return Rows(ctx, tx, "person_contacts", p.history(s.server, "(n * "+strconv.Itoa(spareEvery)+")", 2), done/spareEvery, (done+n)/spareEvery-done/spareEvery)
		})
		if err != nil {
			return err
		}
		done += n
		progress(done)
	}
	return s.loosen(ctx)
}

func (s *Store) transaction(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.Pools().Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Settle makes a server write everything to its files and update the table's
// statistics, as it would by itself within minutes.
func (s *Store) Settle(ctx context.Context) error {
	if !s.server {
		return nil // SQLite does so when it is closed
	}
	var err error
	for range settleTries {
		err = s.settle(ctx)
		if kind, _ := s.db.Classify(err); err == nil || ctx.Err() != nil || kind != dialect.Down {
			break
		}
	}
	return err
}

// settleTries is how often a server is asked to write everything: that may take longer
// than a connection waits for an answer.
const settleTries = 20

func (s *Store) settle(ctx context.Context) error {
	conn, err := s.db.Pools().Write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	const tables = "contacts, contacts_queued, contacts_done, consent_states, person_contacts"
	for _, text := range []string{"FLUSH TABLES " + tables + " FOR EXPORT", "UNLOCK TABLES", "ANALYZE TABLE " + tables} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}
