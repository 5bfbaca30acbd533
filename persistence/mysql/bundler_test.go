package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"weir/persistence/dialect"
)

func TestStatementsTravelTogether(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	b.sent()
	if n := b.exec(tx, "UPDATE t SET n = n + ?", 1); n != 2 {
		t.Errorf("%d rows were changed", n)
	}
	b.sent("START TRANSACTION / UPDATE t SET n = n + ?")
	b.hold(tx, "INSERT INTO t (id, n, s) VALUES (?, ?, ?)", 3, 30, "a;'?\\")
	b.hold(tx, "UPDATE t SET n = n + ? WHERE id = ?", 1, 3)
	b.sent()
	if n := b.exec(tx, "UPDATE t SET n = n + ? WHERE id IN (?, ?)", 100, 1, 2); n != 2 {
		t.Errorf("%d rows were changed by the last", n)
	}
	b.sent("INSERT INTO t (id, n, s) VALUES (?, ?, ?) / UPDATE t SET n = n + ? WHERE id = ? / UPDATE t SET n = n + ? WHERE id IN (?, ?)")
	b.hold(tx, "DELETE FROM t WHERE id = ?", 2)
	if n := b.number(tx, "SELECT SUM(n) + ? FROM t", 1000); n != 1000+111+31 {
		t.Errorf("the query got %d", n)
	}
	b.sent("DELETE FROM t WHERE id = ? / SELECT SUM(n) + ? FROM t")
	b.hold(tx, "REPLACE INTO t (id, n) VALUES (?, ?)", 4, 40)
	b.commit(tx)
	b.sent("REPLACE INTO t (id, n) VALUES (?, ?) / COMMIT")
	b.rows([2]int{1, 111}, [2]int{3, 31}, [2]int{4, 40})
	var text string
	if err := b.plain.QueryRow("SELECT s FROM t WHERE id = 3").Scan(&text); err != nil || text != "a;'?\\" {
		t.Errorf("the text is %q (%v)", text, err)
	}
	if n := b.counter.Count(); n != 7 {
		t.Errorf("%d statements were counted", n)
	}
	if n := b.counter.Trips(); n != 4 {
		t.Errorf("%d round trips were counted", n)
	}
}

func TestATransactionCanBeOneMessage(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	b.hold(tx, "UPDATE t SET n = ? WHERE id = ?", 11, 1)
	b.commit(tx)
	b.sent("START TRANSACTION / UPDATE t SET n = ? WHERE id = ? / COMMIT")
	b.rows([2]int{1, 11}, [2]int{2, 20})
}

func TestNothingToSayCostsNothing(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	b.commit(b.begin())
	tx := b.begin()
	b.hold(tx, "DELETE FROM t")
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	b.commit(b.begin())
	b.sent()
	b.rows([2]int{1, 10}, [2]int{2, 20})
}

func TestRollbackForgetsWhatWasHeld(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	b.exec(tx, "DELETE FROM t WHERE id = 1")
	b.hold(tx, "DELETE FROM t")
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	b.sent("START TRANSACTION / DELETE FROM t WHERE id = 1", "ROLLBACK")
	b.rows([2]int{1, 10}, [2]int{2, 20})
}

func TestArgumentsAreKept(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	text := []byte("before")
	b.hold(tx, "UPDATE t SET s = ? WHERE id = 1", text)
	copy(text, "behind")
	b.commit(tx)
	var got string
	if err := b.plain.QueryRow("SELECT s FROM t WHERE id = 1").Scan(&got); err != nil || got != "before" {
		t.Errorf("got %q (%v)", got, err)
	}
}

// Statements that cannot wait, or cannot be joined, keep their place in the order.
func TestWhatCannotBeJoined(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	b.hold(tx, "UPDATE t SET n = 1 WHERE id = 1")
	b.hold(tx, "SELECT n FROM t")
	b.sent("START TRANSACTION / UPDATE t SET n = 1 WHERE id = 1 / SELECT n FROM t")
	b.hold(tx, "UPDATE t SET n = 2 WHERE id = 1")
	b.hold(tx, "UPDATE t SET s = '?' WHERE id = 1")
	b.sent("UPDATE t SET n = 2 WHERE id = 1", "UPDATE t SET s = '?' WHERE id = 1")
	b.hold(tx, "UPDATE t SET n = ? -- a comment", 3)
	b.hold(tx, "UPDATE t SET n = n + ? WHERE id = ?", 4, 2)
	if n := b.number(tx, "SELECT SUM(n) FROM t"); n != 10 {
		t.Errorf("the sum is %d", n)
	}
	if _, err := tx.Exec("UPDATE t SET n = 0;"); err == nil {
		t.Error("a semicolon was taken")
	}
	b.commit(tx)
	if _, err := b.batch.Exec("UPDATE t SET n = 0; UPDATE t SET n = 0"); err == nil {
		t.Error("two statements in one were taken")
	}
	b.rows([2]int{1, 3}, [2]int{2, 7})
}

func TestRowsOfAHeldStatementAreNotTakenForTheQuerys(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	tx := b.begin()
	b.hold(tx, "INSERT INTO t (id, n) VALUES (7, 70)")
	b.hold(tx, b.givesRows())
	if n := b.number(tx, "SELECT n FROM t WHERE id = ?", 7); n != 70 {
		t.Errorf("got %d", n)
	}
	b.commit(tx)
}

