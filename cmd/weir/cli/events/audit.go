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

const auditAbout = `List the audit log, newest first: changes of channels and surveys with the old and new
value of each field, changes of respondents, cancellations, searches by phone number,
and requests that were rejected for lack of a scope. For secrets only the fact of a
change is recorded. The token needs the scope channels:admin.

` + app.AboutConnection + `

` + app.AboutExitCodes

// AuditCommand makes "weir audit".
func AuditCommand(a *app.App) *cobra.Command {
	r := app.NewConnection()
	var w app.WatchFlag
	limit := 50
	var p client.ListAuditParams
	c := a.APICommand(r, "audit", "List the audit log", auditAbout, "  weir audit --since 24h\n  weir audit --limit 0 --output jsonl > audit.jsonl",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			if limit < 0 {
				return command.UsageError(c, "--limit must be 0 or more")
			}
			return a.Repeat(ctx, &r.Output, &w, func(out io.Writer) error { return printAudit(ctx, a, r, to, p, limit, out) })
		})
	a.TimeFlag(c, &p.Since, "since", "only entries at or after")
	a.TimeFlag(c, &p.Until, "until", "only entries before")
	c.Flags().IntVar(&limit, "limit", limit, "maximum number of entries; 0: all")
	w.AddTo(c)
	a.AddConnectionFlags(c, r)
	return c
}

// printAudit prints the entries that p selects, at most limit of them.
func printAudit(ctx context.Context, a *app.App, r *app.Connection, to *client.Client, p client.ListAuditParams, limit int, out io.Writer) error {
	l := a.NewList(&r.Output, out, app.Column("AT"), app.Column("TOKEN", 8), app.Column("ACTION"), app.Column("SUBJECT", 10), app.NumberColumn("STATUS"), app.Column("CHANGES", 12), app.Column("REQUEST", 8))
	p.Limit = app.PageSize(limit)
	_, err := app.PrintList(l, to.Audit(ctx, p), limit, func(e client.AuditView) []terminal.Cell {
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
