// Package cli is the command line of the program weirlab: simulated providers, the
// demonstration and measurements. A command parses its arguments, calls other packages
// and prints.
package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/config"
)

const aboutExits = `Exit codes, the same for every command:
  0  done
  1  failed, or interrupted
  2  wrong command line or configuration`

const about = `Weirlab is for trying, showing and measuring Weir: simulated providers, a
demonstration and a benchmark. Nothing in it is needed to run Weir, which is the
program weir. "demo" and "bench" start that program: the one beside weirlab,
otherwise the one in PATH, unless --weir names another.

` + aboutExits

// Run runs the command named by args and returns the exit code of the process.
func Run(ctx context.Context, args []string, o Options) int {
	root := Root(o)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return command.OK
	}
	_, _ = fmt.Fprintf(o.Stderr, "weirlab: %s\n", terminal.VisibleLines(err.Error()))
	if code, ok := command.CodeOf(err); ok {
		return code
	}
	if _, ok := errors.AsType[*config.Error](err); ok {
		return command.Usage
	}
	return command.Failure
}

// Root returns the command that stands for the whole program.
func Root(o Options) *cobra.Command {
	o.Version = command.Version(o.Version)
	a := &app{o}
	return command.Root(command.Group("weirlab", "Simulated providers, the demonstration and measurements of Weir", about,
		a.simulate(), a.demo(), a.bench(), a.version()), a.Stdout, a.Stderr)
}

func (a *app) version() *cobra.Command {
	return command.Plain("version", "Print the version", "", func(context.Context) error {
		_, err := fmt.Fprintf(a.Stdout, "weirlab %s %s %s/%s\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	})
}
