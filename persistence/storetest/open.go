// Package storetest provides stores for tests, some with connections that break, and the
// steps that many tests take with them.
package storetest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"weir/persistence"
	"weir/persistence/dialect"
)

// SQLite opens an empty store in memory, ready to use. It is closed when the
// test ends. It works inside a testing/synctest bubble.
func SQLite(t testing.TB) *persistence.Store {
	t.Helper()
	return Open(t, "sqlite://:memory:", persistence.Options{})
}

// Open opens, migrates and joins the store at a URL. It is closed when the
// test ends.
func Open(t testing.TB, url string, o persistence.Options) *persistence.Store {
	t.Helper()
	s, _ := OpenWithDatabase(t, url, o)
	return s
}

// OpenWithDatabase is [Open] for a test that also writes rows past the store.
func OpenWithDatabase(t testing.TB, url string, o persistence.Options) (*persistence.Store, dialect.Database) {
	t.Helper()
	s, db := openOn(t, url, o)
	migrate(t, s, db)
	if err := s.Join(context.Background()); err != nil {
		t.Fatalf("join: %v", err)
	}
	return s, db
}

// OpenOnly opens the store at a URL, without migrating or joining it. It is closed
// when the test ends, if the test has not done so.
func OpenOnly(t testing.TB, url string, o persistence.Options) *persistence.Store {
	t.Helper()
	s, _ := openOn(t, url, o)
	return s
}

// Kept opens and migrates the database at a URL for stores that follow each other: it stays open
// until the test ends, whichever of them is closed.
func Kept(t testing.TB, url string) dialect.Database {
	t.Helper()
	db, err := persistence.OpenDatabase(context.Background(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	s := persistence.On(kept{db}, persistence.Options{})
	migrate(t, s, db)
	if err := s.Close(context.Background()); err != nil {
		t.Fatalf("close: %v", err)
	}
	return kept{db}
}

// kept is a database that its stores do not close.
type kept struct{ dialect.Database }

func (kept) Close() error { return nil }

// openOn opens a store and also returns its database.
func openOn(t testing.TB, url string, o persistence.Options) (*persistence.Store, dialect.Database) {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	db, err := persistence.OpenDatabase(context.Background(), url, o.Logger)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	s := persistence.On(db, o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, db
}

// RowsWritten returns how many rows the one connection of a database in memory has written.
func RowsWritten(db dialect.Database) (n int64) {
	if err := db.Pools().Write.QueryRowContext(context.Background(), "SELECT total_changes()").Scan(&n); err != nil {
		panic(err)
	}
	return n
}
