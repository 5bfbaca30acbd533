package mariadb_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"weir/internal/mariadb"
	"weir/persistence/testmysql"
)

func TestStatus_AWatcherSeesStatementsAndCommits(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	w, err := mariadb.Watch(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	before, err := w.Done(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := "weir_test_" + strings.ToLower(rand.Text())
	own, err := mariadb.CreateDatabase(t.Context(), url, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mariadb.DropDatabase(context.Background(), url, name) })
	db, err := mariadb.Open(own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+name+".watched (n INT)"); err != nil {
		t.Fatal(err)
	}
	const times = 5
	for range times {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO "+name+".watched VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	after, err := w.Done(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// At least, because other tests may use the same server.
	if after.Commits-before.Commits < times || after.Statements-before.Statements < 3*times || after.Redo-before.Redo < 20*times {
		t.Errorf("%+v after %+v and %d transactions that insert one row", after, before, times)
	}
}

func TestStatus_ADatabaseIsMadeAndDropped(t *testing.T) {
	t.Parallel()
	server := testmysql.URL(t)
	name := "weir_test_" + strings.ToLower(rand.Text())
	url, err := mariadb.CreateDatabase(t.Context(), server, name)
	if err != nil || !strings.HasSuffix(url, "/"+name) {
		t.Fatalf("%s, %v", url, err)
	}
	if _, err := mariadb.CreateDatabase(t.Context(), server, name); err == nil {
		t.Error("it could be made twice")
	}
	if err := mariadb.DropDatabase(t.Context(), server, name); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"a`b", "a/b"} {
		if _, err := mariadb.CreateDatabase(t.Context(), server, wrong); err == nil {
			t.Errorf("a database could be named %s", wrong)
		}
	}
	if _, err := mariadb.CreateDatabase(t.Context(), "localhost", name); err == nil {
		t.Error("an address without a user was taken")
	}
}
