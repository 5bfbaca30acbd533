package events

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

const auditAbout = `List the audit log, newest first: changes of channels and surveys with the old and new
value of each field, changes of respondents, cancellations, searches by phone number,
and requests that were rejected for lack of a scope. For secrets only the fact of a
change is recorded. The token needs the scope channels:admin.`

// AuditCommand makes "weir audit".
func AuditCommand(a *app.App) *cobra.Command {
	r := a.NewConnection()
	limit := 50
	var p client.ListAuditParams
	c := r.WatchCommand("audit", "List the audit log", auditAbout, "  weir audit --since 24h\n  weir audit --limit 0 --output jsonl > audit.jsonl",
		func(ctx context.Context, to *client.Client, _ []string, out io.Writer) error {
			p.Limit = app.PageSize(limit)
			l := a.Console.NewList(&r.Output, out, app.Column("AT"), app.Column("TOKEN", 6), app.Column("ACTION", 10), app.Column("SUBJECT", 8), app.NumberColumn("STATUS"), app.Column("CHANGES", 10), app.Column("REQUEST", 6))
			return app.PrintList(l, to.Audit(ctx, p), limit, func(e client.AuditView) []terminal.Cell {
				status := app.TextCell(fmt.Sprint(e.Status))
				if e.Status >= 400 {
					status.Style = terminal.Bad
				}
				return app.Cells(a.Clock.FormatSecond(e.At), e.Token, e.Action, e.Subject, status, changesText(e.Changes), e.Request)
			})
		})
	a.Clock.TimeFlag(c, &p.Since, "since", "only entries at or after")
	a.Clock.TimeFlag(c, &p.Until, "until", "only entries before")
	app.LimitFlag(c, &limit, "maximum number of entries; 0: all")
	c.AddCommand(auditExportCommand(a, r))
	r.AddConnectionFlags(c)
	return c
}

// auditExportCommand makes "weir audit export".
func auditExportCommand(a *app.App, r *app.Connection) *cobra.Command {
	var p client.ExportAuditParams
	var e app.Export
	c := r.APICommand("export", "Export the audit log to a CSV file", "Write a row for each entry, newest first. An incomplete export leaves no file.", "  weir audit export --since 24h",
		func(ctx context.Context, c *cobra.Command, to *client.Client, _ []string) error {
			p.Spreadsheet = e.Spreadsheet()
			body, err := to.ExportAudit(ctx, p)
			if err != nil {
				return err
			}
			return e.Write(a, c, r, body, "audit.csv")
		})
	a.Clock.TimeFlag(c, &p.Since, "since", "only entries at or after")
	a.Clock.TimeFlag(c, &p.Until, "until", "only entries before")
	e.AddTo(c, "audit.csv")
	return c
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
