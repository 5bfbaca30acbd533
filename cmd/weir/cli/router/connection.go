package router

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"weir/client/routerclient"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
	"weir/internal/hmacsign"
)

// connection holds the flags of commands that send requests to the job router.
type connection struct {
	app.Output
	url, keyFile, tokenFile string
}

// connect returns a client as configured by flags and environment.
func connect(a *app.App, c *cobra.Command, d *connection) (*routerclient.Client, error) {
	key, err := accessKey(a.Environ, c, d)
	if err != nil {
		return nil, err
	}
	token := ""
	if key == nil {
		if token, err = command.Token(c, a.Environ, d.tokenFile); err != nil {
			return nil, err
		}
	}
	out, err := routerclient.New(cmp.Or(d.url, a.Environ.Value("WEIR_URL")), key, token, a.Clock.Now)
	if err != nil {
		return nil, command.UsageError(c, err.Error())
	}
	return out, nil
}

// accessKey returns the configured key; nil: there is none, and a token is used.
func accessKey(environ app.Environ, c *cobra.Command, d *connection) (*hmacsign.Key, error) {
	text, err := command.Secret(c, environ, d.keyFile, "WEIR_ROUTER_KEY", "key")
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
	return app.ClientCommand(use, short, long, example, func(c *cobra.Command) (*routerclient.Client, error) { return connect(a, c, d) }, do)
}

// watchCommand is [newCommand] for a command that shows something, with the flag --watch.
func watchCommand(a *app.App, d *connection, use, short, long, example string, show func(c *cobra.Command, to *routerclient.Client, out io.Writer) error) *cobra.Command {
	var w app.WatchFlag
	c := newCommand(a, d, use, short, long, example, func(c *cobra.Command, to *routerclient.Client, _ []string) error {
		return a.Watcher.Repeat(c.Context(), &d.Output, &w, func(out io.Writer) error { return show(c, to, out) })
	})
	w.AddTo(c)
	return c
}
