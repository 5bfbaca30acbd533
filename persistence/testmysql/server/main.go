// Command server runs a private MariaDB or MySQL server for the tests.
//
//	server run COMMAND …   runs COMMAND with WEIR_TEST_MYSQL naming a server
//	                       that ends with it; if the variable is set already,
//	                       just runs COMMAND
//	server group           runs a group of three MySQL servers, until it is interrupted
//	server supervise       runs the server that tests share; started by tests
//	                       when WEIR_TEST_MYSQL is not set
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"

	"weir/internal/mariadb"
	"weir/persistence/testmysql"
	"weir/persistence/testmysql/internal/private"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("use: server run COMMAND …, server group, or server supervise")
	switch args := os.Args[1:]; {
	case len(args) >= 2 && args[0] == "run":
		err = run(ctx, args[1:])
	case len(args) == 1 && args[0] == "group":
		err = group(ctx)
	case len(args) == 1 && args[0] == "supervise":
		err = private.Supervise(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a command with a server of its own.
func run(ctx context.Context, command []string) error {
	env := os.Environ()
	if os.Getenv(testmysql.Variable) == "" {
		dir, port, release, err := place()
		if err != nil {
			return err
		}
		defer release()
		data, files := filepath.Join(dir, "my"), filepath.Join(dir, "tmp")
		if err := errors.Join(os.Mkdir(data, 0o700), os.Mkdir(files, 0o700)); err != nil {
			return err
		}
		if os.Getenv("GOTMPDIR") == "" { // what the go command links may be larger than the memory
			env = append(env, "GOTMPDIR="+os.TempDir())
		}
		env = append(env, "TMPDIR="+files)
		s, err := mariadb.StartAt(ctx, data, port, mariadb.Small())
		if err != nil {
			return err
		}
		defer s.Kill() // its data is deleted with it
		version, err := s.Version(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "database server of the tests:", version)
		env = append(env, testmysql.Variable+"="+s.Address(), testmysql.VersionVariable+"="+version)
	}
	// A signal reaches the command as well as this process, which waits for the command.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// place returns an empty folder for the server and the files of tests, and a port. Both are the same in
// each run in a working folder, so that go test finds the same environment and reuses results; a second
// run beside the first gets others. The folder is in memory if there is room: creating and dropping the
// tables of a test costs a disk ten times as much, and only a loss of power could tell the difference.
func place() (dir string, port int, release func(), err error) {
	base := os.TempDir()
	if memory := "/dev/shm"; room(memory) {
		base = memory
	}
	work, err := os.Getwd()
	if err != nil {
		return "", 0, nil, err
	}
	sum := fnv.New32a()
	_, _ = fmt.Fprint(sum, os.Getuid(), work)
	dir = filepath.Join(base, fmt.Sprintf("weir-my-%08x", sum.Sum32()))
	lock := flock.New(dir + ".lock")
	if got, err := lock.TryLock(); err != nil || !got {
		dir, err = os.MkdirTemp(base, "weir-my-")
		return dir, 0, func() { _ = os.RemoveAll(dir) }, err
	}
	release = func() { _ = os.RemoveAll(dir); _ = lock.Close() }
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil { // a killed run leaves its own
		release()
		return "", 0, nil, err
	}
	const first, ports = 32001, 700 // below the ports of outgoing connections, above those of other private servers
	return dir, first + int(sum.Sum32()%ports), release, nil
}

// group runs a group of servers until ctx ends.
func group(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "weir-my-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	const members = 3
	g, err := mariadb.StartGroup(ctx, func() (string, error) { return os.MkdirTemp(dir, "") }, members, mariadb.Small())
	if err != nil {
		return err
	}
	defer g.Kill()
	url, err := mariadb.CreateDatabase(ctx, g.Servers[0].Address(), "weir")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, "DATABASE_URL="+strings.Replace(url, g.Servers[0].Host(), g.Hosts(), 1))
	for _, s := range g.Servers {
		_, _ = fmt.Fprintf(os.Stdout, "server %s, process %d\n", s.Host(), s.PID())
	}
	<-ctx.Done()
	return nil
}
