package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/persistence/dialect"
)

const longest = 4096 // max bytes of a message of several statements, here

// op is one step of a transaction.
type op struct {
	Text  string
	Args  []any
	Query bool
	Later bool // its result is not needed
}

// script is a transaction.
type script struct {
	Ops    []op
	Commit bool
}

// told records what a program observes of a transaction.
type told struct {
	Committed, Failed bool
	Answers           []int64
}

func scripts() *rapid.Generator[[]script] {
	id := rapid.IntRange(1, 6)
	small := rapid.IntRange(0, 3)
	one := rapid.Custom(func(t *rapid.T) op {
		o := op{Later: rapid.Bool().Draw(t, "later")}
		switch small.Draw(t, "kind") + 4*rapid.IntRange(0, 1).Draw(t, "more") {
		case 0:
			o.Text, o.Args = "INSERT INTO t (id, n, s) VALUES (?, ?, ?)", []any{id.Draw(t, "id"), 1, "x;?'"}
		case 1, 4:
			o.Text, o.Args = "UPDATE t SET n = n + ? WHERE id <= ?", []any{small.Draw(t, "n"), id.Draw(t, "id")}
		case 2:
			o.Text, o.Args = "DELETE FROM t WHERE id = ?", []any{id.Draw(t, "id")}
		case 3:
			o = op{"SELECT COALESCE(SUM(n * id), 0) FROM t WHERE id <= ?", []any{id.Draw(t, "id")}, true, false}
		case 5:
			o.Text, o.Args = "REPLACE INTO t (id, n) VALUES (?, ?), (?, ?)", []any{id.Draw(t, "id"), 5, id.Draw(t, "id"), 6}
		case 6:
			o.Text, o.Args = "INSERT INTO t (id, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + VALUES(n)", []any{id.Draw(t, "id"), 7}
		case 7:
			// Long enough that not all fit into one message.
			o.Text, o.Args = "UPDATE t SET n = n + 1, s = ? WHERE id = ?", []any{strings.Repeat("s", longest/5), id.Draw(t, "id")}
		}
		return o
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) script {
		return script{rapid.SliceOfN(one, 0, 8).Draw(t, "ops"), rapid.IntRange(0, 4).Draw(t, "commit") > 0}
	}), 1, 4)
}

// apart executes a script statement by statement, and rolls back after an error.
func (s script) apart(db *sql.DB) (out told, err error) {
	tx, err := db.Begin()
	if err != nil {
		return out, err
	}
	for _, o := range s.Ops {
		var n int64
		if o.Query {
			err = tx.QueryRow(o.Text, o.Args...).Scan(&n)
		} else {
			var result sql.Result
			if result, err = tx.Exec(o.Text, o.Args...); err == nil {
				n, err = result.RowsAffected()
			}
		}
		if err != nil {
			return told{Failed: true}, known(err, tx.Rollback())
		}
		if !o.Later {
			out.Answers = append(out.Answers, n)
		}
	}
	if !s.Commit {
		return out, tx.Rollback()
	}
	out.Committed = true
	return out, tx.Commit()
}

// together executes a script in a transaction of the writer: statements whose results are not
// needed travel with the next one.
func (s script) together(t context.Context, r *rig) (out told, err error) {
	tx, err := r.d.Begin(t, r.batch)
	if err != nil {
		return out, err
	}
	var list []dialect.Statement
	for _, o := range s.Ops {
		if list = append(list, stmt(o.Text, o.Args...)); o.Later {
			continue
		}
		var n int64
		if o.Query {
			err = tx.Get(t, &n, list)
		} else {
			n, err = tx.Exec(t, list)
		}
		if err != nil {
			return told{Failed: true}, known(err, tx.Rollback())
		}
		out.Answers, list = append(out.Answers, n), nil
	}
	if !s.Commit {
		return out, tx.Rollback()
	}
	if err := tx.Commit(t, list); err != nil {
		return told{Failed: true}, known(err, nil)
	}
	out.Committed = true
	return out, nil
}

// known ignores the error that scripts provoke.
func known(err, then error) error {
	if number(err) == 1062 {
		return then
	}
	return fmt.Errorf("%w, then %w", err, then)
}

// A program always observes the same as if each statement had been sent by itself.
func TestTransaction_IsAsIfStatementsWereSentApart(t *testing.T) {
	t.Parallel()
	plain, joined := rigOf(t, longest), rigOf(t, longest)
	rapid.Check(t, func(rt *rapid.T) {
		for _, r := range []*rig{plain, joined} {
			if _, err := r.plain.Exec("REPLACE INTO t (id, n) VALUES (1, 1), (2, 2), (3, 3)"); err != nil {
				rt.Fatal(err)
			}
			if _, err := r.plain.Exec("DELETE FROM t WHERE id > 3"); err != nil {
				rt.Fatal(err)
			}
		}
		for _, s := range scripts().Draw(rt, "scripts") {
			want, err := s.apart(plain.plain)
			if err != nil {
				rt.Fatal(err)
			}
			got, err := s.together(t.Context(), joined)
			if err != nil {
				rt.Fatal(err)
			}
			if s.Commit || !want.Failed { // what is never sent cannot fail
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("what the program sees (-apart +together):\n%s", diff)
				}
			}
			if a, b := texts(rt, plain), texts(rt, joined); a != b {
				rt.Fatal("the texts differ")
			}
			if diff := cmp.Diff(table(rt, plain.plain), table(rt, joined.plain)); diff != "" {
				rt.Fatalf("rows (-apart +together):\n%s", diff)
			}
		}
	})
}

// texts returns a checksum of the texts in the table.
func texts(t *rapid.T, r *rig) (sum int64) {
	err := r.plain.QueryRow("SELECT COALESCE(SUM(CRC32(CONCAT(id, COALESCE(s, '')))), 0) FROM t").Scan(&sum)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
