package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

// ContentType returns the content type of a file.
func ContentType(file, format string) (string, error) {
	if format == "" {
		switch strings.ToLower(filepath.Ext(file)) {
		case ".csv", ".tsv", ".txt":
			format = "csv"
		case ".ndjson", ".jsonl":
			format = "ndjson"
		default:
			return "", fmt.Errorf("unknown format of %q; add --format csv or --format ndjson", file)
		}
	}
	if format == "csv" {
		return "text/csv", nil
	}
	return "application/x-ndjson", nil
}

// PrintFileResult prints the result for a file: text and the rejected rows, or value as
// JSON. Rejected rows are also an error, to which note is appended.
func (a *App) PrintFileResult(p *Output, rejected *RejectedRows, note, text string, value any) error {
	var err error
	if p.JSON() {
		err = a.PrintJSON(value)
	} else {
		_, err = io.WriteString(a.Stdout, terminal.VisibleLines(text+rejected.text()))
	}
	if err != nil || rejected.Count == 0 {
		return err
	}
	return command.Exit(Rejected, terminal.Plural(rejected.Count, "row was rejected", "rows were rejected")+note)
}

// maxDefinition is the maximum size of a definition in bytes, the same as in the API.
const maxDefinition = 8 << 20

// ReadJSON reads a JSON file.
func (a *App) ReadJSON(c *cobra.Command, name string) (json.RawMessage, error) {
	from, _, done, err := a.OpenInput(c, name)
	if err != nil {
		return nil, err
	}
	defer done()
	text, err := io.ReadAll(io.LimitReader(from, maxDefinition+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxDefinition:
		return nil, fmt.Errorf("%s exceeds %s", name, terminal.Bytes(maxDefinition))
	}
	var definition json.RawMessage
	err = json.Unmarshal(text, &definition)
	if at := (*json.SyntaxError)(nil); errors.As(err, &at) {
		line, column := position(text, at.Offset)
		return nil, fmt.Errorf("%s: line %d, column %d: %w", name, line, column, err)
	}
	return definition, err
}

// position returns line and column of the last byte read.
func position(text []byte, offset int64) (line, column int) {
	before := text[:max(0, min(offset-1, int64(len(text))))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// OpenInput opens a file, or the standard input; bytes is 0 if its size is unknown.
func (a *App) OpenInput(c *cobra.Command, name string) (_ io.Reader, bytes int64, done func(), err error) {
	if name == "-" {
		if a.Stdin == nil {
			return nil, 0, nil, command.UsageError(c, "standard input is not available")
		}
		return a.Stdin, 0, func() {}, nil
	}
	f, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return nil, 0, nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		bytes = info.Size()
	}
	return f, bytes, func() { _ = f.Close() }, nil
}
