package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"weir/persistence/dialect"
)

func TestTransaction_SendsStatementsTogether(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	b.sent()
	if n := b.exec(tx, stmt("UPDATE t SET n = n + ?", 1)); n != 2 {
		t.Errorf("%d rows were changed", n)
	}
	b.sent("START TRANSACTION / UPDATE t SET n = n + ?")
	n := b.exec(tx, stmt("INSERT INTO t (id, n, s) VALUES (?, ?, ?)", 3, 30, `a;'?\`), stmt("UPDATE t SET n = n + ? WHERE id = ?", 1, 3),
		stmt("UPDATE t SET n = n + ? WHERE id IN (?, ?)", 100, 1, 2))
	if n != 2 {
		t.Errorf("%d rows were changed by the last", n)
	}
	b.sent("INSERT INTO t (id, n, s) VALUES (?, ?, ?) / UPDATE t SET n = n + ? WHERE id = ? / UPDATE t SET n = n + ? WHERE id IN (?, ?)")
	if n := b.number(tx, stmt("DELETE FROM t WHERE id = ?", 2), stmt("SELECT SUM(n) + ? FROM t", 1000)); n != 1000+111+31 {
		t.Errorf("the query got %d", n)
	}
	b.sent("DELETE FROM t WHERE id = ? / SELECT SUM(n) + ? FROM t")
	b.commit(tx, stmt("REPLACE INTO t (id, n) VALUES (?, ?)", 4, 40))
	b.sent("REPLACE INTO t (id, n) VALUES (?, ?) / COMMIT")
	b.rows([2]int{1, 111}, [2]int{3, 31}, [2]int{4, 40})
	var text string
	if err := b.plain.QueryRow("SELECT s FROM t WHERE id = 3").Scan(&text); err != nil || text != `a;'?\` {
		t.Errorf("the text is %q (%v)", text, err)
	}
	if n := b.counter.Count(); n != 7 {
		t.Errorf("%d statements were counted", n)
	}
}

func TestTransaction_ReadsRows(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	var list []struct {
		ID int    `db:"id"`
		N  int    `db:"n"`
		S  string `db:"s"`
	}
	if err := tx.Select(t.Context(), &list, []dialect.Statement{stmt("UPDATE t SET n = ?", 5), stmt("SELECT id, n, s FROM t WHERE id > ? ORDER BY id", 0)}); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[1].ID != 2 || list[1].N != 5 || list[1].S != "two" {
		t.Errorf("read %+v", list)
	}
	// That there is no row is no error of the transaction.
	var n int
	if err := tx.Get(t.Context(), &n, []dialect.Statement{stmt("SELECT n FROM t WHERE id = ?", 77)}); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a row that is not there: %v", err)
	}
	b.commit(tx)
	b.rows([2]int{1, 5}, [2]int{2, 5})
}

func TestTransaction_CanBeOneMessage(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	b.commit(b.begin(), stmt("UPDATE t SET n = ? WHERE id = ?", 11, 1))
	b.sent("START TRANSACTION / UPDATE t SET n = ? WHERE id = ? / COMMIT")
	b.rows([2]int{1, 11}, [2]int{2, 20})
}

func TestTransaction_WithoutStatementsSendsNothing(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	b.commit(b.begin())
	if err := b.begin().Rollback(); err != nil {
		t.Error(err)
	}
	b.commit(b.begin())
	b.sent()
}

func TestTransaction_RollbackUndoesItsStatements(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	b.exec(tx, stmt("DELETE FROM t WHERE id = 1"))
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	b.sent("START TRANSACTION / DELETE FROM t WHERE id = 1", "ROLLBACK")
	b.rows([2]int{1, 10}, [2]int{2, 20})
}

