package channels

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"weir"
	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const aboutTest = `Ask the provider once whether a channel would work, for at most ten seconds. Nothing is
stored, and no contact is dispatched.

Without NAME the flags describe a channel that does not exist yet, as for "weir channel
put". With NAME they change settings of that channel, for the question only: its secrets
need not be given again, unless the address or the account changes.

`

// testCommand makes "weir channel test".
func testCommand(a *app.App, r *app.Connection) *cobra.Command {
	var f flags
	c := r.APICommand("test [NAME]", "Ask a provider whether a channel would work", aboutTest+aboutSettings, `  weir channel test sms
  weir channel test --type nuntium --set base_url=https://nuntium.example --set account=demo \
      --set application=weir --set channel=sms --secret-env password=NUNTIUM_PASSWORD
  weir channel test sms --secret-file password=new.password`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			body, err := testBody(a, c, &f, args)
			if err != nil {
				return err
			}
			v, err := to.TestChannel(ctx, body)
			if err != nil {
				return err
			}
			text := v.State
			switch {
			case v.Reason != "":
				text += ": " + terminal.Visible(v.Reason)
			case !v.Checked:
				text = "the settings are right; they name no way to ask the provider"
			}
			if err := a.Console.PrintValue(&r.Output, v, "%s", text); err != nil {
				return err
			}
			if v.State != "up" {
				return command.Exit(app.Failure, "the channel would not work")
			}
			return nil
		})
	c.Args = app.NamedArgs([]string{"[NAME]"})
	f.addType(c)
	f.addUnset(c)
	f.addSettings(c)
	return c
}

// testBody builds the request. A file may have more fields of a channel than the question needs.
func testBody(a *app.App, c *cobra.Command, f *flags, args []string) (body client.ChannelTestBody, err error) {
	given, err := requestBody(a, c, f)
	if err != nil {
		return body, err
	}
	if len(args) > 0 {
		body.Channel = args[0]
	}
	typ, isText := given["type"].(string)
	settings, isObject := given["settings"].(map[string]any)
	if given["type"] != nil && !isText || given["settings"] != nil && !isObject {
		return body, fmt.Errorf("%s: type must be a text, and settings an object", f.file)
	}
	body.Type, body.Settings = typ, settings
	switch n := given["capacity"].(type) {
	case int:
		body.Capacity = n
	default: // of a file
		capacity, _ := weir.Number(n)
		body.Capacity = int(capacity)
	}
	return body, nil
}
