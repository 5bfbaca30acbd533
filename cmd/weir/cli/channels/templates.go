package channels

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/channels/httpgateway"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
)

// templatesCommand makes "weir channel templates".
func templatesCommand(console *app.Console) *cobra.Command {
	return &cobra.Command{
		Use: "templates [NAME]", Short: "Print a template for channels of type http",
		Long: `Print a template for channels of type http, or list the templates that come with Weir.
A template is the setting "template" of the channel. It names what else the channel
needs: {value.NAME} is an entry of the setting "values", {secret.NAME} one of "secrets".
"weir channel try --render" prints the requests that a template makes and sends nothing.`,
		Example: "  weir channel templates\n  weir channel templates vonage > vonage.json",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return httpgateway.Templates(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := fmt.Fprintln(console.Stdout, strings.Join(httpgateway.Templates(), "\n"))
				return err
			}
			raw := httpgateway.Template(args[0])
			if raw == nil {
				return command.UsageError(c, fmt.Sprintf("there is no template %q; there are %s", args[0], strings.Join(httpgateway.Templates(), ", ")))
			}
			_, err := console.Stdout.Write(raw)
			return err
		},
	}
}
