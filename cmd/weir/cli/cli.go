// Package cli is the command line of the program weir: a package for each group of
// commands. A command parses its arguments, calls other packages and prints.
package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
	"weir/cmd/weir/cli/channels"
	"weir/cmd/weir/cli/contacts"
	"weir/cmd/weir/cli/events"
	"weir/cmd/weir/cli/people"
	"weir/cmd/weir/cli/router"
	"weir/cmd/weir/cli/server"
	"weir/cmd/weir/cli/surveys"
	"weir/cmd/weir/cli/top"
	"weir/cmd/weir/cli/webhooks"
	"weir/cmd/weir/daemon"
)

// Options are the inputs and outputs of the commands.
type Options = app.Options

// Run runs the command named by args and returns the exit code of the process.
func Run(ctx context.Context, args []string, o Options) int {
	o.Version = command.Version(o.Version)
	a := app.New(o)
	root := tree(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return app.OK
	}
	_, _ = fmt.Fprintf(o.Stderr, "weir: %s\n", terminal.VisibleLines(err.Error()+app.Advice(err)))
	return app.ExitCode(err)
}

const about = `Weir is a durable queue with hard concurrency limits for phone calls, SMS and human
tasks.

The broker is configured by environment variables; "weir config" shows them. Commands
that send requests to a running Weir read its address from WEIR_URL, and the token from
WEIR_TOKEN or WEIR_TOKEN_FILE.

` + app.AboutExitCodes

// Root returns the command that stands for the whole program.
func Root(o Options) *cobra.Command { return tree(app.New(o)) }

func tree(a *app.App) *cobra.Command {
	root := command.Root(command.Group("weir", "A durable contact broker", about,
		server.ServeCommand(a), server.ResumeCommand(a), server.ProcessesCommand(a), server.MigrateCommand(a), server.ConfigCommand(a), server.HealthcheckCommand(a), channels.Command(a), channels.LimitCommand(a), channels.PriceCommand(a), contacts.Command(a), contacts.DeadLettersCommand(a), people.Command(a), people.PersonCommand(a), people.PurposeCommand(a), events.Command(a), webhooks.Command(a), webhooks.ListenCommand(a), events.AuditCommand(a), top.Command(a), surveys.Command(a), router.Command(a), server.TokenCommand(a),
		openapi(a), version(a)), a.Console.Stdout, a.Console.Stderr)
	root.Version = versionText(a)
	root.SetVersionTemplate("{{.Version}}\n")
	return root
}

func versionText(a *app.App) string {
	return fmt.Sprintf("weir %s %s %s/%s", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func version(a *app.App) *cobra.Command {
	return command.Plain("version", "Print the version", "", func(context.Context) error {
		_, err := fmt.Fprintln(a.Console.Stdout, versionText(a))
		return err
	})
}

// openapi writes the description from which the client package is generated.
func openapi(a *app.App) *cobra.Command {
	c := command.Plain("openapi", "Write the OpenAPI 3.1 description of the API", "", func(context.Context) error {
		text, err := daemon.Description()
		if err != nil {
			return err
		}
		_, err = a.Console.Stdout.Write(text)
		return err
	})
	c.Hidden = true
	return c
}
