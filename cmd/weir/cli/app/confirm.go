package app

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

// Confirmable adds the flag --yes to a command that cannot be undone. Such a command
// calls [App.Confirm] before it changes anything.
func Confirmable(c *cobra.Command) *cobra.Command {
	c.Flags().Bool(yesFlag, false, "do not ask for confirmation")
	return c
}

const yesFlag = "yes"

// Confirmed reports whether the command line has --yes.
func Confirmed(c *cobra.Command) bool {
	yes, _ := c.Flags().GetBool(yesFlag)
	return yes
}

// Confirm asks for confirmation of a change that cannot be undone. Without a terminal
// the command needs --yes.
func (a *App) Confirm(c *cobra.Command, what string) error {
	if Confirmed(c) {
		return nil
	}
	_, _, canRead := a.TerminalSize(a.Stdin)
	if _, _, canSee := a.TerminalSize(a.Stderr); !canRead || !canSee {
		return command.UsageError(c, what+"; to confirm, add --yes")
	}
	_, _ = fmt.Fprintf(a.Stderr, "%s. Continue? [y/N] ", terminal.Visible(what))
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	switch answer = strings.ToLower(strings.TrimSpace(answer)); {
	case answer == "y" || answer == "yes":
		return nil
	case err != nil && answer == "":
		_, _ = fmt.Fprintln(a.Stderr)
	}
	return command.Exit(Failure, "canceled; nothing was changed")
}
