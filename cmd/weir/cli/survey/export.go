package survey

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/app"
)

func exportCommand(a *app.App, r *app.Connection) *cobra.Command {
	return command.Group("export", "Write the results or the log of a survey into a file", "Writes the results or the log of a survey into a CSV file.",
		exportFileCommand(a, r, "results", "One row for each respondent", "Writes one row for each respondent: status, disposition, attempts and attributes."),
		exportFileCommand(a, r, "log", "One row for everything that happened", "Writes one row for each contact, outcome, message and disposition, in order."))
}

func exportFileCommand(a *app.App, r *app.Connection, what, short, long string) *cobra.Command {
	var file string
	var force bool
	c := a.APICommand(r, what+" NAME", short, long+`

An export that breaks off leaves no file behind.`, `  weir survey export `+what+` flu
  weir survey export `+what+` flu --file - | head`,
		func(ctx context.Context, c *cobra.Command, to *client.Client, args []string) error {
			export := client.Request{Method: http.MethodGet, Path: "/v1/surveys/" + url.PathEscape(args[0]) + "/" + what + ".csv"}
			if file == "-" {
				return download(ctx, to, export, a.Stdout)
			}
			if file == "" {
				file = filepath.Base(args[0]) + "-" + what + ".csv"
			}
			return exportTo(ctx, a, c, r, to, export, file, force)
		})
	c.Flags().StringVarP(&file, "file", "f", "", `where to; "-" for the standard output (default NAME-`+what+`.csv)`)
	c.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	return c
}

// download writes the body of a response of any size.
func download(ctx context.Context, to *client.Client, r client.Request, out io.Writer) error {
	body, err := to.Open(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	buffered := bufio.NewWriterSize(out, 64<<10)
	if _, err := io.Copy(buffered, body); err != nil {
		err = fmt.Errorf("the export is incomplete: %w", err)
		return errors.Join(err, buffered.Flush())
	}
	return buffered.Flush()
}

// exportTo writes to a temporary file, which gets its final name once it is complete.
func exportTo(ctx context.Context, a *app.App, c *cobra.Command, r *app.Connection, to *client.Client, export client.Request, file string, force bool) (err error) {
	if _, err := os.Lstat(file); err == nil && !force {
		return command.UsageError(c, file+" exists; say --force to write over it")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part.Name())
		}
	}()
	p := a.NewProgress(filepath.Base(file), "rows", 0, true)
	err = download(ctx, to, export, io.MultiWriter(part, p))
	p.Clear()
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), file); err != nil {
		return err
	}
	return printExported(a, r, file, p)
}

func printExported(a *app.App, r *app.Connection, file string, p *app.Progress) error {
	raw, err := json.Marshal(map[string]any{"file": file, "bytes": p.Bytes, "rows": p.Rows()})
	if err != nil {
		return err
	}
	return a.PrintResult(r, raw, "%s: %s, %s", file, terminal.Plural(p.Rows(), "row", "rows"), terminal.Bytes(p.Bytes))
}
