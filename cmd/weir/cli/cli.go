// Package cli is the command line of the program weir: one small file for each
// command. A command parses its arguments, calls other packages and prints.
package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
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
	// Pause is the time before a request is retried; 0: the client's default.
	Pause time.Duration
	// Every starts a ticker; nil: a time.Ticker.
	Every func(d time.Duration) (ticks <-chan time.Time, stop func())
}

// app holds what all commands share.
type app struct {
	Options
	zoned bool // times were printed without their time zone
}

// Run runs the command named by args and returns the exit code of the process.
func Run(ctx context.Context, args []string, o Options) int {
	o.Version = command.Version(o.Version)
	a := &app{Options: o}
	root := a.root()
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	a.sayZone(c)
	if err == nil {
		return OK
	}
	_, _ = fmt.Fprintf(o.Stderr, "weir: %s\n", terminal.VisibleLines(err.Error()+advice(err)))
	return codeOf(err)
}

const about = `Weir is a durable contact broker. Programs hand it contacts (phone calls, SMS)
and it lets them through to the outside only as fast as each channel can take
them.

The broker is configured by environment variables; "weir config" shows them. The
commands that speak to a running Weir find it by WEIR_URL and WEIR_TOKEN, or
WEIR_TOKEN_FILE.

` + aboutExits

func (a *app) root() *cobra.Command {
	return command.Root(command.Group("weir", "A durable contact broker", about,
		a.serve(), a.resume(), a.migrate(), a.config(), a.healthcheck(), a.channel(), a.contact(), a.dlq(), a.events(), a.audit(), a.top(), a.survey(), a.route(), a.tokens(),
		moved("simulate"), moved("demo"), moved("bench"), a.openapi(), a.docs(), a.version()), a.Stdout, a.Stderr)
}

// moved makes a hidden command in place of one that the program weirlab has now.
func moved(name string) *cobra.Command {
	return &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
		return command.Exit(Misuse, "moved to weirlab: run `weirlab "+name+"`")
	}}
}

// load reads the configuration and passes each of its warnings to warn.
func (a *app) load(warn func(string)) (config.Config, error) {
	cfg, warnings, err := config.Load(a.Environ)
	for _, w := range warnings {
		warn(w)
	}
	return cfg, err
}

// note writes a remark for a person to standard error.
func (a *app) note(text string) {
	_, _ = fmt.Fprintln(a.Stderr, text)
}

// complain writes a warning to standard error.
func (a *app) complain(warning string) {
	_, _ = fmt.Fprintf(a.Stderr, "warning: %s\n", warning)
}
