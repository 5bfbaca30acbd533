package testmysql_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"weir/persistence/testmysql"
)

// open connects to a database by its DATABASE_URL.
func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	rest := strings.TrimPrefix(url, "mysql://")
	account, place, _ := strings.Cut(rest, "@")
	address, name, _ := strings.Cut(place, "/")
	c, err := mysql.ParseDSN(account + "@tcp(" + address + ")/" + name)
	if err != nil {
		t.Fatal(err)
	}
	c.Logger = &mysql.NopLogger{} // the tests kill servers on purpose
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestURL_EachDatabaseIsEmptyAndItsOwn(t *testing.T) {
	t.Parallel()
	first, second := open(t, testmysql.URL(t)), open(t, testmysql.URL(t))
	exec(t, first, "CREATE TABLE t (a INT)")
	exec(t, second, "CREATE TABLE t (a INT)")
}

func TestURL_DatabaseIsDroppedAtTheEnd(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("user", func(t *testing.T) {
		url = testmysql.URL(t)
		exec(t, open(t, url), "CREATE TABLE t (a INT)")
	})
	if err := open(t, url).PingContext(t.Context()); err == nil {
		t.Error("the database is still there after the test that asked for it")
	}
}

func TestServer_ComesBackWithItsDataAfterAKill(t *testing.T) {
	t.Parallel()
	server := testmysql.Start(t)
	db := open(t, server.URL(t))
	exec(t, db, "CREATE TABLE t (a INT)")
	exec(t, db, "INSERT INTO t VALUES (42)")

	server.Kill()
	if err := db.PingContext(t.Context()); err == nil {
		t.Fatal("a killed server answers")
	}
	server.Restart()

	var a int
	if err := db.QueryRowContext(t.Context(), "SELECT a FROM t").Scan(&a); err != nil || a != 42 {
		t.Errorf("after the restart: %d, %v; want the committed 42", a, err)
	}
}

func TestServer_FlushesEachCommit(t *testing.T) {
	t.Parallel()
	var flush int
	db := open(t, testmysql.Start(t).URL(t))
	if err := db.QueryRowContext(t.Context(), "SELECT @@innodb_flush_log_at_trx_commit").Scan(&flush); err != nil {
		t.Fatal(err)
	}
	if flush != 1 {
		t.Errorf("innodb_flush_log_at_trx_commit = %d: a commit would not survive a crash", flush)
	}
}
