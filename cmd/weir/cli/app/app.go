// Package app holds what all commands of weir share: inputs and outputs, the
// connection to a running Weir, formats of output, repeated display, confirmation,
// shell completion and exit codes.
package app

import (
	"context"
	"fmt"
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

// App holds what all commands share.
type App struct {
	Options
	zoned bool // times were printed without their time zone
}

// LoadConfig reads the configuration and passes each of its warnings to warn.
func (a *App) LoadConfig(warn func(string)) (config.Config, error) {
	cfg, warnings, err := config.Load(a.Environ)
	for _, w := range warnings {
		warn(w)
	}
	return cfg, err
}

// Note writes a remark to standard error.
func (a *App) Note(text string) {
	_, _ = fmt.Fprintln(a.Stderr, text)
}

// Warn writes a warning to standard error.
func (a *App) Warn(warning string) {
	_, _ = fmt.Fprintf(a.Stderr, "warning: %s\n", warning)
}

// Environment returns an environment variable that is not part of Weir's configuration.
func (a *App) Environment(name string) string { return command.Environment(a.Environ, name) }

// PlainCommand makes a command without arguments and without a connection to Weir.
func (a *App) PlainCommand(use, short, long string, run func(context.Context, *App) error) *cobra.Command {
	return command.Plain(use, short, long, func(ctx context.Context) error { return run(ctx, a) })
}
