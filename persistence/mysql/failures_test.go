package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"testing"

	mysql "github.com/go-sql-driver/mysql"

	"weir/persistence/dialect"
)

// An error of a statement is returned by the list it was sent with, whatever its kind, and
// rolls the transaction back.
func TestTransaction_RollsBackAfterAnError(t *testing.T) {
	t.Parallel()
	bad := []dialect.Statement{stmt("INSERT INTO t (id, n) VALUES (3, 3)"), stmt("INSERT INTO t (id, n) VALUES (1, 1)"), stmt("INSERT INTO t (id, n) VALUES (4, 4)")}
	for name, next := range map[string]func(ctx context.Context, tx dialect.Transaction) error{
		"exec": func(ctx context.Context, tx dialect.Transaction) error {
			_, err := tx.Exec(ctx, append(slices.Clone(bad), stmt("UPDATE t SET n = 0")))
			return err
		},
		"query": func(ctx context.Context, tx dialect.Transaction) error {
			var n int
			return tx.Get(ctx, &n, append(slices.Clone(bad), stmt("SELECT n FROM t WHERE id = 1")))
		},
		"commit": func(ctx context.Context, tx dialect.Transaction) error { return tx.Commit(ctx, bad) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRig(t)
			tx := b.begin()
			b.exec(tx, stmt("UPDATE t SET n = 1000"))
			if err := next(t.Context(), tx); number(err) != 1062 {
				t.Errorf("got %v", err)
			}
			if name != "commit" {
				if _, err := tx.Exec(t.Context(), []dialect.Statement{stmt("UPDATE t SET n = 0")}); number(err) != 1062 {
					t.Errorf("a statement behind it: %v", err)
				}
				if err := tx.Commit(t.Context(), nil); number(err) != 1062 {
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
	b.exec(tx, stmt("INSERT INTO t (id, n) VALUES (9, 90)"))
	b.commit(tx)
	b.sent("START TRANSACTION / INSERT INTO t (id, n) VALUES (9, 90)", "COMMIT")
	if list := table(b.T, b.plain); !slices.Contains(list, [2]int{9, 90}) {
		b.Errorf("the next transaction was not committed: %v", list)
	}
}

func TestTransaction_RollsBackAfterAnEarlyError(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	if _, err := tx.Exec(t.Context(), []dialect.Statement{stmt("INSERT INTO t (id, n) VALUES (1, 1)")}); number(err) != 1062 {
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
func TestTransaction_DiscardsAConnectionThatCannotRollBack(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	was := b.number(tx, stmt("SELECT CONNECTION_ID()"))
	b.exec(tx, stmt("UPDATE t SET n = 1000"))
	b.seen.failing("ROLLBACK", &mysql.MySQLError{Number: 1105})
	if err := tx.Commit(t.Context(), []dialect.Statement{stmt("INSERT INTO t (id, n) VALUES (1, 1)")}); number(err) != 1062 {
		t.Errorf("got %v", err)
	}
	b.seen.failing("", nil)
	tx = b.begin()
	if is := b.number(tx, stmt("SELECT CONNECTION_ID()")); is == was {
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
	b.exec(tx, stmt(text))
	b.commit(tx)
}

func TestTransaction_ReportsADeadlock(t *testing.T) {
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
	b.exec(tx, stmt("UPDATE t SET n = n + 100 WHERE id = 1"))
	done := make(chan error)
	go func() {
		_, err := other.Exec("UPDATE t SET n = n + 1 WHERE id = 1")
		done <- errors.Join(err, other.Commit())
	}()
	err = tx.Commit(t.Context(), []dialect.Statement{stmt("UPDATE t SET n = n + 100 WHERE id = 2")})
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

// driver.ErrBadConn makes database/sql retry by itself, but not on the connection of a
// transaction. The driver also returns it for a read-only server, after a message was sent.
func TestTransaction_RepeatsNothing(t *testing.T) {
	t.Parallel()
	const update = "UPDATE t SET n = 0"
	list := []dialect.Statement{stmt(update)}
	for name, c := range map[string]struct {
		message string
		do      func(ctx context.Context, tx dialect.Transaction) error
	}{
		"first": {"START TRANSACTION" + separator + update, func(ctx context.Context, tx dialect.Transaction) error {
			_, err := tx.Exec(ctx, list)
			return errors.Join(err, tx.Rollback())
		}},
		"query": {"START TRANSACTION" + separator + "SELECT 1", func(ctx context.Context, tx dialect.Transaction) error {
			var n int
			err := tx.Get(ctx, &n, []dialect.Statement{stmt("SELECT 1")})
			return errors.Join(err, tx.Rollback())
		}},
		"commit": {"COMMIT", func(ctx context.Context, tx dialect.Transaction) error {
			if _, err := tx.Exec(ctx, list); err != nil {
				return err
			}
			return tx.Commit(ctx, nil)
		}},
		"rollback": {"ROLLBACK", func(ctx context.Context, tx dialect.Transaction) error {
			if _, err := tx.Exec(ctx, list); err != nil {
				return err
			}
			return tx.Rollback()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRig(t)
			b.seen.failing(c.message, driver.ErrBadConn)
			err := c.do(t.Context(), b.begin())
			if kind, code := (&Database{}).Classify(err); kind != dialect.Down || code != "connection" {
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
