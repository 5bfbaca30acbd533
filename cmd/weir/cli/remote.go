package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
)

// remote holds what the commands share that send requests to a running Weir.
type remote struct {
	printing
	url, tokenFile string
}

func newRemote() *remote { return &remote{printing: newPrinting()} }

const aboutRemote = `Which one: --url or WEIR_URL (http://127.0.0.1:8080 if neither is given). The
token: --token-file, WEIR_TOKEN or WEIR_TOKEN_FILE.`

// addressed adds the flags for the address of Weir and the output format.
func (a *app) addressed(c *cobra.Command, r *remote) {
	f := c.PersistentFlags()
	f.StringVar(&r.url, "url", "", "address of Weir (default WEIR_URL, or "+client.DefaultURL+")")
	f.StringVar(&r.tokenFile, "token-file", "", "file with the API token (default WEIR_TOKEN_FILE, or WEIR_TOKEN itself)")
	r.flags(c)
}

// connect makes the client that flags and environment configure.
func (a *app) connect(c *cobra.Command, r *remote) (*client.Client, error) {
	return a.connectWith(c, r, client.Options{})
}

// connectWith makes a client with other than the default options.
func (a *app) connectWith(c *cobra.Command, r *remote, o client.Options) (*client.Client, error) {
	var err error
	if o.Token, err = command.Token(c, a.Environ, r.tokenFile); err != nil {
		return nil, err
	}
	o.UserAgent, o.RetryDelay = "weir", a.Pause
	if o.URL = r.url; o.URL == "" {
		o.URL = a.environment("WEIR_URL")
	}
	out, err := client.New(o)
	if err != nil {
		return nil, command.UsageError(c, err.Error())
	}
	return out, nil
}

// speaking makes a command that takes the named arguments and gets a client.
func (a *app) speaking(r *remote, use, short, long, example string, do func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error) *cobra.Command {
	if long == "" {
		long = short + "."
	}
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: named(strings.Fields(use)[1:]), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			to, err := a.connect(c, r)
			if err != nil {
				return err
			}
			defer to.Close()
			if err = do(c.Context(), c, to, args); err != nil && c.Context().Err() != nil {
				return errors.New("interrupted")
			}
			return err
		},
	}
}

// named checks that exactly the named arguments are present.
func named(names []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return command.UsageError(c, names[len(args)]+" is missing")
		case len(args) > len(names):
			return command.UsageError(c, fmt.Sprintf("unexpected argument %q", args[len(names)]))
		}
		for i, arg := range args {
			if strings.TrimSpace(arg) == "" {
				return command.UsageError(c, names[i]+" is empty")
			}
		}
		return nil
	}
}
