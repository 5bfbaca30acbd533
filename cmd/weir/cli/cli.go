// Package cli is the command line of the program weir: one small file for each
// command. A command parses its arguments, calls other packages and prints.
package cli

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"weir/cmd/weir/cli/terminal"
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
	a := &app{Options: o}
	if a.Version == "" {
		a.Version = recorded()
	}
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

// recorded returns the version that the Go toolchain recorded in the binary.
func recorded() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

const about = `Weir is a durable contact broker. Programs hand it contacts (phone calls, SMS)
and it lets them through to the outside only as fast as each channel can take
them.

The broker is configured by environment variables; "weir config" shows them. The
commands that speak to a running Weir find it by WEIR_URL and WEIR_TOKEN, or
WEIR_TOKEN_FILE.

` + aboutExits

func (a *app) root() *cobra.Command {
	root := group("weir", "A durable contact broker", about,
		a.serve(), a.resume(), a.migrate(), a.config(), a.healthcheck(), a.channel(), a.contact(), a.dlq(), a.events(), a.audit(), a.top(), a.survey(), a.route(), a.tokens(), a.simulate(), a.demo(), a.bench(), a.openapi(), a.docs(), a.version())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return misuse(c, err.Error()) })
	return root
}

// group makes a command that only has subcommands.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("unknown command %q", args[0])
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				text += fmt.Sprintf("; did you mean %q?", near[0])
			}
			return misuse(c, text)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := c.Help(); err != nil {
				return err
			}
			return misuse(c, "a command is missing")
		},
		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(commands...)
	return c
}

// plain makes a command without arguments.
func plain(use, short, long string, run func(ctx context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context()) },
	}
}

func nothing(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misuse(c, fmt.Sprintf("unexpected argument %q", args[0]))
	}
	return nil
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
