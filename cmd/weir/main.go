// Command weir is the durable contact broker: see weir --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	_ "time/tzdata" // surveys name zones, and images have none

	"weir/cmd/weir/cli"
)

var version string // set by the linker

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), endings(os.Args[1:])...)
	defer stop()
	// The first signal asks for an orderly end. After it, signals do again
	// what they do to any program: the second one ends it at once.
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, os.Args[1:], cli.Options{
		Version: version, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
}

// endings are the signals that ask for an orderly end. A daemon has nothing to
// read again at SIGHUP, and those who rotate logs send it to everybody; when
// the log goes to a terminal it says that the terminal is gone.
func endings(args []string) []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	switch {
	case cli.Terminal(os.Stderr):
		return append(all, syscall.SIGHUP)
	case slices.Contains(args, "serve"):
		signal.Ignore(syscall.SIGHUP)
	}
	return all
}
