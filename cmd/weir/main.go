// Command weir is the durable contact broker: see weir --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"weir/cmd/weir/cli"
)

var version string // set by the linker

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end. After it, signals do again
	// what they do to any program: the second one ends it at once.
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, os.Args[1:], cli.Options{
		Version: version, Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr,
	})
}
