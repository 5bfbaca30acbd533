package app

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
	"weir/internal/csvfile"
)

// Export holds the flags of a command that writes a file of any size from Weir.
type Export struct {
	file  string
	force bool
	sheet Spreadsheet
}

// Spreadsheet is the flag that writes a CSV file for Excel. Its value is a parameter of the API.
type Spreadsheet struct{ choice command.Choice }

// AddTo adds the flag to a command.
func (s *Spreadsheet) AddTo(c *cobra.Command) {
	s.choice = command.NewChoice("", slices.Sorted(maps.Keys(csvfile.Separators()))...)
	c.Flags().Var(&s.choice, "spreadsheet", "CSV for Excel, with this separator (the semicolon where decimals have a comma)")
}

// Value returns the separator's name; empty: no file for Excel.
func (s *Spreadsheet) Value() string { return s.choice.Value }

// Spreadsheet returns the parameter of requests for the file.
func (e *Export) Spreadsheet() string { return e.sheet.Value() }

// AddTo adds the flags to a command. usual is the file that is written without them.
func (e *Export) AddTo(c *cobra.Command, usual string) {
	c.Flags().StringVarP(&e.file, "file", "f", "", `file to write, "-" for standard output (default: `+usual+`)`)
	c.Flags().BoolVar(&e.force, "force", false, "overwrite an existing file")
	e.sheet.AddTo(c)
}

// Write writes a response to the file that the flags name, or else to usual. An incomplete
// response leaves no file.
func (e *Export) Write(a *App, c *cobra.Command, r *Connection, body io.ReadCloser, usual string) error {
	export := func(out io.Writer) error { return download(body, out) }
	if e.file == "-" {
		return export(a.Console.Stdout)
	}
	file := cmp.Or(e.file, usual)
	if _, err := os.Lstat(file); err == nil && !e.force {
		_ = body.Close()
		return command.UsageError(c, file+" exists; add --force to overwrite it")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = body.Close()
		return err
	}
	kind, err := ContentType(usual, "")
	if err != nil {
		kind = "text/csv"
	}
	return writeFile(a, r, export, file, kind)
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

// writeFile writes what has a content type to a temporary file, which gets its final name once it is complete.
func writeFile(a *App, r *Connection, export func(io.Writer) error, file, contentType string) (err error) {
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
	p := a.Console.NewProgress(a.Clock, filepath.Base(file), 0, contentType)
	err = export(io.MultiWriter(part, p))
	p.Clear()
	// Synced before the rename: after a crash, the final name must not stand for an empty file.
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), file); err != nil {
		return err
	}
	if contentType == workbookType {
		return a.Console.PrintValue(&r.Output, map[string]any{"file": file, "bytes": p.Bytes}, "%s: %s", file, terminal.Bytes(p.Bytes))
	}
	return a.Console.PrintValue(&r.Output, map[string]any{"file": file, "bytes": p.Bytes, "rows": p.Rows()},
		"%s: %s, %s", file, terminal.Plural(p.Rows(), "row", "rows"), terminal.Bytes(p.Bytes))
}
