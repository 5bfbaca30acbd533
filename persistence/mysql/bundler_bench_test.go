package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"weir/persistence/dialect"
	"weir/persistence/testmysql"
)

// BenchmarkTransaction runs transactions of six statements, as the writer does: one
// needs its rows and one the number of rows that it changed. It compares each
// statement sent by itself with START TRANSACTION sent with the first and the other
// four with their neighbors. A table in memory flushes nothing to disk: what remains
// is the round trips.
func BenchmarkTransaction(b *testing.B) {
	cfg := settings(b, testmysql.URL(b))
	counter := new(dialect.Counter)
	several := cfg.Clone()
	several.MultiStatements = true
	bundled := bundling{mustConnect(b, several), counter, maxMessage}
	for _, engine := range []string{"InnoDB", "MEMORY"} {
		for _, c := range []struct {
			name    string
			connect driver.Connector
			later   context.Context
		}{
			{"each by itself", mustConnect(b, cfg), b.Context()},
			{"bundled", bundled, b.Context()},
			{"bundled, four later", bundled, dialect.Later(b.Context())},
		} {
			b.Run(engine+"/"+c.name, func(b *testing.B) {
				db := open(b, c.connect, 1)
				for _, text := range []string{
					"DROP TABLE IF EXISTS t",
					"CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE = " + engine,
					"INSERT INTO t (id, n) VALUES (0, 0)",
				} {
					if _, err := db.Exec(text); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					sixStatements(b, db, c.later, i+1)
				}
			})
		}
	}
}

func sixStatements(b *testing.B, db *sql.DB, later context.Context, id int) {
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	var n int
	exec := func(ctx context.Context, text string, args ...any) {
		if _, err := tx.ExecContext(ctx, text, args...); err != nil {
			b.Fatal(err)
		}
	}
	exec(later, "UPDATE t SET n = n + ? WHERE id = ?", 1, 0)
	if err := tx.QueryRowContext(b.Context(), "SELECT n FROM t WHERE id = ? LOCK IN SHARE MODE", 0).Scan(&n); err != nil {
		b.Fatal(err)
	}
	exec(later, "INSERT INTO t (id, n) VALUES (?, ?)", id, 1)
	exec(b.Context(), "UPDATE t SET n = n + ? WHERE id = ?", 1, id)
	exec(later, "INSERT INTO t (id, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + VALUES(n)", 0, 1)
	exec(later, "DELETE FROM t WHERE id = ?", id)
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}
