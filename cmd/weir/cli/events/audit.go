package events

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const auditAbout = `Lists who changed what, newest first: changes of channels and surveys, with each field
before and after, changes of respondents, cancellations and searches by number, also
requests that were refused for lack of a scope. Of a secret it has only that it
changed. The token needs the scope channels:admin.

` + app.AboutConnection + `

` + app.AboutExitCodes

func AuditCommand(a *app.App) *cobra.Command {
	r := app.NewConnection()
	var w app.WatchFlag
	most := 50
	var p client.ListAuditParams
	c := a.APICommand(r, "audit", "List who changed what", auditAbout, "  weir audit --since 24h\n  weir audit --limit 0 --output jsonl > audit.jsonl",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if most < 0 {
				return command.UsageError(c, "--limit must be 0 or more")
			}
			return a.Repeat(ctx, &r.Output, &w, func(out io.Writer) error { return printAudit(ctx, a, r, to, p, most, out) })
		})
	a.TimeFlag(c, &p.Since, "since", "only entries from then on")
	a.TimeFlag(c, &p.Until, "until", "only entries before")
	c.Flags().IntVar(&most, "limit", most, "most entries that are listed; 0: all")
	w.AddTo(c)
	a.AddConnectionFlags(c, r)
	return c
}

func printAudit(ctx context.Context, a *app.App, r *app.Connection, to *client.Client, p client.ListAuditParams, most int, out io.Writer) error {
	l := a.NewList(&r.Output, out, app.Column("AT"), app.Column("TOKEN", 8), app.Column("ACTION"), app.Column("SUBJECT", 10), app.NumberColumn("STATUS"), app.Column("CHANGES", 12), app.Column("REQUEST", 8))
	p.Limit = app.PageSize(most)
	_, err := app.PrintList(l, to.Audit(ctx, p), most, func(e client.AuditView) []terminal.Cell {
		status := app.TextCell(fmt.Sprint(e.Status))
		if e.Status >= 400 {
			status.Style = terminal.Bad
		}
		return app.Cells(a.FormatSecond(e.At), e.Token, e.Action, e.Subject, status, changesText(e.Changes), e.Request)
	})
	return err
}

// changesText formats the changes of a request on one line.
func changesText(list []client.AuditChangeView) string {
	var parts []string
	for _, c := range list {
		if c.Secret {
			parts = append(parts, c.Field+" changed")
		} else {
			parts = append(parts, fmt.Sprintf("%s: %s → %s", c.Field, cmp.Or(c.Before, "-"), cmp.Or(c.After, "-")))
		}
	}
	return strings.Join(parts, ", ")
}
