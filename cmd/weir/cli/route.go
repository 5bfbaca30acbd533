package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/weir/routerclient"
	"weir/internal/hmacsign"
)

// desk holds what the commands share that send requests to the job router.
type desk struct {
	printing
	url, keyFile, tokenFile string
}

const routeAbout = `Speaks to the job router of a running Weir.

Which one: --url or WEIR_URL (http://127.0.0.1:8080 if neither is given). Requests
are signed with an access key, one of the server's JOB_ROUTER_ACCESS_KEYS:
--key-file, WEIR_ROUTER_KEY or WEIR_ROUTER_KEY_FILE. Without one they carry the
token of the API (--token-file, WEIR_TOKEN or WEIR_TOKEN_FILE), which needs the
scopes router and pii:read. Without either they do for a server on this machine
that has neither keys nor tokens.

` + aboutExits + `

It is also a failure (1) when "weir route ask" finds nobody.`

const routeExample = `  weir route seed --agents 5
  weir route ask 'Q#Spanish#M'
  weir route workers --state active`

func (a *app) route() *cobra.Command {
	d := &desk{printing: newPrinting()}
	c := command.Group("route", "Ask the job router, fill it with examples, list what it has", routeAbout,
		a.routeAsk(d), a.routeSeed(d), a.routeWorkers(d), a.routeQueues(d), a.routeJobs(d), a.routePools(d))
	c.Example = routeExample
	f := c.PersistentFlags()
	f.StringVar(&d.url, "url", "", "address of Weir (default WEIR_URL, or "+routerclient.DefaultURL+")")
	f.StringVar(&d.keyFile, "key-file", "", "file with the access key (default WEIR_ROUTER_KEY_FILE, or WEIR_ROUTER_KEY itself)")
	f.StringVar(&d.tokenFile, "token-file", "", "file with the API token, for when there is no key (default WEIR_TOKEN_FILE, or WEIR_TOKEN itself)")
	d.flags(c)
	return c
}

// reach makes the client that flags and environment configure.
func (a *app) reach(c *cobra.Command, d *desk) (*routerclient.Client, error) {
	key, err := a.routerKey(c, d)
	if err != nil {
		return nil, err
	}
	where := d.url
	if where == "" {
		where = a.environment("WEIR_URL")
	}
	out, err := routerclient.New(where, key, a.now)
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

func (a *app) routerKey(c *cobra.Command, d *desk) (*hmacsign.Key, error) {
	file, text := d.keyFile, a.environment("WEIR_ROUTER_KEY")
	if file == "" {
		if file = a.environment("WEIR_ROUTER_KEY_FILE"); file != "" && text != "" {
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

// routing makes a command that takes the named arguments and gets a client of the router.
func (a *app) routing(d *desk, use, short, long, example string, do func(c *cobra.Command, to *routerclient.Client, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: named(strings.Fields(use)[1:]), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			to, err := a.reach(c, d)
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
