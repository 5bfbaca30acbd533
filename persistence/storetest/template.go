package storetest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"weir/migrations"
	"weir/persistence"
	"weir/persistence/dialect"
)

// Most tests need a database with the newest schema, but not the two dozen
// migrations, which take a third of a second under the race detector and two flushes
// each on a server. The first test that runs the migrations stores the result as a
// script, in a file named after the migrations; the others run the script. A test
// checks that both produce the same database.

// Migrate migrates the database at a URL to the newest schema and closes it.
func Migrate(t testing.TB, url string) {
	t.Helper()
	s, db := openOn(t, url, persistence.Options{})
	migrate(t, s, db)
	if err := s.Close(context.Background()); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// migrate brings a database to the newest schema: an empty one by the script,
// if it exists.
func migrate(t testing.TB, s *persistence.Store, db dialect.Database) {
	t.Helper()
	ctx := context.Background()
	if err := quickly(ctx, s, db); err != nil {
		t.Fatalf("migrate: %v", err)
	}
}

func quickly(ctx context.Context, s *persistence.Store, db dialect.Database) error {
	names, err := tables(ctx, db)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return s.MigrateUp(ctx)
	}
	file, err := scriptFile(ctx, db)
	if err != nil {
		return err
	}
	if text, err := os.ReadFile(file); err == nil { //nolint:gosec // a name of our own
		var script []string
		if err := json.Unmarshal(text, &script); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return run(ctx, db, append(script, "UPDATE owner SET start_number = 0")) // it was written by the owner of another one
	}
	if err := s.MigrateUp(ctx); err != nil {
		return err
	}
	script, err := write(ctx, db)
	if err != nil {
		return err
	}
	return keep(file, script)
}

// scriptFile names the script's file after everything that the script depends on.
func scriptFile(ctx context.Context, db dialect.Database) (string, error) {
	folder, _ := db.Migrations()
	hash := sha256.New()
	var version string
	ask := "SELECT sqlite_version()"
	if folder == "mysql" {
		ask = "SELECT CONCAT(VERSION(), @@sql_mode)"
	}
	if err := db.Pools().Read.QueryRowContext(ctx, ask).Scan(&version); err != nil {
		return "", err
	}
	hash.Write([]byte("2\n" + version + "\n")) // the number is the version of the script's format
	steps, err := migrations.For(folder)
	if err != nil {
		return "", err
	}
	err = fs.WalkDir(steps, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(steps, path)
		hash.Write(fmt.Appendf(nil, "%q %q\n", path, text))
		return err
	})
	name := "weir-test-schema-" + strconv.Itoa(os.Getuid())
	return filepath.Join(os.TempDir(), name, folder+"-"+hex.EncodeToString(hash.Sum(nil))[:32]+".json"), err
}

// keep writes a file atomically: several processes may do so at once.
func keep(file string, script []string) error {
	text, err := json.Marshal(script)
	if err != nil {
		return err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if errClose := f.Close(); err == nil {
		err = errClose
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// run runs a script: in SQLite as one transaction, which needs one flush.
func run(ctx context.Context, db dialect.Database, script []string) error {
	if folder, _ := db.Migrations(); folder == "sqlite" {
		script = []string{"BEGIN IMMEDIATE;\n" + strings.Join(script, ";\n") + ";\nCOMMIT"}
	}
	c, err := db.Pools().Write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for _, statement := range script {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w in %s", err, statement)
		}
	}
	return nil
}

// write returns the script that creates a database like this one.
func write(ctx context.Context, db dialect.Database) ([]string, error) {
	script, err := definitions(ctx, db)
	if err != nil {
		return nil, err
	}
	names, err := tables(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		rows, err := inserts(ctx, db, name)
		if err != nil {
			return nil, err
		}
		script = append(script, rows...)
	}
	return script, nil
}

func tables(ctx context.Context, db dialect.Database) ([]string, error) {
	if folder, _ := db.Migrations(); folder == "sqlite" {
		return texts(ctx, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name")
	}
	return texts(ctx, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name")
}

// definitions returns the statements that create the tables and everything that belongs
// to them.
func definitions(ctx context.Context, db dialect.Database) ([]string, error) {
	if folder, _ := db.Migrations(); folder == "sqlite" {
		return texts(ctx, db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY rowid")
	}
	names, err := tables(ctx, db)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(names))
	for i, name := range names {
		if err := db.Pools().Read.QueryRowContext(ctx, "SHOW CREATE TABLE "+name).Scan(new(string), &list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// inserts returns the statement that inserts the rows of a table, if it has any.
func inserts(ctx context.Context, db dialect.Database, table string) ([]string, error) {
	columns, err := columnsOf(ctx, db, table)
	if err != nil {
		return nil, err
	}
	quoted := "QUOTE(`" + strings.Join(columns, "`), ', ', QUOTE(`") + "`)"
	values, err := texts(ctx, db, "SELECT CONCAT("+quoted+") FROM "+table)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	into := "INSERT INTO " + table + " (`" + strings.Join(columns, "`, `") + "`) VALUES"
	return []string{into + " (" + strings.Join(values, "), (") + ")"}, nil
}

func columnsOf(ctx context.Context, db dialect.Database, table string) ([]string, error) {
	rows, err := db.Pools().Read.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0") //nolint:gosec // a table of ours
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	return columns, errors.Join(err, rows.Err())
}

// texts reads one column.
func texts(ctx context.Context, db dialect.Database, query string) ([]string, error) {
	rows, err := db.Pools().Read.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []string
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text.String)
	}
	return list, rows.Err()
}
