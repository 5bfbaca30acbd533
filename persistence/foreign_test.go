package persistence_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/persistence"
	"weir/persistence/database"
	"weir/persistence/storetest"
)

// openSQL opens a database as another program does.
func openSQL(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := persistence.OpenDatabase(t.Context(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db.Pools().Write
}

func execute(t *testing.T, db *sql.DB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func tableNames(t *testing.T, db *sql.DB, url string) (names []string) {
	t.Helper()
	text := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
	if strings.HasPrefix(url, "sqlite:") {
		text = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1"
	}
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return names
}

// ownTables lists the tables of Weir's newest schema.
func ownTables(t *testing.T) []string {
	t.Helper()
	url := "sqlite://" + filepath.Join(t.TempDir(), "own.db")
	storetest.Migrate(t, url)
	return tableNames(t, openSQL(t, url), url)
}

// Whatever table another program has in a database, whether or not Weir has one of that name, no
// migration takes it over, changes it or drops it, and the error names it.
func TestMigrate_LeavesTheTablesOfOthers(t *testing.T) {
	t.Parallel()
	own := ownTables(t)
	if len(own) < 40 {
		t.Fatalf("%d tables", len(own))
	}
	storetest.OnBoth(t, func(t *testing.T, url string) {
		db := openSQL(t, url)
		for _, tables := range append([][]string{{"users"}, {"users", "goose_db_version"}, {"goose_db_version", "contacts", "channels"}, own}, split(own)...) {
			for _, name := range tables {
				execute(t, db, "CREATE TABLE "+name+" (version_id INTEGER, is_applied INTEGER, mark VARCHAR(10))", "INSERT INTO "+name+" VALUES (12, 1, 'theirs')")
			}
			before := tableNames(t, db, url)
			for what, do := range map[string]func(context.Context, *persistence.Store) error{
				"up":     func(ctx context.Context, s *persistence.Store) error { return s.MigrateUp(ctx) },
				"down":   func(ctx context.Context, s *persistence.Store) error { return s.MigrateDown(ctx, 1000) },
				"own":    func(ctx context.Context, s *persistence.Store) error { return s.Own(ctx) },
				"try":    func(ctx context.Context, s *persistence.Store) error { return s.TryOwn(ctx) },
				"status": func(ctx context.Context, s *persistence.Store) error { _, err := s.Status(ctx); return err },
			} {
				s := storetest.OpenOnly(t, url, persistence.Options{})
				err := do(t.Context(), s)
				foreign, ok := errors.AsType[*database.ForeignError](err)
				if !ok || !slices.Contains(foreign.Tables, tables[0]) || !strings.Contains(err.Error(), "not Weir's") {
					t.Errorf("%s with %v: %v", what, tables, err)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if after := tableNames(t, db, url); !slices.Equal(before, after) {
				t.Fatalf("tables %v, before %v", after, before)
			}
			for _, name := range tables {
				var mark string
				if err := db.QueryRowContext(t.Context(), "SELECT mark FROM "+name).Scan(&mark); err != nil || mark != "theirs" {
					t.Errorf("%s holds %q (%v)", name, mark, err)
				}
				execute(t, db, "DROP TABLE "+name)
			}
		}
	})
}

// split returns each name alone.
func split(names []string) (list [][]string) {
	for _, name := range names {
		list = append(list, []string{name})
	}
	return list
}

// What Weir made is its own, however far it had come, and down leaves what others have put beside it.
func TestMigrate_GoesOnWithItsOwnTables(t *testing.T) {
	t.Parallel()
	steps := len(stepNames(t, "sqlite"))
	storetest.OnBoth(t, func(t *testing.T, url string) {
		db := openSQL(t, url)
		ctx := t.Context()
		up := func(what string) {
			t.Helper()
			s := storetest.OpenOnly(t, url, persistence.Options{})
			if err := s.MigrateUp(ctx); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if err := s.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
		down := func(n int) {
			t.Helper()
			s := storetest.OpenOnly(t, url, persistence.Options{})
			if err := s.MigrateDown(ctx, n); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
		// It was killed after the first of its tables, after both, and within the first step of the schema.
		execute(t, db, "CREATE TABLE owner (id INTEGER NOT NULL PRIMARY KEY, start_number BIGINT NOT NULL, epoch BIGINT NOT NULL, expires_at BIGINT NOT NULL)")
		up("owner alone")
		down(steps)
		up("without a step")
		down(steps)
		execute(t, db, "CREATE TABLE meta (name VARCHAR(64) NOT NULL PRIMARY KEY, value BIGINT NOT NULL)")
		up("half of the first step")
		for _, n := range []int{1, steps / 2, steps - 1} {
			down(n)
			up("an earlier version")
		}
		execute(t, db, "CREATE TABLE users (mark VARCHAR(10))", "INSERT INTO users VALUES ('theirs')")
		up("a table beside")
		down(steps)
		if names := tableNames(t, db, url); !slices.Equal(names, []string{"goose_db_version", "owner", "processes", "users"}) {
			t.Errorf("left: %v", names)
		}
		s := storetest.OpenOnly(t, url, persistence.Options{})
		if err := s.MigrateUp(ctx); err == nil || !strings.Contains(err.Error(), "(users)") {
			t.Errorf("the first step beside another program: %v", err)
		}
	})
}