// The texts of statements are Weir's own; values belong into arguments.
func TestTransaction_RefusesValuesInTexts(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	for text, s := range map[string]dialect.Statement{
		"a semicolon":                 stmt("UPDATE t SET n = 0; UPDATE t SET n = 0"),
		"a question mark in the text": stmt("UPDATE t SET s = '?' WHERE id = 1"),
		"too few arguments":           stmt("UPDATE t SET n = ? WHERE id = ?", 1),
		"too many arguments":          stmt("UPDATE t SET n = ?", 1, 2),
	} {
		tx := b.begin()
		if _, err := tx.Exec(t.Context(), []dialect.Statement{s}); err == nil {
			t.Errorf("%s was taken", text)
		}
		if err := tx.Rollback(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := b.begin().Commit(t.Context(), []dialect.Statement{s}); err == nil {
			t.Errorf("%s was taken at the end", text)
		}
	}
	b.sent()
	// A comment ends with its statement.
	b.commit(b.begin(), stmt("UPDATE t SET n = ? -- a comment", 3), stmt("UPDATE t SET n = n + ? WHERE id = ?", 4, 2))
	b.rows([2]int{1, 3}, [2]int{2, 7})
}

func TestTransaction_SendsLongMessagesInPieces(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	part := strings.Repeat("'", maxMessage/8) // twice as long after escaping
	const update = "UPDATE t SET n = n + 1, s = ? WHERE id = 1"
	var list []dialect.Statement
	for range 5 {
		list = append(list, stmt(update, part))
	}
	b.commit(b.begin(), list...)
	three := strings.Join([]string{update, update, update}, " / ")
	b.sent("START TRANSACTION / "+three, update+" / "+update+" / COMMIT")
	tx := b.begin()
	if n := b.exec(tx, stmt(update, part), stmt(update, part+part+part+part)); n != 1 {
		t.Errorf("%d rows were changed", n)
	}
	b.sent("START TRANSACTION / "+update, update)
	b.commit(tx, stmt(update, part+part+part+part))
	b.sent(update, "COMMIT")
	b.rows([2]int{1, 18}, [2]int{2, 20})
}

func TestSize_CountsTexts(t *testing.T) {
	t.Parallel()
	type word string
	text, long := strings.Repeat("x", 1000), word(strings.Repeat("x", 1000))
	for _, a := range []any{text, []byte(text), json.RawMessage(text), &text, long, &long, sql.NullString{String: text, Valid: true}} {
		if n := size(stmt("DO ?", a)); n < 2000 {
			t.Errorf("a %T of 1,000 bytes counts as %d", a, n)
		}
	}
	var none *string
	for _, a := range []any{nil, 1, int64(1), none, sql.NullString{}, 1.5, true} {
		if n := size(stmt("DO ?", a)); n > 100 {
			t.Errorf("%T %v counts as %d", a, a, n)
		}
	}
}

func TestTransaction_EndedContextSendsNothing(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	tx := b.begin()
	if _, err := tx.Exec(over, []dialect.Statement{stmt("DELETE FROM t")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := tx.Commit(t.Context(), nil); err == nil {
		t.Error("it was committed")
	}
	b.once("UPDATE t SET n = n + 1")
	b.rows([2]int{1, 11}, [2]int{2, 21})
}

// A context that ends while the server executes a statement breaks the connection,
// and with it the transaction.
func TestTransaction_ContextThatEndsBreaksTheConnection(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tx := b.begin()
	id := b.number(tx, stmt("SELECT CONNECTION_ID()"))
	seen := make(chan error)
	go func() {
		err := b.sleeping(id)
		cancel()
		seen <- err
	}()
	_, err := tx.Exec(ctx, []dialect.Statement{stmt("UPDATE t SET n = 1000"), stmt("DO SLEEP(20)")})
	if err := <-seen; err != nil {
		t.Error(err)
	}
	_, _ = b.plain.Exec("KILL ?", id) // its SLEEP would continue
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := tx.Commit(t.Context(), nil); err == nil {
		t.Error("it was committed")
	}
	b.once("INSERT INTO t (id, n) VALUES (9, 90)")
	b.rows([2]int{1, 10}, [2]int{2, 20}, [2]int{9, 90})
}

// sleeping waits until the connection executes SLEEP.
func (b *rig) sleeping(id int) error {
	for n := 0; n == 0; {
		err := b.plain.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE id = ? AND info LIKE '%SLEEP%'", id).Scan(&n)
		if err != nil {
			return err
		}
	}
	return nil
}

// A statement that is too long with its arguments in its text is prepared, after
// the statements before it were sent.
func TestTransaction_PreparesVeryLongStatements(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	var most int
	if err := b.plain.QueryRow("SELECT @@max_allowed_packet").Scan(&most); err != nil {
		t.Fatal(err)
	}
	tx := b.begin()
	long := strings.Repeat("'", most/2+1)
	text := "SELECT LENGTH(?) + SUM(n) FROM t"
	if n := b.number(tx, stmt("UPDATE t SET n = n + 1"), stmt(text, long)); n != len(long)+32 {
		t.Errorf("got %d", n)
	}
	b.commit(tx)
	b.sent("START TRANSACTION / UPDATE t SET n = n + 1", text, "PREPARE "+text, "COMMIT")
}
