// Package mariadb runs private MariaDB or MySQL servers, for tests and
// measurements. Each has its own data directory, its own socket, and a port on
// 127.0.0.1, and is no system service. On Linux, a server ends with the process
// that started it. Commits are flushed to disk as in production. Weir itself
// never starts a server.
package mariadb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The account of every private server.
const (
	user     = "weir"
	password = "weir"
)

const (
	startLimit = 60 * time.Second
	startTries = 5
)

// Sizes limit the resources of a server, in MB.
type Sizes struct {
	BufferPool int
	RedoLog    int
}

// Small returns sizes that are enough for tests.
func Small() Sizes { return Sizes{BufferPool: 128, RedoLog: 64} }

// Server is a private server.
type Server struct {
	dir     string
	sizes   Sizes
	program string
	options []string
	port    int
	cmd     *exec.Cmd
	exited  chan struct{}
	member  *member // nil: of no group
}

// Start initializes a data directory below dir, which must be empty, and runs a
// server on it. The path of dir must be short: it contains a socket.
//
// Options, such as --innodb-page-size=4k, hold from the initialization on.
func Start(ctx context.Context, dir string, sizes Sizes, options ...string) (*Server, error) {
	return StartAt(ctx, dir, 0, sizes, options...)
}

// StartAt is Start with a port that is taken if it is free; 0: any.
func StartAt(ctx context.Context, dir string, port int, sizes Sizes, options ...string) (*Server, error) {
	path, err := program(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, sizes: sizes, program: path, port: port, options: options}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// begin initializes the data directory and runs the server.
func (s *Server) begin(ctx context.Context) error {
	err := s.initialise(ctx)
	if err != nil {
		return err
	}
	for try := range startTries {
		if try > 0 || s.port == 0 || !free(ctx, s.port) {
			if s.port, err = freePort(ctx); err != nil {
				return err
			}
		}
		if err = s.run(ctx); err == nil {
			return nil
		}
	}
	return err
}

// Address returns the server's address with an account that has all privileges, in
// the form of DATABASE_URL without a database.
func (s *Server) Address() string {
	return fmt.Sprintf("mysql://%s:%s@127.0.0.1:%d/", user, password, s.port)
}

// Version returns the server's product and version.
func (s *Server) Version(ctx context.Context) (version string, err error) {
	db, err := Open(s.Address())
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	err = db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	if !strings.Contains(version, "MariaDB") {
		version = "MySQL " + version
	}
	return version, err
}

// Kill ends the server with SIGKILL and waits until it has exited.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
}

// PID returns the process id of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Exited returns a channel that is closed when the server's process has exited.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Restart kills the server, then runs it again on the same data and the same port.
func (s *Server) Restart(ctx context.Context) error {
	s.Kill()
	return s.run(ctx)
}

// initialise creates the directories of the server, and the system tables.
func (s *Server) initialise(ctx context.Context) error {
	for _, dir := range []string{s.data(), s.temporary()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	version, err := exec.CommandContext(ctx, s.program, "--version").Output() //nolint:gosec // the server program that was found
	if err != nil {
		return fmt.Errorf("%s --version: %w", s.program, err)
	}
	args := append(s.common(), "--initialize-insecure")
	var script io.Reader
	if strings.Contains(string(version), "MariaDB") {
		// mariadb-install-db does the same, but needs programs of other packages.
		args = append(s.common(), "--bootstrap")
		if script, err = systemTables(); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, s.program, args...) //nolint:gosec // the server program that was found
	cmd.Stdin = script
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make a data folder with %s: %w\n%s", s.program, err, tail(out))
	}
	// Not logged: each member of a group makes it.
	account := fmt.Sprintf("SET SQL_LOG_BIN = 0;\nCREATE USER IF NOT EXISTS '%[1]s'@'%%' IDENTIFIED BY '%[2]s';\nGRANT ALL PRIVILEGES ON *.* TO '%[1]s'@'%%' WITH GRANT OPTION;\n", user, password)
	return os.WriteFile(s.initFile(), []byte(account), 0o600)
}

// systemTables returns the SQL that MariaDB ships to initialize a data directory.
func systemTables() (io.Reader, error) {
	parts := []io.Reader{strings.NewReader("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")}
	for _, name := range []string{"system_tables.sql", "performance_tables.sql", "system_tables_data.sql"} {
		text, err := shared(name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, strings.NewReader(text+"\n"))
	}
	return io.MultiReader(parts...), nil
}

