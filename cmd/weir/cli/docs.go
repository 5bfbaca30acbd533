package cli

import (
	"context"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/manual"
	"weir/cmd/weir/cli/app"
	"weir/cmd/weir/daemon"
)

// docs makes the hidden commands that write the documentation of all other commands.
func docs(a *app.App) *cobra.Command {
	var c *cobra.Command
	// A function, because the root exists only after this command was added to it.
	paper := func() *manual.Paper {
		return &manual.Paper{Root: c.Root(), Common: []string{app.AboutExitCodes, app.AboutConnection}, Sections: sections()}
	}
	c = command.Group("docs", "Write the documentation of the commands", "Write the documentation of the commands.",
		command.Plain("man", "Write the man page", "", func(context.Context) error { return paper().Man(a.Stdout) }),
		command.Plain("markdown", "Write docs/cli.md", "", func(context.Context) error { return paper().Markdown(a.Stdout) }))
	c.Hidden = true
	return c
}

// sections returns the sections that apply to all commands.
func sections() []manual.Section {
	return []manual.Section{
		{Title: "Connection", Text: `Commands that send requests to a running Weir read its address from --url or WEIR_URL,
and the token from --token-file, WEIR_TOKEN or WEIR_TOKEN_FILE. Tokens are never given on
the command line and never printed. "weir token create", on a machine with access to the
database, creates one.`},
		{Title: "Output", Text: `Results go to standard output; progress, questions, warnings and errors to standard
error. On a terminal, tables are shortened to its width. Unprintable characters are
escaped.

  --output table   a table or a text
  --output json    one value; an array for a list
  --output jsonl   one line per element of a list

Colors are used on a terminal only, and not with --no-color, with NO_COLOR set, or if
TERM is dumb.

With --watch, or --watch=5s, the output is repeated: updated in place on a terminal,
otherwise appended. It continues while Weir restarts; an interruption exits with 0.`},
		{Title: "Confirmation", Text: `Commands that cannot be undone (cancel, delete, discard, requeue, revoke, stop, migrate
down) ask for confirmation on a terminal. Otherwise they need --yes; without it nothing
is changed (exit code 2).`},
		{Title: "Exit status", Text: app.AboutExitCodes},
		{Title: "Environment", Text: `  WEIR_URL              address of Weir (default http://127.0.0.1:8080)
  WEIR_TOKEN            API token
  WEIR_TOKEN_FILE       file that contains it
  WEIR_ROUTER_KEY       access key of the job router, for "weir route"
  WEIR_ROUTER_KEY_FILE  file that contains it
  NO_COLOR              no colors, if set to any value
  TERM                  dumb: no updates in place, no colors
  TZ                    time zone of displayed times, such as UTC; default: the zone of
                        the machine. On a terminal the last line names the zone
  DATABASE_URL          database of "serve", "migrate" and "token"

Variables of the broker are listed by "weir config", and in docs/configuration.md.`},
		{Title: "Completion", Text: `Commands, flags, and names of channels and surveys are completed. Names are requested
from the Weir at WEIR_URL, for at most 0.8 s.

  bash        source <(weir completion bash)
  zsh         source <(weir completion zsh)
  fish        weir completion fish | source
  powershell  weir completion powershell | Out-String | Invoke-Expression`},
	}
}

// openapi writes the description from which the client package is generated.
func openapi(a *app.App) *cobra.Command {
	c := command.Plain("openapi", "Write the OpenAPI 3.1 description of the API", "", func(context.Context) error {
		text, err := daemon.Description()
		if err != nil {
			return err
		}
		_, err = a.Stdout.Write(text)
		return err
	})
	c.Hidden = true
	return c
}
