package router

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
	"weir/cmd/weir/routerclient"
	"weir/internal/hmacsign"
)

// connection holds the flags of commands that send requests to the job router.
type connection struct {
	app.Output
	url, keyFile, tokenFile string
}

// connect returns a client as configured by flags and environment.
func connect(a *app.App, c *cobra.Command, d *connection) (*routerclient.Client, error) {
	key, err := accessKey(a, c, d)
	if err != nil {
		return nil, err
	}
	token := ""
	if key == nil {
		if token, err = command.Token(c, a.Environ, d.tokenFile); err != nil {
			return nil, err
		}
	}
	out, err := routerclient.New(cmp.Or(d.url, a.Environment("WEIR_URL")), key, token, a.Now)
	if err != nil {
		return nil, command.UsageError(c, err.Error())
	}
	return out, nil
}

// accessKey returns the configured key; nil: there is none, and a token is used.
func accessKey(a *app.App, c *cobra.Command, d *connection) (*hmacsign.Key, error) {
	text, err := command.Secret(c, a.Environ, d.keyFile, "WEIR_ROUTER_KEY", "key")
	if err != nil || text == "" {
		return nil, err
	}
	key, err := hmacsign.ParseKey(text)
	if err != nil {
		return nil, command.UsageError(c, err.Error())
	}
	return &key, nil
}

// newCommand makes a command that takes the named arguments and gets a client of the router.
func newCommand(a *app.App, d *connection, use, short, long, example string, do func(c *cobra.Command, to *routerclient.Client, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: app.NamedArgs(strings.Fields(use)[1:]), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			to, err := connect(a, c, d)
			if err != nil {
				return err
			}
			defer to.Close()
			if err = do(c, to, args); err != nil && c.Context().Err() != nil {
				return errors.New("interrupted")
			}
			return err
		},
	}
}