// shared reads one of MariaDB's own SQL files; their names and directory differ
// between versions and systems.
func shared(name string) (string, error) {
	for _, dir := range []string{"/usr/share/mysql", "/usr/share/mariadb", "/usr/local/share/mysql", "/usr/local/share/mariadb", "/opt/homebrew/share/mysql", "/opt/homebrew/share/mariadb"} {
		for _, prefix := range []string{"mysql_", "mariadb_"} {
			text, err := os.ReadFile(filepath.Join(dir, prefix+name)) //nolint:gosec // names of our own
			if err == nil {
				return string(text), nil
			}
		}
	}
	return "", fmt.Errorf("MariaDB's file mysql_%s is missing; %w", name, errNoServer)
}

// run starts the process and waits until it accepts connections.
func (s *Server) run(ctx context.Context) error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// The process outlives ctx on purpose: ctx limits only the start.
	cmd := exec.Command(s.program, append(s.common(), //nolint:noctx,gosec // see above
		"--port="+strconv.Itoa(s.port), "--bind-address=127.0.0.1", "--skip-name-resolve",
		"--init-file="+s.initFile(), "--max-connections=500",
	)...)
	cmd.Args = append(append(cmd.Args, s.member.options()...), s.options...) // of an option the last one counts
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = endWithParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.exited = cmd, make(chan struct{})
	go func(exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(s.exited)
	if err := s.await(ctx); err != nil {
		s.Kill()
		return fmt.Errorf("start %s: %w\n%s", s.program, err, s.logTail())
	}
	return nil
}

// logTail returns the end of the server's log.
func (s *Server) logTail() []byte {
	out, _ := os.ReadFile(s.log())
	return tail(out)
}

// await waits until the server accepts connections, at most startLimit.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	db, err := Open(s.Address())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.exited:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		}
	}
}

// common returns the options of every run on this data directory.
func (s *Server) common() []string {
	args := []string{
		"--no-defaults", "--datadir=" + s.data(), "--socket=" + filepath.Join(s.dir, "s"), "--pid-file=" + filepath.Join(s.dir, "pid"),
		// A private one: a starting server removes every temporary table in its tmpdir,
		// including those of other servers in /tmp.
		"--tmpdir=" + s.temporary(),
		"--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=ON",
		fmt.Sprintf("--innodb-buffer-pool-size=%dM", s.sizes.BufferPool),
		"--character-set-server=utf8mb4", "--secure-file-priv=",
		// Servers ignore unknown options with the prefix loose. MySQL 9 knows only the
		// second option for the size of the redo log. It would open a second port
		// without the last option.
		fmt.Sprintf("--loose-innodb-log-file-size=%dM", s.sizes.RedoLog), fmt.Sprintf("--loose-innodb-redo-log-capacity=%dM", s.sizes.RedoLog),
		"--loose-mysqlx=OFF",
	}
	args = append(args, s.options...)
	if os.Geteuid() == 0 {
		args = append(args, "--user=root") // the directory belongs to root only
	}
	return args
}

func (s *Server) data() string      { return filepath.Join(s.dir, "data") }
func (s *Server) temporary() string { return filepath.Join(s.dir, "tmp") }
func (s *Server) log() string       { return filepath.Join(s.dir, "log") }
func (s *Server) initFile() string  { return filepath.Join(s.dir, "init.sql") }

// Open opens an address in the form of [Server.Address].
func Open(address string) (*sql.DB, error) {
	rest, ok := strings.CutPrefix(address, "mysql://")
	if !ok {
		return nil, errors.New("the address of a MySQL server must look like mysql://user:password@host:port")
	}
	account, place, ok := cutLast(rest, "@")
	if !ok {
		return nil, errors.New("the address of a MySQL server must name a user: mysql://user:password@host:port")
	}
	c := mysql.NewConfig()
	c.User, c.Passwd, _ = strings.Cut(account, ":")
	c.Net = "tcp"
	c.Addr, _, _ = strings.Cut(place, "/")
	c.Timeout = 5 * time.Second
	c.Logger = &mysql.NopLogger{} // failed connections are expected while a server starts
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// freePort picks a port below the range of ports for outgoing connections, so that
// none of those occupies it at a restart.
func freePort(ctx context.Context) (int, error) {
	for range 100 {
		port := 20000 + rand.IntN(12000)
		if free(ctx, port) {
			return port, nil
		}
	}
	return 0, errors.New("no free port between 20000 and 32000 on 127.0.0.1")
}

func free(ctx context.Context, port int) bool {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	return err == nil && l.Close() == nil
}
