// Package testmysql provides tests with empty databases on a real MariaDB or MySQL
// server. Only tests may import it.
//
// WEIR_TEST_MYSQL names the server
// (mysql://user:password@host:port; its user must be allowed to create
// databases). Without that variable it is a private one, shared by all test
// processes of this user: started by the first, ended after the last. A test
// is never skipped for lack of a server: it fails and reports what to install.
package testmysql

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"

	"weir/internal/mariadb"
	"weir/persistence/testmysql/internal/private"
)

// Variable is the name of the environment variable that holds the address of a running
// server.
const Variable = "WEIR_TEST_MYSQL"

// VersionVariable is the name of the variable that holds the version of that server. URL reads it, so that go test reuses
// no result of another server at the same address.
const VersionVariable = "WEIR_TEST_MYSQL_VERSION"

const limit = 30 * time.Second // for one statement, on a busy machine

// URL creates an empty database, which is dropped when the test ends, and returns its
// DATABASE_URL.
func URL(t testing.TB) string {
	t.Helper()
	address, _ := os.Getenv(Variable), os.Getenv(VersionVariable)
	if address == "" {
		joined, release, err := private.Join(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		address = joined
	}
	url, name := create(t, address)
	t.Cleanup(func() { drop(t, address, name) })
	return url
}

// Server is the server of a single test, for faults that must not affect other tests.
type Server struct {
	t      testing.TB
	server *mariadb.Server
}

// Start runs a server with options of its own that ends with the test.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	// Not t.TempDir: its path can be too long for a socket.
	dir, err := os.MkdirTemp("", "weir-my-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := mariadb.Start(context.Background(), dir, mariadb.Small(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return &Server{t, s}
}

// URL creates an empty database on this server and returns its DATABASE_URL.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	url, _ := create(t, s.server.Address())
	return url
}

// Kill ends the server with SIGKILL.
func (s *Server) Kill() { s.server.Kill() }

// PID returns the process id of the server, for signals.
func (s *Server) PID() int { return s.server.PID() }

// Restart starts the server again, on the same data and port, and returns when
// it answers. A running one is killed first.
func (s *Server) Restart() {
	s.t.Helper()
	if err := s.server.Restart(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

func create(t testing.TB, address string) (url, name string) {
	t.Helper()
	name = "weir_test_" + strings.ToLower(rand.Text())
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	url, err := mariadb.CreateDatabase(ctx, address, name)
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	return url, name
}

func drop(t testing.TB, address, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := mariadb.DropDatabase(ctx, address, name); err != nil {
		t.Fatal(err)
	}
}