func TestLongMessagesGoInPieces(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	part := strings.Repeat("'", maxMessage/8) // twice as long after escaping
	tx := b.begin()
	for range 5 {
		b.hold(tx, "UPDATE t SET n = n + 1, s = ? WHERE id = 1", part)
	}
	b.commit(tx)
	update := "UPDATE t SET n = n + 1, s = ? WHERE id = 1"
	three := strings.Join([]string{update, update, update}, " / ")
	b.sent("START TRANSACTION / "+three, update+" / "+update+" / COMMIT")
	tx = b.begin()
	b.hold(tx, update, part)
	if n := b.exec(tx, update, part+part+part+part); n != 1 {
		t.Errorf("%d rows were changed", n)
	}
	b.hold(tx, update, part+part+part+part)
	b.sent("START TRANSACTION / "+update, update, update)
	b.commit(tx)
	b.rows([2]int{1, 18}, [2]int{2, 20})
}

func TestContextThatHasEnded(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	tx := b.begin()
	b.hold(tx, "UPDATE t SET n = 11 WHERE id = 1")
	for name, ctx := range map[string]context.Context{"at once": over, "later": dialect.Later(over)} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM t"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.sent()
	b.hold(tx, "UPDATE t SET n = 21 WHERE id = 2")
	b.commit(tx)
	b.rows([2]int{1, 11}, [2]int{2, 21})
}

// A context that ends while the server executes a statement breaks the connection,
// and with it the transaction.
func TestContextThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tx := b.begin()
	id := b.number(tx, "SELECT CONNECTION_ID()")
	b.hold(tx, "UPDATE t SET n = 1000")
	seen := make(chan error)
	go func() {
		err := b.sleeping(id)
		cancel()
		seen <- err
	}()
	_, err := tx.ExecContext(ctx, "DO SLEEP(20)")
	if err := <-seen; err != nil {
		t.Error(err)
	}
	_, _ = b.plain.Exec("KILL ?", id) // its SLEEP would continue
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := tx.Commit(); err == nil {
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

func TestPreparedStatementsKeepTheirPlace(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	stmt, err := b.batch.Prepare("UPDATE t SET n = n * ?")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	sum, err := b.batch.Prepare("SELECT SUM(n) FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sum.Close() }()
	b.seen.take()
	tx := b.begin()
	result, err := tx.Stmt(stmt).ExecContext(b.later, 2) //nolint:sqlclosecheck // ends with the transaction
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); n != 2 || err != nil {
		t.Errorf("%d rows were changed (%v)", n, err)
	}
	b.hold(tx, "UPDATE t SET n = n + 1")
	var n int
	err = tx.Stmt(sum).QueryRow().Scan(&n) //nolint:sqlclosecheck // ends with the transaction
	if err != nil || n != 62 {
		t.Errorf("the sum is %d (%v)", n, err)
	}
	b.hold(tx, "UPDATE t SET n = n + 1")
	add, err := tx.Prepare("UPDATE t SET n = n * ? WHERE id = 1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = add.Close() }()
	if _, err := add.Exec(2); err != nil {
		t.Error(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	b.sent("START TRANSACTION", "UPDATE t SET n = n + 1", "UPDATE t SET n = n + 1", "PREPARE UPDATE t SET n = n * ? WHERE id = 1", "ROLLBACK")
	b.rows([2]int{1, 10}, [2]int{2, 20})
}

// A statement that is too long with its arguments in its text is prepared, after
// the held statements were sent.
func TestVeryLongArgumentsAreNotWrittenIntoTheText(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	var most int
	if err := b.plain.QueryRow("SELECT @@max_allowed_packet").Scan(&most); err != nil {
		t.Fatal(err)
	}
	tx := b.begin()
	b.hold(tx, "UPDATE t SET n = n + 1")
	long := strings.Repeat("'", most/2+1)
	if n := b.number(tx, "SELECT LENGTH(?) + SUM(n) FROM t", long); n != len(long)+32 {
		t.Errorf("got %d", n)
	}
	b.commit(tx)
	text := "SELECT LENGTH(?) + SUM(n) FROM t"
	b.sent("START TRANSACTION / UPDATE t SET n = n + 1", text, "PREPARE "+text, "COMMIT")
}

func TestOtherKindsOfTransactionsAreRefused(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	for _, o := range []sql.TxOptions{{ReadOnly: true}, {Isolation: sql.LevelSerializable}} {
		if tx, err := b.batch.BeginTx(t.Context(), &o); err == nil {
			_ = tx.Rollback()
			t.Errorf("%+v was begun", o)
		}
	}
}

func TestAStatementOutsideOfATransactionIsOne(t *testing.T) {
	t.Parallel()
	b := newRig(t)
	if _, err := b.batch.ExecContext(b.later, "UPDATE t SET n = 1"); err != nil {
		t.Error(err)
	}
	b.rows([2]int{1, 1}, [2]int{2, 1})
	stmt, err := b.batch.Prepare("UPDATE t SET n = ?")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	if _, err := stmt.Exec(2); err != nil {
		t.Error(err)
	}
	b.rows([2]int{1, 2}, [2]int{2, 2})
}
