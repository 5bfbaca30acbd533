// Command weir is a durable contact broker; see weir --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	_ "time/tzdata" // surveys name time zones, and images contain no zone data

	"weir/cmd/internal/command"
	"weir/cmd/weir/cli"
)

var version string // set by the linker

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), endings(os.Args[1:])...)
	defer stop()
	// The first signal requests an orderly shutdown. After it, signals have their
	// default effect again: the second one ends the process at once.
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, os.Args[1:], cli.Options{
		Version: version, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
}

// endings returns the signals that request an orderly shutdown. SIGHUP is one of
// them only if the log goes to a terminal: it then means that the terminal is
// closed. Otherwise a daemon ignores SIGHUP: it has no configuration to reload,
// and log rotation sends SIGHUP to every process.
func endings(args []string) []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	switch {
	case command.IsTerminal(os.Stderr):
		return append(all, syscall.SIGHUP)
	case slices.Contains(args, "serve"):
		signal.Ignore(syscall.SIGHUP)
	}
	return all
}
