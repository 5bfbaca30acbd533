package people

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/weir/cli/app"
	"weir/internal/csvfile"
)

// exportPage is the number of consents of one request.
const exportPage = 1000

// exportCommand makes "weir consent export".
func exportCommand(a *app.App, r *app.Connection) *cobra.Command {
	var file string
	var sheet app.Spreadsheet
	c := r.APICommand("export", "Export what everybody has said", `Write a CSV file with a row for each refusal and consent that was recorded, in order.
Without pii:read addresses are masked, and what was said is left out.`, "  weir consent export --file consents.csv",
		func(ctx context.Context, _ *cobra.Command, to *client.Client, _ []string) (err error) {
			out := a.Console.Stdout
			if file != "" {
				f, err := os.Create(file) //nolint:gosec // the user names it
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				out = f
			}
			w := csvfile.NewWriter(out, ',')
			if separator, given := csvfile.Separators()[sheet.Value()]; given {
				w = csvfile.NewSpreadsheet(out, separator)
			}
			return exportConsents(ctx, to, w)
		})
	c.Flags().StringVar(&file, "file", "", "file to write (default: standard output)")
	sheet.AddTo(c)
	return c
}

func exportConsents(ctx context.Context, to *client.Client, w *csvfile.Writer) error {
	if err := w.Write([]string{"id", "to", "purpose", "status", "source", "at", "words", "by", "key"}); err != nil {
		return err
	}
	for cursor := ""; ; {
		page, err := to.ListConsents(ctx, client.ListConsentsParams{Limit: exportPage, Cursor: cursor})
		if err != nil {
			return err
		}
		for i := range page.Consents {
			x := &page.Consents[i]
			if err := w.Write([]string{x.ID, x.To, x.Purpose, x.Status, x.Source, x.At.UTC().Format(time.RFC3339), x.Words, x.By, x.Key}); err != nil {
				return err
			}
		}
		if err := w.Flush(); err != nil || page.NextCursor == "" {
			return err
		}
		cursor = page.NextCursor
	}
}
