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
	Later bool
	Over  bool // its context has ended
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
		o := op{Later: rapid.Bool().Draw(t, "later"), Over: rapid.IntRange(0, 19).Draw(t, "over") == 0}
		switch small.Draw(t, "kind") + 4*rapid.IntRange(0, 1).Draw(t, "more") {
		case 0:
			o.Text, o.Args = "INSERT INTO t (id, n, s) VALUES (?, ?, ?)", []any{id.Draw(t, "id"), 1, "x;?'"}
		case 1, 4:
			o.Text, o.Args = "UPDATE t SET n = n + ? WHERE id <= ?", []any{small.Draw(t, "n"), id.Draw(t, "id")}
		case 2:
			o.Text, o.Args = "DELETE FROM t WHERE id = ?", []any{id.Draw(t, "id")}
		case 3:
			o.Text, o.Args, o.Query = "SELECT COALESCE(SUM(n * id), 0) FROM t WHERE id <= ?", []any{id.Draw(t, "id")}, true
		case 5:
			o.Text, o.Args = "REPLACE INTO t (id, n) VALUES (?, ?), (?, ?)", []any{id.Draw(t, "id"), 5, id.Draw(t, "id"), 6}
		case 6:
			o.Text, o.Args = "INSERT INTO t (id, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + VALUES(n), s = '?'", []any{id.Draw(t, "id"), 7}
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

// run executes a script as a careful program does: after an error it rolls back,
// except after an error of the context, which changes nothing.
func (s script) run(db *sql.DB, over context.Context) (out told, err error) {
	tx, err := db.Begin()
	if err != nil {
		return out, err
	}
	for _, o := range s.Ops {
		ctx := context.Background()
		if o.Over {
			ctx = over
		}
		n, err := o.run(ctx, tx)
		switch {
		case err != nil && o.Over:
		case err != nil:
			return told{Failed: true}, known(err, tx.Rollback())
		case !o.Later:
			out.Answers = append(out.Answers, n)
		}
	}
	if !s.Commit {
		return out, tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
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

func (o op) run(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	if o.Query {
		err = tx.QueryRowContext(ctx, o.Text, o.Args...).Scan(&n)
		return n, err
	}
	if o.Later {
		_, err = tx.ExecContext(dialect.Later(ctx), o.Text, o.Args...)
		return 0, err
	}
	result, err := tx.ExecContext(ctx, o.Text, o.Args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// A program always observes the same as if each statement had been sent by itself.
func TestBundlesChangeNothing(t *testing.T) {
	t.Parallel()
	plain, bundled := rigOf(t, longest), rigOf(t, longest)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	rapid.Check(t, func(t *rapid.T) {
		for _, r := range []*rig{plain, bundled} {
			if _, err := r.plain.Exec("REPLACE INTO t (id, n) VALUES (1, 1), (2, 2), (3, 3)"); err != nil {
				t.Fatal(err)
			}
			if _, err := r.plain.Exec("DELETE FROM t WHERE id > 3"); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range scripts().Draw(t, "scripts") {
			want, err := s.run(plain.plain, over)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.run(bundled.batch, over)
			if err != nil {
				t.Fatal(err)
			}
			if s.Commit || !want.Failed { // what is never sent cannot fail
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("what the program sees (-each by itself +bundled):\n%s", diff)
				}
			}
			if a, b := texts(t, plain), texts(t, bundled); a != b {
				t.Fatal("the texts differ")
			}
			if diff := cmp.Diff(table(t, plain.plain), table(t, bundled.plain)); diff != "" {
				t.Fatalf("rows (-each by itself +bundled):\n%s", diff)
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
