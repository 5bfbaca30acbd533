package mysql

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"testing"

	mysql "github.com/go-sql-driver/mysql"

	"weir/persistence/dialect"
)

// An error of a held statement is returned by the statement it was sent with,
// whatever its kind, and rolls the transaction back.
func TestErrorOfAHeldStatement(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(tx *sql.Tx) error{
		"exec": func(tx *sql.Tx) error {
			_, err := tx.Exec("UPDATE t SET n = 0")
			return err
		},
		"query": func(tx *sql.Tx) error {
			var n int
			return tx.QueryRow("SELECT n FROM t WHERE id = 1").Scan(&n)
		},
		"prepare": func(tx *sql.Tx) error {
			stmt, err := tx.Prepare("UPDATE t SET n = ?")
			if err == nil {
				defer func() { _ = stmt.Close() }()
			}
			return err
		},
		"commit": func(tx *sql.Tx) error { return tx.Commit() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRig(t)
			tx := b.begin()
			b.exec(tx, "UPDATE t SET n = 1000")
			b.hold(tx, "INSERT INTO t (id, n) VALUES (3, 3)")
			b.hold(tx, "INSERT INTO t (id, n) VALUES (1, 1)")
			b.hold(tx, "INSERT INTO t (id, n) VALUES (4, 4)")
			if err := next(tx); number(err) != 1062 {
				t.Errorf("got %v", err)
			}
			if name != "commit" {
				if _, err := tx.Exec("UPDATE t SET n = 0"); number(err) != 1062 {
					t.Errorf("a statement behind it: %v", err)
				}
				if err := tx.Commit(); number(err) != 1062 {
					t.Errorf("COMMIT behind it: %v", err)
				}
			}
			if texts := b.seen.take(); len(texts) != 3 || texts[2] != "ROLLBACK" {
				t.Errorf("messages: %q", texts)
			}
			b.rows([2]int{1, 10}, [2]int{2, 20})
			b.usable()
		})
	}
}

// usable runs one more transaction, and checks that nothing remains of the one
// before.
func (b *rig) usable() {
	b.Helper()
	b.seen.take()
	tx := b.begin()
	b.exec(tx, "INSERT INTO t (id, n) VALUES (9, 90)")
	b.commit(tx)
	b.sent("START TRANSACTION / INSERT INTO t (id, n) VALUES (9, 90)", "COMMIT")
	if list := table(b.T, b.plain); !slices.Contains(list, [2]int{9, 90}) {
		b.Errorf("the next transaction was not committed: %v", list)
	}
}

func TestErrorOfTheFirstStatement(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	if _, err := tx.Exec("INSERT INTO t (id, n) VALUES (1, 1)"); number(err) != 1062 {
		t.Errorf("got %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	b.sent("START TRANSACTION / INSERT INTO t (id, n) VALUES (1, 1)", "ROLLBACK")
	b.usable()
}

// If ROLLBACK fails after a COMMIT that was not executed, the connection is closed,
// because its transaction is open.
func TestAConnectionThatCannotRollBackIsThrownAway(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	was := b.number(tx, "SELECT CONNECTION_ID()")
	b.exec(tx, "UPDATE t SET n = 1000")
	b.hold(tx, "INSERT INTO t (id, n) VALUES (1, 1)")
	b.seen.failing("ROLLBACK", &mysql.MySQLError{Number: 1105})
	if err := tx.Commit(); number(err) != 1062 {
		t.Errorf("got %v", err)
	}
	b.seen.failing("", nil)
	tx = b.begin()
	if is := b.number(tx, "SELECT CONNECTION_ID()"); is == was {
		t.Error("the connection lives on")
	}
	b.commit(tx)
	b.once("UPDATE t SET n = n + 1") // waits until the server has rolled it back
	b.rows([2]int{1, 11}, [2]int{2, 21})
}

// once runs a statement in a transaction of its own.
func (b *rig) once(text string) {
	b.Helper()
	tx := b.begin()
	b.exec(tx, text)
	b.commit(tx)
}

func TestDeadlockOfAHeldStatement(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	for i := range 50 {
		b.do("INSERT INTO t (id, n) VALUES (?, 0)", 100+i)
	}
	other, err := b.plain.Begin()
	if err != nil {
		t.Fatal(err)
	}
	// The server rolls back the transaction that has changed less.
	if _, err := other.Exec("UPDATE t SET n = n + 1 WHERE id >= 2"); err != nil {
		t.Fatal(err)
	}
	tx := b.begin()
	b.exec(tx, "UPDATE t SET n = n + 100 WHERE id = 1")
	b.hold(tx, "UPDATE t SET n = n + 100 WHERE id = 2")
	done := make(chan error)
	go func() {
		_, err := other.Exec("UPDATE t SET n = n + 1 WHERE id = 1")
		done <- errors.Join(err, other.Commit())
	}()
	err = tx.Commit()
	if kind, code := (&Database{}).Classify(err); kind != dialect.Again || code != "deadlock" {
		t.Errorf("%v is a %v, %s", err, kind, code)
	}
	if err := <-done; err != nil {
		t.Errorf("the other one: %v", err)
	}
	if got := table(t, b.plain)[:2]; got[0] != [2]int{1, 11} || got[1] != [2]int{2, 21} {
		t.Errorf("rows: %v", got)
	}
	b.usable()
}

// driver.ErrBadConn makes database/sql retry by itself. The driver also returns it
// for a read-only server, after a message was sent.
func TestNothingIsTriedAgainInATransaction(t *testing.T) {
	t.Parallel()
	update := "UPDATE t SET n = 0"
	for name, c := range map[string]struct {
		message string
		do      func(tx *sql.Tx) error
	}{
		"first": {"START TRANSACTION" + separator + update, func(tx *sql.Tx) error {
			_, err := tx.Exec(update)
			return errors.Join(err, tx.Rollback())
		}},
		"prepare": {"START TRANSACTION", func(tx *sql.Tx) error {
			stmt, err := tx.Prepare(update)
			if err == nil {
				defer func() { _ = stmt.Close() }()
			}
			return errors.Join(err, tx.Rollback())
		}},
		"commit": {"COMMIT", func(tx *sql.Tx) error {
			if _, err := tx.Exec(update); err != nil {
				return err
			}
			return tx.Commit()
		}},
		"rollback": {"ROLLBACK", func(tx *sql.Tx) error {
			if _, err := tx.Exec(update); err != nil {
				return err
			}
			return tx.Rollback()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRig(t)
			b.seen.failing(c.message, driver.ErrBadConn)
			err := c.do(b.begin())
			if kind, code := (&Database{}).Classify(err); kind != dialect.Down || code != "connection" || errors.Is(err, driver.ErrBadConn) {
				t.Errorf("%v is a %v, %s", err, kind, code)
			}
			texts := b.seen.take()
			if slices.Index(texts, c.message) != len(texts)-1 {
				t.Errorf("something was sent behind it: %q", texts)
			}
			b.seen.failing("", nil)
			b.once(update + " WHERE id = 1")
			b.rows([2]int{1, 0}, [2]int{2, 20})
		})
	}
}
