// Package private lets all tests of a user share one private MariaDB or MySQL server.
package private

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"weir/internal/mariadb"
)

const (
	idleLimit  = 15 * time.Second // without users; bridges the gap between two packages
	idleChecks = 500 * time.Millisecond
	setUpLimit = 5 * time.Minute // a server may have to be installed first
	// supervisor is the package of the command that runs Supervise.
	supervisor = "weir/persistence/testmysql/server"
)

// place is the folder through which processes of one user that were not given a
// server find each other:
//
//	start     locked by the process that starts or ends the server
//	users     share-locked by every user of the server
//	address   names the running server
type place string

func commonPlace() (place, error) {
	dir := filepath.Join(os.TempDir(), "weir-test-mysql-"+strconv.Itoa(os.Getuid()))
	if os.Getenv(mariadb.Program) != "" {
		dir += "-named" // never share a server of another program
	}
	return place(dir), os.MkdirAll(dir, 0o700)
}

func (p place) file(name string) string { return filepath.Join(string(p), name) }

// Join returns the server that all tests of this user share, and starts it if necessary.
// It lives until some seconds after the last release.
func Join(ctx context.Context) (address string, release func(), err error) {
	p, err := commonPlace()
	if err != nil {
		return "", nil, err
	}
	start, users := flock.New(p.file("start")), flock.New(p.file("users"))
	if err := start.Lock(); err != nil {
		return "", nil, err
	}
	defer func() { _ = start.Close() }()
	if err := users.RLock(); err != nil {
		return "", nil, err
	}
	release = func() { _ = users.Close() }
	address, err = p.running(ctx)
	if err != nil {
		address, err = p.supervised(ctx)
	}
	if err != nil {
		release()
		return "", nil, err
	}
	return address, release, nil
}

// running returns the address of the server if it answers.
func (p place) running(ctx context.Context) (string, error) {
	address, err := os.ReadFile(p.file("address"))
	if err != nil {
		return "", err
	}
	db, err := mariadb.Open(string(address))
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	return string(address), db.PingContext(ctx)
}

// supervised starts the process that runs the server and ends it once it is unused.
// It must be a separate process: the first user is seldom the last.
func (p place) supervised(ctx context.Context) (string, error) {
	_ = os.Remove(p.file("address"))
	log, err := os.Create(p.file("log"))
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("go", "run", supervisor, "supervise") //nolint:noctx // outlives its caller on purpose
	cmd.Stdout, cmd.Stderr = log, log                         // never those of this process: go test waits for every process that holds them
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start the supervisor of the test server: %w", err)
	}
	// The process is polled, not waited for: a goroutine that waits would outlive the tests,
	// and goroutine leak checks would find it.
	defer func() { _ = cmd.Process.Release() }()
	ctx, cancel := context.WithTimeout(ctx, setUpLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if address, err := p.running(ctx); err == nil {
			return address, nil
		}
		if ended(cmd.Process.Pid) {
			out, _ := os.ReadFile(p.file("log"))
			return "", errors.New(strings.TrimSpace(string(bytes.TrimSuffix(out, []byte("exit status 1\n")))))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", errors.New("the test server did not start in time; see " + p.file("log"))
		}
	}
}

// ended reports whether a child has ended, and reaps it.
func ended(pid int) bool {
	was, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	return was == pid || errors.Is(err, syscall.ECHILD)
}

// Supervise runs the server that Join returns until it has been unused for some
// seconds, or ctx ends.
func Supervise(ctx context.Context) error {
	p, err := commonPlace()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weir-my-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := mariadb.Start(ctx, dir, mariadb.Small())
	if err != nil {
		return err
	}
	defer s.Kill() // its data is deleted with it
	// Renamed into place, so that a partly written address is never read.
	if err := os.WriteFile(p.file("address.new"), []byte(s.Address()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(p.file("address.new"), p.file("address")); err != nil {
		return err
	}
	return p.watch(ctx, s)
}

// watch returns when the server is no longer needed or has ended.
func (p place) watch(ctx context.Context, s *mariadb.Server) error {
	tick := time.NewTicker(idleChecks)
	defer tick.Stop()
	lastUsed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Exited():
			return errors.New("the server ended")
		case now := <-tick.C:
			if !p.unused() {
				lastUsed = now
			} else if now.Sub(lastUsed) > idleLimit && p.retire() {
				return nil
			}
		}
	}
}

// retire removes the address, unless the server is in use again.
func (p place) retire() bool {
	start := flock.New(p.file("start"))
	if err := start.Lock(); err != nil {
		return false
	}
	defer func() { _ = start.Close() }()
	return p.unused() && os.Remove(p.file("address")) == nil
}

// unused reports whether no process uses the server; false if that is unknown.
func (p place) unused() bool {
	users := flock.New(p.file("users"))
	free, err := users.TryLock()
	_ = users.Close()
	return err == nil && free
}
