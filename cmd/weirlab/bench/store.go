package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"weir/cmd/weirlab/machine"
	"weir/internal/mariadb"
)

// Sizes of a private server, as defined for the workload.
const (
	bufferPool = 1024 // MB
	redoLog    = 512
)

// store creates new databases of one kind.
type store struct {
	kind    string
	folder  string // for files: of the session, or the one in the user's URL
	address string // of a server
	server  *mariadb.Server
}

// database is a new, empty database.
type database struct {
	url   string
	meter Meter
	drop  func() error
}

// openStore opens the store that the user names, and starts a server if it needs one.
// folder is the session's.
func openStore(ctx context.Context, name, folder string) (*store, error) {
	s := &store{kind: kindOf(name), folder: folder}
	switch kind, place, isURL := strings.Cut(name, "://"); {
	case kind == "sqlite" && isURL:
		s.folder = filepath.Dir(place)
	case kind == "sqlite":
	case kind == "mysql" && isURL:
		s.address = name
	case kind == "mysql":
		dir := filepath.Join(folder, "my")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		var err error
		if s.server, err = mariadb.Start(ctx, dir, mariadb.Sizes{BufferPool: bufferPool, RedoLog: redoLog}); err != nil {
			return nil, err
		}
		s.address = s.server.Address()
	default:
		return nil, fmt.Errorf("there is no store %q; there are sqlite, mysql, sqlite://FILE and mysql://USER:PASSWORD@HOST:PORT", kind)
	}
	return s, nil
}

// fresh creates a database.
func (s *store) fresh(ctx context.Context) (database, error) {
	name := "weir_bench_" + strings.ToLower(rand.Text())
	if s.kind == "sqlite" {
		dir := filepath.Join(s.folder, name)
		drop := func() error { return os.RemoveAll(dir) }
		return database{"sqlite://" + filepath.Join(dir, "weir.db"), Meter{}, drop}, os.Mkdir(dir, 0o700)
	}
	url, err := mariadb.CreateDatabase(ctx, s.address, name)
	if err != nil {
		return database{}, err
	}
	d := database{url, Meter{Address: s.address}, func() error {
		return mariadb.DropDatabase(context.WithoutCancel(ctx), s.address, name)
	}}
	if s.server != nil {
		d.meter.PID = s.server.PID()
	}
	return d, nil
}

func (s *store) end() {
	if s.server != nil {
		s.server.Kill() // its data is deleted with it
	}
}

// Meter locates the cost of a store that is a separate process.
type Meter struct {
	Address string // of the server; empty: the store is in the broker's process
	PID     int    // of the server, if this program started it on this machine
}

// reader reads a meter.
type reader struct {
	m Meter
	w *mariadb.Watcher
}

func (m Meter) open() (*reader, error) {
	if m.Address == "" {
		return &reader{m: m}, nil
	}
	w, err := mariadb.Watch(m.Address)
	return &reader{m, w}, err
}

func (r *reader) close() error {
	if r.w == nil {
		return nil
	}
	return r.w.Close()
}

// add adds the store's cost to c.
func (r *reader) add(ctx context.Context, c cost) (cost, error) {
	if r.w == nil {
		return c, nil
	}
	done, err := r.w.Done(ctx)
	c.statements, c.commits, c.written = done.Statements, done.Commits, done.Redo
	if err != nil || r.m.PID == 0 {
		return c, err
	}
	used, err := usageOf(r.m.PID)
	c.server = used.cpu
	return c, err
}

// own returns how many of the statements between two readings are the reader's.
func (r *reader) own() float64 {
	if r.w == nil {
		return 0
	}
	return 1
}

// size returns the proportional set size of the server in bytes; 0 if unknown.
func (r *reader) size() int64 {
	if r.m.PID == 0 {
		return 0
	}
	return machine.PSS(r.m.PID)
}
