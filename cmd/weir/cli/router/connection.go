package router

import (
	"errors"
	"fmt"
	"os"
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
	where := d.url
	if where == "" {
		where = a.Environment("WEIR_URL")
	}
	out, err := routerclient.New(where, key, a.Now)
	if err != nil {
		return nil, command.UsageError(c, err.Error())
	}
	if key == nil {
		token, err := command.Token(c, a.Environ, d.tokenFile)
		if err != nil {
			return nil, err
		}
		out.SetToken(token)
	}
	return out, nil
}

// accessKey returns the configured key; nil: there is none, and a token is used.
func accessKey(a *app.App, c *cobra.Command, d *connection) (*hmacsign.Key, error) {
	file, text := d.keyFile, a.Environment("WEIR_ROUTER_KEY")
	if file == "" {
		// A flag overrides both variables; of two variables, neither is preferred.
		if file = a.Environment("WEIR_ROUTER_KEY_FILE"); file != "" && text != "" {
			return nil, command.UsageError(c, "WEIR_ROUTER_KEY and WEIR_ROUTER_KEY_FILE are both set")
		}
	}
	if file != "" {
		read, err := os.ReadFile(file) //nolint:gosec // the user names it
		if err != nil {
			return nil, fmt.Errorf("read the key: %w", err)
		}
		if text = strings.TrimSpace(string(read)); text == "" {
			return nil, fmt.Errorf("read the key: %s is empty", file)
		}
	}
	if text == "" {
		return nil, nil
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
