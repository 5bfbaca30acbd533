package persistence_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"weir"
	"weir/internal/polling"
	"weir/persistence"
)

// A full disk is not ready, while the process lives on: the writer keeps what it was
// handed and commits it when there is room.
func TestAFullDiskIsNotReady(t *testing.T) {
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
	go func() {
		specs := make([]weir.Spec, 1000)
		for i := range specs {
			specs[i] = weir.Spec{To: "+15550001", Messages: []string{"a message that takes some room"}}
		}
		_, err := s.Accept(t.Context(), c.ID, specs)
		stored <- err
	}()
	await(t, "it is not ready", func() bool { return s.Ready(t.Context()) != nil })
	size("1000000")
	if err := <-stored; err != nil {
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
