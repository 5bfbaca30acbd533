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
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

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
		version, err := s.Version(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "database server of the tests:", version)
		env = append(env, testmysql.Variable+"="+s.Address())
	}
	// A signal reaches the command as well as this process, which waits for the command.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
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
