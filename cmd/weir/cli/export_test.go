package cli

import (
	"github.com/spf13/cobra"

	"weir/cmd/weir/cli/app"
)

// Root returns the root command.
func Root() *cobra.Command { return root(&app.App{}) }
