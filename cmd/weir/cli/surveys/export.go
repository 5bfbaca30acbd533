package surveys

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

// exportCommand makes "weir survey export".
func exportCommand(a *app.App, r *app.Connection) *cobra.Command {
	var p client.GetResultsParams
	var dispositions []string
	results := exportFileCommand(a, r, "results", "Export a row for each respondent", `Write a row for each respondent: status, disposition, attempts and attributes. --since and
--until select by the last change.`, `
  weir survey export results flu --disposition refused --disposition ineligible --since 24h`,
		func(ctx context.Context, to *client.Client, survey string) (io.ReadCloser, error) {
			p.Disposition = strings.Join(dispositions, ",")
			return to.GetResults(ctx, survey, p)
		})
	results.Flags().StringSliceVar(&dispositions, "disposition", nil, "only respondents with these dispositions (comma-separated, or repeated)")
	a.Clock.TimeFlag(results, &p.Since, "since", "only respondents last changed at or after")
	a.Clock.TimeFlag(results, &p.Until, "until", "only respondents last changed before")
	return command.Group("export", "Export the results or the log of a survey", "Write the results or the log of a survey to a CSV file.", results,
		exportFileCommand(a, r, "log", "Export a row for each log entry", "Write a row for each contact, outcome, message and disposition, in order.", "",
			func(ctx context.Context, to *client.Client, survey string) (io.ReadCloser, error) {
				return to.GetSurveyLog(ctx, survey, client.GetSurveyLogParams{})
			}))
}

// exportFileCommand makes "weir survey export results" and "weir survey export log".
func exportFileCommand(a *app.App, r *app.Connection, what, short, long, example string, open func(_ context.Context, _ *client.Client, survey string) (io.ReadCloser, error)) *cobra.Command {
	var file string
	var force bool
	c := r.APICommand(what+" NAME", short, long+`

An incomplete export leaves no file.`, `  weir survey export `+what+` flu
  weir survey export `+what+` flu --file - | head`+example,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			export := func(out io.Writer) error {
				body, err := open(ctx, to, args[0])
				if err != nil {
					return err
				}
				return download(body, out)
			}
			if file == "-" {
				return export(a.Console.Stdout)
			}
			return exportTo(a, c, r, export, cmp.Or(file, filepath.Base(args[0])+"-"+what+".csv"), force)
		})
	c.Flags().StringVarP(&file, "file", "f", "", `file to write, "-" for standard output (default: NAME-`+what+`.csv)`)
	c.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	return c
}

// download writes the body of a response of any size.
func download(body io.ReadCloser, out io.Writer) error {
	defer func() { _ = body.Close() }()
	buffered := bufio.NewWriterSize(out, 64<<10)
	if _, err := io.Copy(buffered, body); err != nil {
		err = fmt.Errorf("the export is incomplete: %w", err)
		// Rows that have come are still written: standard output may be all there is.
		return errors.Join(err, buffered.Flush())
	}
	return buffered.Flush()
}

// exportTo writes to a temporary file, which gets its final name once it is complete.
func exportTo(a *app.App, c *cobra.Command, r *app.Connection, export func(io.Writer) error, file string, force bool) (err error) {
	if _, err := os.Lstat(file); err == nil && !force {
		return command.UsageError(c, file+" exists; add --force to overwrite it")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// In the same folder: a rename cannot cross file systems.
	part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part.Name())
		}
	}()
	p := a.Console.NewProgress(a.Clock, filepath.Base(file), 0, true)
	err = export(io.MultiWriter(part, p))
	p.Clear()
	// Synced before the rename: after a crash, the final name must not stand for an empty file.
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), file); err != nil {
		return err
	}
	return a.Console.PrintValue(&r.Output, map[string]any{"file": file, "bytes": p.Bytes, "rows": p.Rows()},
		"%s: %s, %s", file, terminal.Plural(p.Rows(), "row", "rows"), terminal.Bytes(p.Bytes))
}
