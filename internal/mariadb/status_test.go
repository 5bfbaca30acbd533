package mariadb_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"weir/internal/mariadb"
	"weir/persistence/testmysql"
)

func TestAWatcherSeesStatementsAndCommits(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	w, err := mariadb.Watch(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	statements, commits, err := w.Done(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := mariadb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	const times = 5
	for range times {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "DO 1"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	s, c, err := w.Done(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// At least, because other tests may use the same server.
	if c-commits < times || s-statements < 3*times {
		t.Errorf("%v commits and %v statements after %d transactions of one statement", c-commits, s-statements, times)
	}
}

func TestADatabaseIsMadeAndDropped(t *testing.T) {
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
