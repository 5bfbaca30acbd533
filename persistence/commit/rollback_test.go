package commit_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/jmoiron/sqlx"

	"weir"
	"weir/persistence"
	"weir/persistence/dialect"
	"weir/persistence/storetest"
)

// ending is a database that requires of the writer to end each transaction. It ends the others, so that the
// test does not hang.
type ending struct {
	dialect.Database
	t      *testing.T
	open   dialect.Transaction // used on the writer's goroutine
	failed atomic.Int32        // transactions that were not committed
}

// Begin implements [dialect.Database].
func (d *ending) Begin(ctx context.Context, batch *sqlx.DB) (dialect.Transaction, error) {
	if d.open != nil {
		d.t.Error("a transaction begins, and the one before has not ended")
		_ = d.open.Rollback()
	}
	tx, err := d.Database.Begin(ctx, batch)
	if err != nil {
		return nil, err
	}
	d.open = tx
	return &ended{tx, d}, nil
}

type ended struct {
	dialect.Transaction
	of *ending
}

// Commit implements [dialect.Transaction].
func (tx *ended) Commit(ctx context.Context, list []dialect.Statement) error {
	tx.of.open = nil
	err := tx.Transaction.Commit(ctx, list)
	if err != nil {
		tx.of.failed.Add(1)
	}
	return err
}

// Rollback implements [dialect.Transaction].
func (tx *ended) Rollback() error {
	tx.of.open = nil
	tx.of.failed.Add(1)
	return tx.Transaction.Rollback()
}

// Whatever a try to write a batch ends with, its transaction ends, too: the writer has one connection, and
// would wait for itself.
func TestWriter_EndsEachTransaction(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		db, err := persistence.OpenDatabase(t.Context(), url, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		d := &ending{Database: db, t: t}
		s := persistence.On(d, persistence.Options{})
		t.Cleanup(func() {
			if err := s.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		for _, do := range []func(context.Context) error{s.MigrateUp, s.Join} {
			if err := do(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		id, lease := storetest.OpenChannel(t, s, "a")
		got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "1", Key: "k"}})
		if err != nil {
			t.Fatal(err)
		}
		claim := storetest.Advance(got[0].Contact)
		stale := claim
		stale.From += 100
		for _, x := range []struct {
			name string
			do   func() error
			want weir.Code
		}{
			{"a request that is excluded", func() error {
				_, err := s.Accept(t.Context(), id, []weir.Spec{{To: "2", Key: "k"}})
				return err
			}, weir.CodeKeyReused},
			{"a claim of another revision", func() error {
				r := <-storetest.Commit(s, lease, stale)
				if len(r.Stale) != 1 {
					t.Errorf("%+v", r)
				}
				return r.Err
			}, ""},
		} {
			before := d.failed.Load()
			if err := x.do(); weir.CodeOf(err) != x.want {
				t.Errorf("%s: %v, want %q", x.name, err, x.want)
			}
			if d.failed.Load() == before {
				t.Errorf("%s: no try failed", x.name)
			}
		}
		if r := <-storetest.Commit(s, lease, claim); r.Err != nil || len(r.Stale) > 0 {
			t.Errorf("the claim: %+v", r)
		}
	})
}
