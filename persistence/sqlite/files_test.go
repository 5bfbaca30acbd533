package sqlite_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/persistence/sqlite"
)

// Under the usual umask new files are readable by every user. Only the owner can read
// the database's files. Existing files keep their mode, with a warning.
func TestFiles_AreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weir.db")
	var log bytes.Buffer
	open := func(want os.FileMode) {
		t.Helper()
		d, err := sqlite.Open(t.Context(), path, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		if _, err := d.Pools().Write.Exec("CREATE TABLE IF NOT EXISTS t (a INT)"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, path + "-wal", path + "-shm"} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if mode := info.Mode().Perm(); mode != want {
				t.Errorf("%s has mode %v, want %v", name, mode, want)
			}
		}
	}
	open(0o600)
	if log.Len() > 0 {
		t.Errorf("a warning: %s", log.String())
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(0o644)
	if text := log.String(); !strings.Contains(text, "accessible to other users") || !strings.Contains(text, "weir.db") {
		t.Errorf("no warning: %s", text)
	}
}
