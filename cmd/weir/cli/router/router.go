// Package router holds the commands "weir route", for the job router.
package router

import (
	"github.com/spf13/cobra"

	"weir/client/routerclient"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
)

const about = `Query the job router of a running Weir, and create example data in it.

Address of Weir: --url or WEIR_URL (default http://127.0.0.1:8080). Requests are signed
with an access key, one of JOB_ROUTER_ACCESS_KEYS of the server: --key-file,
WEIR_ROUTER_KEY or WEIR_ROUTER_KEY_FILE. Without a key they carry the API token
(--token-file, WEIR_TOKEN or WEIR_TOKEN_FILE), which needs the scopes router and
pii:read. A server on this machine that has neither keys nor tokens needs neither.

` + app.AboutExitCodes + `

"weir route ask" also exits with 1 if no worker is available.`

const example = `  weir route seed --agents 5
  weir route ask 'Q#Spanish#M'
  weir route workers --state active`

// Command makes "weir route".
func Command(a *app.App) *cobra.Command {
	d := &connection{Output: app.NewOutput()}
	c := command.Group("route", "Query the job router, and create example data in it", about,
		askCommand(a, d), seedCommand(a, d), workersCommand(a, d), queuesCommand(a, d), jobsCommand(a, d), poolsCommand(a, d))
	c.Example = example
	f := c.PersistentFlags()
	f.StringVar(&d.url, "url", "", "address of Weir (default: WEIR_URL, or "+routerclient.DefaultURL+")")
	f.StringVar(&d.keyFile, "key-file", "", "file that contains the access key (default: WEIR_ROUTER_KEY, or the file in WEIR_ROUTER_KEY_FILE)")
	f.StringVar(&d.tokenFile, "token-file", "", "file that contains the API token, if there is no key (default: WEIR_TOKEN, or the file in WEIR_TOKEN_FILE)")
	d.AddFlags(c)
	return c
}
