// Command weirlab has what is not run in production: simulated providers, the
// demonstration and measurements; see weirlab --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the surveys of the demonstration name time zones

	"weir/cmd/internal/command"
	"weir/cmd/weirlab/cli"
)

var version string // set by the linker

func main() { os.Exit(run()) }

func run() int {
	endings := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if command.IsTerminal(os.Stderr) { // otherwise nohup may have disabled SIGHUP
		endings = append(endings, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings...)
	defer stop()
	// The first signal requests an orderly end. After it, signals have their default
	// effect again: the second one ends the process at once.
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, os.Args[1:], cli.Options{
		Version: version, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
}
