// Package cli is the command line of the program weir: one small file for each
// command. A command parses, calls and prints; what it does is elsewhere.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"weir/config"
)

// Exit codes.
const (
	OK      = 0
	Failure = 1
	Misuse  = 2 // wrong command line or configuration
)

// Options are what the commands get from the outside.
type Options struct {
	Version        string // empty: as the Go toolchain recorded it
	Environ        []string
	Stdout, Stderr io.Writer
}

// app is what all commands share.
type app struct {
	Options
}

// Run runs the command that args name and gives the exit code of the process.
func Run(ctx context.Context, args []string, o Options) int {
	a := &app{o}
	if a.Version == "" {
		a.Version = recorded()
	}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return OK
	}
	_, _ = fmt.Fprintf(o.Stderr, "weir: %v\n", err)
	if misuse := (*misuseError)(nil); errors.As(err, &misuse) {
		return Misuse
	}
	if wrong := (*config.Error)(nil); errors.As(err, &wrong) {
		return Misuse
	}
	return Failure
}

// recorded is the version that the Go toolchain put into the program.
func recorded() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

const about = `Weir is a durable contact broker. Programs hand it contacts (phone calls, SMS)
and it lets them through to the outside only as fast as each channel can take
them.

It is configured by environment variables; "weir config" shows them.

Exit codes: 0 fine; 1 it failed; 2 wrong command line or configuration.`

func (a *app) root() *cobra.Command {
	root := group("weir", "A durable contact broker", about,
		a.serve(), a.migrate(), a.config(), a.healthcheck(), a.simulate(), a.demo(), a.version())
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return misuse(c, err.Error()) })
	return root
}

// group makes a command that only holds others.
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

// misuseError is a mistake on the command line.
type misuseError struct{ text string }

func (e *misuseError) Error() string { return e.text }

func misuse(c *cobra.Command, text string) error {
	return &misuseError{fmt.Sprintf("%s (see %s --help)", text, c.CommandPath())}
}

// load reads the configuration and gives its warnings to warn.
func (a *app) load(warn func(string)) (config.Config, error) {
	cfg, warnings, err := config.Load(a.Environ)
	for _, w := range warnings {
		warn(w)
	}
	return cfg, err
}

// complain writes a warning for a person who waits for a command.
func (a *app) complain(warning string) {
	_, _ = fmt.Fprintf(a.Stderr, "warning: %s\n", warning)
}
