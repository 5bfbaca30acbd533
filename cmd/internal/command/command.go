// Package command holds what the command lines of weir and weirlab share: usage
// errors, exit codes, groups of commands, and flags that accept one of several words.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Exit codes of both programs; weir has more of its own.
const (
	OK      = 0
	Failure = 1
	Usage   = 2 // wrong command line or configuration
)

// exitError is an error with its own exit code.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// Exit returns an error with an exit code.
func Exit(code int, text string) error { return &exitError{code, text} }

// UsageError returns a mistake on the command line of c.
func UsageError(c *cobra.Command, text string) error {
	return Exit(Usage, fmt.Sprintf("%s (see %s --help)", text, c.CommandPath()))
}

// CodeOf returns the exit code that an error carries; false: it carries none.
func CodeOf(err error) (code int, ok bool) {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code, true
	}
	return 0, false
}

// Root prepares the command that stands for the whole program.
func Root(root *cobra.Command, stdout, stderr io.Writer) *cobra.Command {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return UsageError(c, err.Error()) })
	return root
}

// Group makes a command that only has subcommands.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("unknown command %q", args[0])
			near := c.SuggestionsFor(args[0])
			for _, sub := range c.Commands() {
				if slices.Contains(sub.SuggestFor, args[0]) { // a synonym counts more than a similar spelling
					near = []string{sub.Name()}
				}
			}
			if len(near) > 0 {
				text += fmt.Sprintf("; did you mean %q?", near[0])
			}
			return UsageError(c, text)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := c.Help(); err != nil {
				return err
			}
			return UsageError(c, "a command is missing")
		},
		SuggestionsMinimumDistance: 2,
	}
	c.AddCommand(commands...)
	return c
}

// Plain makes a command without arguments.
func Plain(use, short, long string, run func(ctx context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context()) },
	}
}

// NoArgs rejects all arguments.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(c, fmt.Sprintf("unexpected argument %q", args[0]))
	}
	return nil
}

// Version returns the version that the linker set, otherwise the version
// that the Go toolchain recorded in the binary.
func Version(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// Environment returns the value of a variable; empty if it is not set.
func Environment(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Token returns the API token: from file, otherwise from WEIR_TOKEN or WEIR_TOKEN_FILE;
// empty if none is given.
func Token(c *cobra.Command, environ []string, file string) (string, error) {
	return Secret(c, environ, file, "WEIR_TOKEN", "token")
}

// Secret returns a secret: from file, otherwise from a variable or from the file that the
// variable with the suffix _FILE names; empty if none is given. what names it in errors.
func Secret(c *cobra.Command, environ []string, file, variable, what string) (string, error) {
	secret := Environment(environ, variable)
	if file == "" {
		// A flag overrides both variables; of two variables, neither is preferred.
		if file = Environment(environ, variable+"_FILE"); file != "" && secret != "" {
			return "", UsageError(c, fmt.Sprintf("%s and %[1]s_FILE are both set", variable))
		}
	}
	if file == "" {
		return secret, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	if secret = strings.TrimSpace(string(text)); secret == "" {
		return "", fmt.Errorf("read the %s: %s is empty", what, file)
	}
	return secret, nil
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
