package crashtest_test

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"weir/internal/mariadb"
	"weir/internal/polling"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

const shortLease = 5 * time.Second

// TestOwner_WritesNothingAfterItWasStopped stops the owner of the database in the middle of a transaction (SIGSTOP).
// Another process, which has passed requests on to it, takes over. When the first one wakes, it can write nothing, and
// ends.
func TestOwner_WritesNothingAfterItWasStopped(t *testing.T) {
	t.Parallel()
	server := testmysql.Start(t) // a private server, because the test queries its transactions
	url := server.URL(t)
	db, err := mariadb.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	freeWithin := idleLimit(t, db) + 2*shortLease
	storetest.Migrate(t, url)
	a, b := newBroker(t, url), newBroker(t, url)
	for _, broker := range []*broker{a, b} {
		broker.env = append(broker.env, "WEIR_LEASE_TTL="+shortLease.String())
	}
	a.start("")
	a.up()
	b.waits = true
	b.start("")
	b.up()
	toA, toB := newClient(t, a.url), newClient(t, b.url)
	toA.insist(http.MethodPut, "/v1/channels/ch", map[string]any{
		"type": "nuntium", "capacity": 1, "paused": true,
		"settings": map[string]any{"base_url": "http://127.0.0.1:9", "account": "a", "application": "b", "password": "c", "channel": "d"},
	}, http.StatusCreated, nil)
	one := func(key string) any {
		return map[string]any{"contacts": []any{map[string]any{"key": key, "to": "+15550001", "messages": []string{"m"}}}}
	}
	const contacts = "/v1/channels/ch/contacts"
	toA.insist(http.MethodPost, contacts, one("a"), http.StatusAccepted, nil)

	patched := make(chan int, 1)
	stopInTransaction(t, db, url, a, func() {
		patched <- toA.do(context.WithoutCancel(t.Context()), http.MethodPatch, "/v1/channels/ch", map[string]any{"capacity": 2}).status
	})
	began := time.Now()
	eventually(t, upWithin, "the second owns the database", b.owns)
	if took := time.Since(began); took > freeWithin {
		t.Errorf("the second had the database after %v, want %v at most", took, freeWithin)
	} else {
		t.Logf("the second had the database after %v", took.Round(100*time.Millisecond))
	}
	toB.insist(http.MethodPost, contacts, one("b"), http.StatusAccepted, nil)

	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.gone:
	case <-time.After(drainWithin + freeWithin):
		t.Fatal("the first one goes on")
	}
	if status := <-patched; status == http.StatusOK {
		t.Error("the former owner changed a channel")
	}
	if code := a.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("the former owner ended with %d, want 1", code)
	}
	toB.insist(http.MethodPatch, "/v1/channels/ch", map[string]any{"capacity": 3}, http.StatusOK, nil)
	toB.insist(http.MethodPost, contacts, one("c"), http.StatusAccepted, nil)
	b.terminate()
}

// idleLimit returns how long a server keeps an idle session that has a transaction.
// MySQL does not distinguish it from other idle sessions.
func idleLimit(t *testing.T, db *sql.DB) time.Duration {
	t.Helper()
	var version string
	if err := db.QueryRow("SELECT VERSION()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(version, "MariaDB") {
		return 3 * time.Second
	}
	return 10 * time.Second
}

// stopInTransaction locks the channel's row until the program waits for it in a
// transaction that change begins, stops the program, and unlocks the row. A signal returns before all threads
// have stopped: with the row unlocked by then, a thread that still ran could commit.
func stopInTransaction(t *testing.T, db *sql.DB, url string, b *broker, change func()) {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec("DELETE FROM " + url[strings.LastIndexByte(url, '/')+1:] + ".channels"); err != nil { // undone below
		t.Fatal(err)
	}
	go change()
	eventually(t, upWithin, "the program waits", func() bool {
		var waiting int
		err := db.QueryRow("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'").Scan(&waiting)
		return err == nil && waiting > 0
	})
	if err := b.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, upWithin, "the program has stopped", func() bool {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(b.cmd.Process.Pid, &status, syscall.WUNTRACED|syscall.WNOHANG, nil)
		return err == nil && pid == b.cmd.Process.Pid && status.Stopped()
	})
}

// eventually polls at an interval above 100 ms: within that time InnoDB repeats its last
// answer about transactions.
func eventually(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	if !polling.Until(limit, 200*time.Millisecond, is) {
		t.Fatalf("not within %v: %s", limit, what)
	}
}
