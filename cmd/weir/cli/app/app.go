// Package app holds what all commands of weir share: inputs and outputs, the
// connection to a running Weir, formats of output, repeated display, confirmation,
// shell completion and exit codes.
package app

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/config"
)

// Options are the inputs and outputs of the commands. Tests replace them.
type Options struct {
	Version        string // empty: the version recorded by the Go toolchain
	Environ        []string
	Stdin          io.Reader // nil: none
	Stdout, Stderr io.Writer
	Now            func() time.Time // nil: time.Now
	// Size returns the size of the terminal behind an input or output; false: it is
	// no terminal. nil: the system is asked.
	Size func(f any) (columns, lines int, terminal bool)
	// RetryDelay is the time before a request is retried; 0: the client's default.
	RetryDelay time.Duration
	// NewTicker starts a ticker; nil: a time.Ticker.
	NewTicker func(d time.Duration) (ticks <-chan time.Time, stop func())
}

// App is what the commands are given. Each takes the parts that it uses.
type App struct {
	Version    string
	Environ    Environ
	Clock      *Clock
	Console    *Console
	Watcher    *Watcher
	retryDelay time.Duration
}

// New returns the parts of the commands.
func New(o Options) *App {
	a := &App{Version: o.Version, Environ: o.Environ, retryDelay: o.RetryDelay}
	a.Clock = &Clock{now: o.Now, environ: a.Environ}
	a.Console = &Console{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, size: o.Size, environ: a.Environ}
	a.Watcher = &Watcher{console: a.Console, newTicker: o.NewTicker}
	return a
}

// Environ is the environment of the process.
type Environ []string

// LoadConfig reads the configuration and passes each of its warnings to warn.
func (e Environ) LoadConfig(warn func(string)) (config.Config, error) {
	cfg, warnings, err := config.Load(e)
	for _, w := range warnings {
		warn(w)
	}
	return cfg, err
}

// Value returns an environment variable that is not part of Weir's configuration.
func (e Environ) Value(name string) string { return command.Environment(e, name) }

// PlainCommand makes a command without arguments and without a connection to Weir.
func (a *App) PlainCommand(use, short, long string, run func(context.Context, *App) error) *cobra.Command {
	return command.Plain(use, short, long, func(ctx context.Context) error { return run(ctx, a) })
}
