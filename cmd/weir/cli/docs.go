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
	paper := func() *manual.Paper {
		return &manual.Paper{Root: c.Root(), Common: []string{app.AboutExitCodes, app.AboutConnection}, Sections: sections()}
	}
	c = command.Group("docs", "Write the papers about the commands", "Writes the papers about the commands.",
		command.Plain("man", "Write the man page", "", func(context.Context) error { return paper().Man(a.Stdout) }),
		command.Plain("markdown", "Write docs/cli.md", "", func(context.Context) error { return paper().Markdown(a.Stdout) }))
	c.Hidden = true
	return c
}

// sections returns the sections that apply to all commands.
func sections() []manual.Section {
	return []manual.Section{
		{Title: "Which Weir", Text: `Commands that speak to a running Weir find it by --url or WEIR_URL, and show a token:
--token-file, WEIR_TOKEN or WEIR_TOKEN_FILE. A token is never given on the command
line, and stands in no output. "weir token create" makes one, on the machine of the
database.`},
		{Title: "Output", Text: `Results go to the standard output; progress, questions, warnings and errors to the
standard error. Tables fit the terminal; elsewhere nothing in them is cut. Whatever
came from outside and cannot be printed is shown escaped.

  --output table   for people
  --output json    one value; of a list an array
  --output jsonl   each element of a list on a line of its own

Colours are used on a terminal only, and not with --no-color, with NO_COLOR set, or
where TERM is dumb.

With --watch, or --watch=5s, a list or a thing is shown again and again: on a terminal
in place, elsewhere below each other. It goes on while Weir is being restarted, and
an interruption ends it with exit code 0.`},
		{Title: "Questions", Text: `A command that cannot be undone (cancel, delete, discard, requeue, revoke, stop,
migrate down) asks first on a terminal. Elsewhere it needs --yes; without it nothing is
done (exit code 2).`},
		{Title: "Exit status", Text: app.AboutExitCodes},
		{Title: "Environment", Text: `  WEIR_URL              address of Weir; http://127.0.0.1:8080 without it
  WEIR_TOKEN            token of the API
  WEIR_TOKEN_FILE       file that holds it
  WEIR_ROUTER_KEY       access key of the job router, for "weir route"
  WEIR_ROUTER_KEY_FILE  file that holds it
  NO_COLOR              no colours, if it is set to anything
  TERM                  dumb: nothing is written in place, no colours
  TZ                    time zone in which times are shown, such as UTC; the machine's
                        without it. On a terminal a last line names it
  DATABASE_URL          database of "serve", "migrate" and "token"

The broker's own variables are listed by "weir config", and in docs/configuration.md.`},
		{Title: "Completion", Text: `Words, flags, and the names of channels and surveys are completed; names are asked of
the Weir that WEIR_URL names, for less than a second.

  bash        source <(weir completion bash)
  zsh         source <(weir completion zsh)
  fish        weir completion fish | source
  powershell  weir completion powershell | Out-String | Invoke-Expression`},
	}
}

// openapi writes the description from which the client package is generated.
func openapi(a *app.App) *cobra.Command {
	c := command.Plain("openapi", "Write the description of the API, in OpenAPI 3.1", "", func(context.Context) error {
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
