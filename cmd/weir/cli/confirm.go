package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/cmd/weir/cli/terminal"
)

// confirm asks a person whether something that cannot be taken back is wanted.
// Where nobody can be asked --yes has to say so.
func (a *app) confirm(c *cobra.Command, yes bool, what string) error {
	if yes {
		return nil
	}
	_, _, hears := a.size(a.Stdin)
	if _, _, sees := a.size(a.Stderr); !hears || !sees {
		return misuse(c, what+"; say --yes if that is wanted")
	}
	_, _ = fmt.Fprintf(a.Stderr, "%s. Go on? [y/N] ", terminal.Visible(what))
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	switch answer = strings.ToLower(strings.TrimSpace(answer)); {
	case answer == "y" || answer == "yes":
		return nil
	case err != nil && answer == "":
		_, _ = fmt.Fprintln(a.Stderr)
	}
	return &exitError{Failure, "nothing was done"}
}
