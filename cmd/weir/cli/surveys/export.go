package surveys

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/weir/cli/app"
)

// exportCommand makes "weir survey export".
func exportCommand(a *app.App, r *app.Connection) *cobra.Command {
	var p client.GetResultsParams
	var statuses, dispositions []string
	format, values := command.NewChoice("csv", "csv", "xlsx", layoutNCD), command.NewChoice("", "codes", "labels")
	results := exportFileCommand(a, r, "results", "Export a row for each respondent", `Write a row for each respondent: status, disposition, attempts and attributes. --since and
--until select by the last change. --format xlsx writes an Excel workbook with the codebook
as a second sheet, --format ncd a CSV file with the columns of the protocol of NCD mobile phone
surveys, as the commands for the log, the dispositions and the incentives do.`, `
  weir survey export results flu --disposition refused --disposition ineligible --since 24h
  weir survey export results flu --format xlsx --values labels`,
		func(ctx context.Context, to *client.Client, survey, sheet string) (io.ReadCloser, error) {
			p.Status, p.Disposition = strings.Join(statuses, ","), strings.Join(dispositions, ",")
			p.Format, p.Spreadsheet = layoutOf(&format), sheet
			if p.Values = values.Value; format.Value == "xlsx" {
				return to.GetResultsWorkbook(ctx, survey, client.GetResultsWorkbookParams{Status: p.Status, Disposition: p.Disposition, Since: p.Since, Until: p.Until, Values: p.Values})
			}
			return to.GetResults(ctx, survey, p)
		})
	results.Flags().Var(&format, formatFlag, "format of the file; ncd: CSV with the columns of the protocol")
	results.Flags().Var(&values, "values", "codes of choices, or their texts in the first language of the questionnaire (default: codes)")
	results.Flags().StringSliceVar(&statuses, "status", nil, "only respondents with these statuses: pending, active, completed (ended with the conversation), failed, rejected, canceled (comma-separated, or repeated)")
	results.Flags().StringSliceVar(&dispositions, "disposition", nil, "only respondents with these dispositions (comma-separated, or repeated)")
	a.Clock.TimeFlag(results, &p.Since, "since", "only respondents last changed at or after")
	a.Clock.TimeFlag(results, &p.Until, "until", "only respondents last changed before")
	return command.Group("export", "Export the results of a survey, and what happened in it", "Write the results, the codebook, the log, the history of the dispositions, or the list for rewards, of a survey to a CSV file.", results,
		exportFileCommand(a, r, "codebook", "Export what the columns of questions mean", "Write a row for each question that Weir asks, and for each of its choices, with the texts in all languages.", "",
			func(ctx context.Context, to *client.Client, survey, sheet string) (io.ReadCloser, error) {
				return to.GetCodebook(ctx, survey, client.GetCodebookParams{Spreadsheet: sheet})
			}),
		exportLayoutCommand(a, r, "log", "Export a row for each log entry", "Write a row for each contact, outcome, message and disposition, in order.",
			func(ctx context.Context, to *client.Client, survey, layout, sheet string) (io.ReadCloser, error) {
				return to.GetSurveyLog(ctx, survey, client.GetSurveyLogParams{Format: layout, Spreadsheet: sheet})
			}),
		exportLayoutCommand(a, r, "dispositions", "Export a row for each change of a disposition", "Write a row for each change of a disposition, by respondent and then time, with the mode of the last contact. It has no phone numbers.",
			func(ctx context.Context, to *client.Client, survey, layout, sheet string) (io.ReadCloser, error) {
				return to.GetDispositions(ctx, survey, client.GetDispositionsParams{Format: layout, Spreadsheet: sheet})
			}),
		exportLayoutCommand(a, r, "incentives", "Export the phone numbers of those who completed", "Write the phone number of each respondent who completed, with the mode of the interview and the instant of its end. The token needs the scope pii:read.",
			func(ctx context.Context, to *client.Client, survey, layout, sheet string) (io.ReadCloser, error) {
				return to.GetIncentives(ctx, survey, client.GetIncentivesParams{Format: layout, Spreadsheet: sheet})
			}))
}

// layoutNCD is the format of the protocol of NCD mobile phone surveys, which is CSV with other columns.
const layoutNCD = "ncd"

// layoutOf returns the parameter of a request for a format.
func layoutOf(format *command.Choice) string {
	if format.Value == layoutNCD {
		return layoutNCD
	}
	return ""
}

// exportLayoutCommand makes a command of "weir survey export" whose file has two layouts.
func exportLayoutCommand(a *app.App, r *app.Connection, what, short, long string, open func(_ context.Context, _ *client.Client, survey, layout, sheet string) (io.ReadCloser, error)) *cobra.Command {
	format := command.NewChoice("csv", "csv", layoutNCD)
	c := exportFileCommand(a, r, what, short, long, "\n  weir survey export "+what+" flu --format ncd", func(ctx context.Context, to *client.Client, survey, sheet string) (io.ReadCloser, error) {
		return open(ctx, to, survey, layoutOf(&format), sheet)
	})
	c.Flags().Var(&format, formatFlag, "columns of the file; ncd: those of the protocol of NCD mobile phone surveys")
	return c
}

// formatFlag is the flag of an export that names the format, which is the extension of the file.
const formatFlag = "format"

// exportFileCommand makes a command of "weir survey export".
func exportFileCommand(a *app.App, r *app.Connection, what, short, long, example string, open func(_ context.Context, _ *client.Client, survey, sheet string) (io.ReadCloser, error)) *cobra.Command {
	var e app.Export
	c := r.APICommand(what+" NAME", short, long+`

An incomplete export leaves no file.`, `  weir survey export `+what+` flu
  weir survey export `+what+` flu --file - | head`+example,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			ext := ".csv"
			if f := c.Flags().Lookup(formatFlag); f != nil && f.Value.String() != layoutNCD {
				ext = "." + f.Value.String()
			}
			if e.Spreadsheet() != "" && ext != ".csv" {
				return command.UsageError(c, "--spreadsheet is for CSV: a workbook has no separator")
			}
			body, err := open(ctx, to, args[0], e.Spreadsheet())
			if err != nil {
				return err
			}
			return e.Write(a, c, r, body, filepath.Base(args[0])+"-"+what+ext)
		})
	e.AddTo(c, "NAME-"+what+".csv")
	return c
}
