package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"weir/persistence/dialect"
)

// file is the file of a database, and its write-ahead log, as they were opened.
type file struct {
	path   string
	opened [2]atomic.Pointer[os.FileInfo] // of the file and of its log; nil: not yet
	// anchor is opened first and closed last. While it is open, SQLite does not remove the log; the
	// close of the last connection moves the whole log into the file, then removes it.
	anchor driver.Conn
	free   func(path string) (bytes uint64, known bool) // on its disk
}

// Room that a database needs on its disk.
const (
	startRoom   = 256 << 10 // to start: for the index of the log and a few changes; reads need no more
	migrateRoom = 4 << 20   // to take steps of the schema
	margin      = 1 << 20   // beside what the last checkpoint writes
)

func newFile(path string) *file { return &file{path: path, free: freeSpace} }

// open opens the anchor.
func (f *file) open(ctx context.Context, dsn string) error {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return err
	}
	if f.anchor, err = c.Connect(ctx); err != nil {
		return f.explain(err)
	}
	if _, err := f.ask(ctx, "SELECT COUNT(*) FROM sqlite_schema"); err != nil { // opens the log
		return f.explain(err)
	}
	return f.present()
}

// ask asks the anchor for a number.
func (f *file) ask(ctx context.Context, text string) (int64, error) {
	rows, err := f.anchor.(driver.QueryerContext).QueryContext(ctx, text, nil) //nolint:forcetypeassert // the driver's own
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return 0, err
	}
	n, _ := row[0].(int64)
	return n, nil
}

// explain returns a one-line error for a file that cannot be opened, or err if the cause is
// unknown.
func (f *file) explain(err error) error {
	folder := filepath.Dir(f.path)
	if f.lacks(startRoom) != nil && isFull(err) {
		return f.lacks(startRoom)
	}
	if info, e := os.Stat(folder); errors.Is(e, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist; make it, or set DATABASE_URL to a file in another one", folder)
	} else if e == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder; set DATABASE_URL to a file in a folder", folder)
	}
	if info, e := os.Stat(f.path); e == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; set DATABASE_URL to a file, such as sqlite://%s", f.path, filepath.Join(f.path, "weir.db"))
	}
	if probe, e := os.OpenFile(f.path, os.O_RDWR, 0); e == nil {
		_ = probe.Close()
	} else if !errors.Is(e, fs.ErrNotExist) {
		return fmt.Errorf("this process cannot read and write the file: %w", e)
	}
	// SQLite makes other files beside it.
	if probe, e := os.CreateTemp(folder, ".weir-probe-*"); e == nil {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
	} else {
		return fmt.Errorf("this process cannot make files in the folder %s, which SQLite has to: %w", folder, e)
	}
	return err
}

// isFull reports whether an error may be that of a disk without room: the index of the log is
// not extended, which is another error.
func isFull(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code()&0xff == sqlite3.SQLITE_IOERR || e.Code()&0xff == sqlite3.SQLITE_CANTOPEN)
}

// lacks returns an error if the disk has no room for so many bytes.
func (f *file) lacks(needed uint64) error {
	free, known := f.free(filepath.Dir(place(f.path)))
	if !known || free >= needed {
		return nil
	}
	return &dialect.NoRoomError{Folder: filepath.Dir(f.path), Free: free, Needs: needed}
}

// errNotThere reports that a file is no longer where it was opened.
var errNotThere = errors.New("not the file that was opened")

// guarded opens connections to the file that was opened first, and to no other: beside another
// one the log is that of a stranger.
type guarded struct {
	driver.Connector
	file *file // nil: it is in memory
}

// Connect implements driver.Connector.
func (g guarded) Connect(ctx context.Context) (driver.Conn, error) {
	if g.file != nil {
		if err := g.file.present(); err != nil {
			return nil, err
		}
	}
	return g.Connector.Connect(ctx)
}

// present returns an error if the file, or its log, is no longer where it was opened: what is
// written to it then cannot be found after a restart.
func (f *file) present() error {
	for i, path := range []string{f.path, f.log()} {
		now, err := os.Stat(path)
		was := f.opened[i].Load()
		switch {
		case err == nil && was == nil:
			f.opened[i].CompareAndSwap(nil, &now)
		case err == nil && !os.SameFile(*was, now):
			return fmt.Errorf("%w: the file %s was replaced while it was in use; what was stored since is in the former one", errNotThere, path)
		case errors.Is(err, fs.ErrNotExist) && was != nil:
			return fmt.Errorf("%w: the file %s was removed while it was in use; what was stored since is lost, unless the file is brought back", errNotThere, path)
		}
	}
	return nil
}

// close closes the anchor. SQLite then moves all of the log into the file, which may have to
// grow for it: if the disk has no room, the anchor stays open and the log as it is, which the
// next start reads.
func (f *file) close(ctx context.Context, warn func(msg string, fields ...any)) error {
	if f.anchor == nil {
		return nil
	}
	growth, err := f.growth(ctx)
	if err == nil {
		err = f.lacks(growth + margin)
	}
	anchor := f.anchor
	f.anchor = nil
	if full, ok := errors.AsType[*dialect.NoRoomError](err); ok {
		warn("the log of the database was not moved into its file, since the disk has no room; it stays beside it",
			"file", f.log(), "free", full.Free, "needed", full.Needs)
		return nil
	}
	replaced := f.replaced()
	if err := anchor.Close(); err != nil || !replaced {
		return err
	}
	// SQLite leaves the log there, and would take it for that of the file that has this name now.
	warn("the log of the former file of the database is kept under another name", "file", f.log()+".former")
	return os.Rename(f.log(), f.log()+".former")
}

// log is the path of the write-ahead log.
func (f *file) log() string { return place(f.path) + "-wal" }

// replaced reports whether the file is another one, beside which the log of the former one still lies.
func (f *file) replaced() bool {
	return !f.same(0, f.path) && f.same(1, f.log())
}

// same reports whether a path leads to the file that was opened there.
func (f *file) same(i int, path string) bool {
	was := f.opened[i].Load()
	now, err := os.Stat(path)
	return err == nil && was != nil && os.SameFile(*was, now)
}

// growth is by how many bytes the file grows when all of its log is moved into it.
func (f *file) growth(ctx context.Context) (uint64, error) {
	pages, err := f.ask(ctx, "PRAGMA page_count")
	if err != nil {
		return 0, err
	}
	size, err := f.ask(ctx, "PRAGMA page_size")
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return 0, err
	}
	return uint64(max(0, pages*size-info.Size())), nil
}
