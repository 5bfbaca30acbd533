package sqlite_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"weir/persistence/dialect"
	"weir/persistence/sqlite"
)

// A path that cannot be the file of a database is refused with what is wrong with it.
func TestOpen_SaysWhatIsWrongWithThePath(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, f := range []string{filepath.Dir(folder), folder} {
		if err := os.Chmod(f, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(folder, "closed")
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(folder, "foreign.db")
	if err := os.WriteFile(foreign, nil, 0o000); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{folder, folder + " is a folder; set DATABASE_URL to a file"},
		{filepath.Join(folder, "none", "weir.db"), "the folder " + filepath.Join(folder, "none") + " does not exist; make it"},
		{filepath.Join(folder, "none", "of", "them", "weir.db"), "does not exist; make it"},
		{filepath.Join(folder, "file", "weir.db"), filepath.Join(folder, "file") + " is not a folder"},
		{filepath.Join(closed, "weir.db"), "cannot make files in the folder " + closed},
		{foreign, "cannot read and write the file"},
	} {
		asNobody(t, func() {
			d, err := sqlite.Open(t.Context(), c.path, slog.New(slog.DiscardHandler))
			if err == nil {
				_ = d.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q", c.path, err, c.want)
			}
		})
	}
}

// The last connection moves the log into the file if the disk has room for that, and leaves it
// beside the file otherwise, with a warning. Nothing is lost in either case.
func TestClose_MovesTheLogIfThereIsRoom(t *testing.T) {
	t.Parallel()
	const rows = 3000
	for _, c := range []struct {
		name  string
		free  uint64
		moved bool
	}{
		{"much", 1 << 40, true}, {"enough", 5 << 20, true}, {"little", 1 << 20, false}, {"none", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "weir.db")
			var log bytes.Buffer
			d, err := sqlite.Open(t.Context(), path, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{
				"CREATE TABLE t (a BLOB)",
				"INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT randomblob(1000) FROM n", // about 3 MB
			} {
				if _, err := d.Pools().Write.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			before := size(path)
			sqlite.SetFree(d, c.free)
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if moved := size(path) > before; moved != c.moved || (size(path+"-wal") > 0) == c.moved {
				t.Errorf("the file has %d bytes, before %d, its log %d", size(path), before, size(path+"-wal"))
			}
			if told := strings.Contains(log.String(), "the disk has no room"); told == c.moved {
				t.Errorf("log: %s", log.String())
			}
			again, err := sqlite.Open(t.Context(), path, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = again.Close() }()
			var n int
			if err := again.Pools().Read.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != rows {
				t.Errorf("%d rows (%v)", n, err)
			}
		})
	}
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// A start asks for room, and says how much there is.
func TestRoom_SaysWhatIsNeeded(t *testing.T) {
	t.Parallel()
	d, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "weir.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if runtime.GOOS == "linux" && d.Room(true) != nil { // what the system says
		t.Error(d.Room(true))
	}
	for migrate, most := range map[bool]uint64{false: 1 << 19, true: 1 << 23} {
		sqlite.SetFree(d, 1000)
		full, ok := errors.AsType[*dialect.NoRoomError](d.Room(migrate))
		if !ok || full.Free != 1000 || full.Needs > most || full.Needs < most/4 || !strings.Contains(full.Error(), "1000 bytes left") {
			t.Errorf("migrate %v: %v", migrate, d.Room(migrate))
			continue
		}
		sqlite.SetFree(d, full.Needs)
		if err := d.Room(migrate); err != nil {
			t.Error(err)
		}
	}
}
