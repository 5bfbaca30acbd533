package persistence_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

func openMySQL(t *testing.T, url string) *sql.DB {
	t.Helper()
	account, place, _ := strings.Cut(strings.TrimPrefix(url, "mysql://"), "@")
	address, name, _ := strings.Cut(place, "/")
	db, err := sql.Open("mysql", account+"@tcp("+address+")/"+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// code is the number of an error of the server; 0 without one.
func code(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// TestMarkHoldsLeases: a batch that has left its mark keeps leases and rows of its
// channels from being changed before it ends, and leaves none where they were.
func TestMarkHoldsLeases(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	s := storetest.Open(t, url, persistence.Options{Owner: "a", LeaseTTL: time.Hour})
	one, lease := openChannel(t, s, "one")
	two, _ := openChannel(t, s, "two")
	db, ctx := openMySQL(t, url), t.Context()
	db.SetMaxOpenConns(2)
	var start int64
	if err := db.QueryRowContext(ctx, "SELECT MAX(start_number) FROM writers").Scan(&start); err != nil {
		t.Fatal(err)
	}
	mark := func(sum int64, owner string) (*sql.Tx, error) {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.ExecContext(ctx, s.MarkOwned(2), 2, sum, 77, int64(one), int64(two), owner, start)
		return tx, err
	}
	for name, wrong := range map[string]func() (*sql.Tx, error){
		"epoch": func() (*sql.Tx, error) { return mark(2*lease.Epoch+1, "a") },
		"owner": func() (*sql.Tx, error) { return mark(2*lease.Epoch, "b") },
	} {
		tx, err := wrong()
		if code(err) != 1048 {
			t.Errorf("another %s: %v", name, err)
		}
		_ = tx.Rollback()
	}
	tx, err := mark(2*lease.Epoch, "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := other.ExecContext(ctx, "SET SESSION innodb_lock_wait_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"UPDATE leases SET epoch = epoch + 1 WHERE channel_id = ?", "UPDATE channels SET deleting = 1 WHERE id = ?"} {
		if _, err := other.ExecContext(ctx, text, int64(two)); code(err) != 1205 {
			t.Errorf("while a batch holds it: %s: %v", text, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"UPDATE leases SET epoch = epoch + 1 WHERE channel_id = ?", "UPDATE channels SET deleting = 1 WHERE id = ?"} {
		if _, err := other.ExecContext(ctx, text, int64(two)); err != nil {
			t.Errorf("afterwards: %s: %v", text, err)
		}
	}
	tx, err = mark(2*lease.Epoch+1, "a")
	if code(err) != 1048 {
		t.Errorf("a channel that is being deleted: %v", err)
	}
	_ = tx.Rollback()
}

// TestHopesThatAreDashed: a batch that took things to be as they were is written
// with a look at them when they are not.
func TestHopesThatAreDashed(t *testing.T) {
	t.Parallel()
	url := testmysql.URL(t)
	s := storetest.Open(t, url, persistence.Options{Owner: "a", LeaseTTL: time.Hour})
	id, lease := openChannel(t, s, "one")
	accept := func(key string) (weir.Accepted, error) {
		got, err := s.Accept(t.Context(), id, []weir.Spec{{Key: key, To: "sms://1"}})
		if err != nil {
			return weir.Accepted{}, err
		}
		return got[0], nil
	}
	first, err := accept("k")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := accept("k"); err != nil || !again.Duplicate || again.Contact.ID != first.Contact.ID {
		t.Errorf("a key that is taken: %+v, %v", again, err)
	}
	db := openMySQL(t, url)
	if _, err := db.ExecContext(t.Context(), "UPDATE leases SET epoch = epoch + 1, owner = 'b' WHERE channel_id = ?", int64(id)); err != nil {
		t.Fatal(err)
	}
	if r := <-commit(s, lease, advance(first.Contact)); !errors.Is(r.Err, weir.ErrLeaseLost) {
		t.Errorf("a change under a lease that is lost: %+v", r)
	}
	if c, _, err := s.Contact(t.Context(), first.Contact.Ref); err != nil || c.State != weir.Queued {
		t.Errorf("%v (%v)", c.State, err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE channels SET deleting = 1 WHERE id = ?", int64(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := accept("l"); weir.CodeOf(err) != weir.CodeConflict {
		t.Errorf("a channel that is being deleted took a contact: %v", err)
	}
	var queued, rows int
	if err := db.QueryRowContext(t.Context(), "SELECT queued, (SELECT COUNT(*) FROM contacts) FROM channel_counts WHERE channel_id = ?", int64(id)).Scan(&queued, &rows); err != nil || queued != 1 || rows != 1 {
		t.Errorf("%d counted, %d there, want 1 and 1 (%v)", queued, rows, err)
	}
}
