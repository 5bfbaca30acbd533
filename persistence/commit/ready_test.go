package commit_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weir"
	"weir/internal/polling"
	"weir/persistence"
	"weir/persistence/storetest"
)

// A full disk is not ready, while the process lives on: the writer keeps what it was
// handed and commits it when there is room.
func TestReady_FullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	db, err := persistence.OpenDatabase(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "weir.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := persistence.On(db, persistence.Options{})
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	if err := s.MigrateUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, _, err := s.PutChannel(t.Context(), weir.Channel{Name: "a", Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	size := func(pages string) {
		if _, err := db.Pools().Write.Exec("PRAGMA max_page_count = " + pages); err != nil {
			t.Error(err)
		}
	}
	size("1") // no more than there are
	stored := make(chan error, 1)
	accept := func() error {
		specs := make([]weir.Spec, 1000)
		for i := range specs {
			specs[i] = weir.Spec{Key: fmt.Sprint(i), To: "+15550001", Messages: []string{"a message that takes some room"}}
		}
		_, err := s.Accept(t.Context(), c.ID, specs)
		return err
	}
	go func() { stored <- accept() }()
	await(t, "it is not ready", func() bool { return s.Ready(t.Context()) != nil })
	size("1000000")
	err = <-stored
	if weir.CodeOf(err) == weir.CodeUnavailable { // on a slow machine two seconds had gone, which is all that a caller waits
		await(t, "it is ready", func() bool { return s.Ready(t.Context()) == nil })
		err = accept()
	}
	if err != nil {
		t.Error(err)
	}
	await(t, "it is ready", func() bool { return s.Ready(t.Context()) == nil })
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !polling.Until(20*time.Second, 10*time.Millisecond, is) {
		t.Fatal("never: " + what)
	}
}

// A damaged table is not ready, though batches that do not touch it are committed, and
// nothing arrives any more.
func TestReady_DamagedTableIsNotReady(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weir.db")
	s := storetest.Open(t, "sqlite://"+path, persistence.Options{})
	id, _ := storetest.OpenChannel(t, s, "a")
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	damage(t, path, "contacts_expiring") // which a start does not read
	s = storetest.OpenOnly(t, "sqlite://"+path, persistence.Options{})
	if err := s.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Accept(ctx, id, []weir.Spec{{To: "+15550001", NotAfter: time.Now().Add(time.Hour)}}); err == nil {
		t.Fatal("a contact was accepted into a damaged table")
	}
	for i := range 20 { // what is written to other tables succeeds meanwhile
		if s.Ready(t.Context()) == nil {
			t.Fatalf("it is ready after %d writes to other tables", i)
		}
		await(t, "another table is written", func() bool {
			_, _, err := s.PutChannel(t.Context(), weir.Channel{Name: fmt.Sprintf("b-%d", i), Capacity: 1})
			return err == nil
		})
	}
}

// damage overwrites the root page of a table.
func damage(t *testing.T, path, table string) {
	t.Helper()
	db, err := persistence.OpenDatabase(t.Context(), "sqlite://"+path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var page, size int64
	if err := db.Pools().Write.QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_schema WHERE name = ?", table).Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := db.Pools().Write.QueryRowContext(t.Context(), "PRAGMA page_size").Scan(&size); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pools().Write.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, int(size)), (page-1)*size); err != nil {
		t.Fatal(err)
	}
}

// A process whose row in writers is gone has no fence: it writes nothing, whether it knows the
// channel already or reads it first.
func TestWriter_WritesNothingWithoutItsRow(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url, persistence.Options{})
		known, _ := storetest.OpenChannel(t, s, "a")
		accept := func(id weir.ChannelID) error {
			_, err := s.Accept(t.Context(), id, []weir.Spec{{To: "+15550001"}})
			return err
		}
		if err := accept(known); err != nil {
			t.Fatal(err)
		}
		read, _ := storetest.OpenChannel(t, s, "b")
		db, err := persistence.OpenDatabase(t.Context(), url, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.Pools().Write.ExecContext(t.Context(), "DELETE FROM writers"); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[weir.ChannelID]int64{known: 1, read: 0} {
			if accept(id) == nil {
				t.Error("a contact was accepted")
			}
			if n, err := s.QueuedCount(t.Context(), id); err != nil || n != want {
				t.Errorf("%d contacts are queued, want %d (%v)", n, want, err)
			}
		}
	})
}
