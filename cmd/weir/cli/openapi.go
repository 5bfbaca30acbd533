package cli

import (
	"context"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/weir/daemon"
)

// openapi writes the description from which the client package is generated.
func (a *app) openapi() *cobra.Command {
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
