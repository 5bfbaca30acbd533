package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

// Console is the standard input and output, which may be a terminal.
type Console struct {
	Stdin          io.Reader // nil: none
	Stdout, Stderr io.Writer
	size           func(f any) (columns, lines int, terminal bool) // nil: the system is asked
	environ        Environ
}

// FirstLine returns the first line of standard input, without blanks around it: for what the
// history of commands must not keep.
func (o *Console) FirstLine(c *cobra.Command) (string, error) {
	from, _, _, err := o.OpenInput(c, "-")
	if err != nil {
		return "", err
	}
	line, err := bufio.NewReader(from).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

// Note writes a remark to standard error.
func (o *Console) Note(text string) {
	_, _ = fmt.Fprintln(o.Stderr, text)
}

// Warn writes a warning to standard error.
func (o *Console) Warn(warning string) {
	_, _ = fmt.Fprintf(o.Stderr, "warning: %s\n", warning)
}

// Display describes the standard output.
type Display struct {
	Columns int // of the terminal; 0: no terminal
	Colors  bool
}

// Display returns the display of the standard output.
func (o *Console) Display(p *Output) Display {
	columns, _, ok := o.TerminalSize(o.Stdout)
	if !ok {
		return Display{}
	}
	return Display{columns - 1, !p.plain && o.environ.Value("NO_COLOR") == "" && o.environ.Value("TERM") != "dumb"}
}

// Size of a terminal that does not report its own.
const (
	DefaultWidth  = 80
	DefaultHeight = 24
)

// TerminalSize returns the size of a terminal.
func (o *Console) TerminalSize(of any) (columns, lines int, ok bool) {
	if o.size != nil {
		return o.size(of)
	}
	f, is := of.(*os.File)
	if !is || !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || lines <= 0 {
		return DefaultWidth, DefaultHeight, true
	}
	return columns, lines, true
}

// Confirmable adds the flag --yes to a command that cannot be undone. Such a command
// calls [Console.Confirm] before it changes anything.
func Confirmable(c *cobra.Command) *cobra.Command {
	c.Flags().Bool(yesFlag, false, "do not ask for confirmation")
	return c
}

const yesFlag = "yes"

// Confirmed reports whether the command line has --yes.
func Confirmed(c *cobra.Command) bool {
	yes, _ := c.Flags().GetBool(yesFlag)
	return yes
}

// Confirm asks for confirmation of a change that cannot be undone. Without a terminal
// the command needs --yes.
func (o *Console) Confirm(c *cobra.Command, what string) error {
	if Confirmed(c) {
		return nil
	}
	_, _, canRead := o.TerminalSize(o.Stdin)
	if _, _, canSee := o.TerminalSize(o.Stderr); !canRead || !canSee {
		return command.UsageError(c, what+"; to confirm, add --yes")
	}
	_, _ = fmt.Fprintf(o.Stderr, "%s. Continue? [y/N] ", terminal.Visible(what))
	answer, err := bufio.NewReader(o.Stdin).ReadString('\n')
	switch answer = strings.ToLower(strings.TrimSpace(answer)); {
	case answer == "y" || answer == "yes":
		return nil
	case err != nil && answer == "":
		_, _ = fmt.Fprintln(o.Stderr)
	}
	return command.Exit(Failure, "canceled; nothing was changed")
}

// PrintJSON writes a value as one line of JSON.
func (o *Console) PrintJSON(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Stdout, "%s\n", text)
	return err
}

// PrintValue prints a result that is not in one response: a sentence, or value as JSON.
func (o *Console) PrintValue(p *Output, value any, format string, args ...any) error {
	if p.JSON() {
		return o.PrintJSON(value)
	}
	return o.printSentence(format, args...)
}

func (o *Console) printSentence(format string, args ...any) error {
	_, err := fmt.Fprintln(o.Stdout, terminal.Visible(fmt.Sprintf(format, args...)))
	return err
}

// DryRunFlag adds the flag of a command that can check what it would save.
func DryRunFlag(c *cobra.Command, dry *bool) {
	c.Flags().BoolVar(dry, "dry-run", false, "check everything, and save nothing")
}

// PrintChecked prints that a dry run has found nothing wrong.
func (o *Console) PrintChecked(p *Output, name string) error {
	return o.PrintValue(p, map[string]bool{"dry_run": true}, "%s: nothing is wrong; nothing was saved", name)
}

// PrintFileResult prints the result for a file: text and the rejected rows, or value as
// JSON. Rejected rows are also an error, to which note is appended.
func (o *Console) PrintFileResult(p *Output, rejected *RejectedRows, note, text string, value any) error {
	var err error
	if p.JSON() {
		err = o.PrintJSON(value)
	} else {
		_, err = io.WriteString(o.Stdout, terminal.VisibleLines(text+rejected.text()))
	}
	if err != nil || rejected.Count == 0 {
		return err
	}
	return command.Exit(Rejected, terminal.Plural(rejected.Count, "row was rejected", "rows were rejected")+note)
}

// maxDefinition is the maximum size of a definition in bytes, the same as in the API.
const maxDefinition = 8 << 20

// ReadJSON reads a JSON file.
func (o *Console) ReadJSON(c *cobra.Command, name string) (json.RawMessage, error) {
	from, _, done, err := o.OpenInput(c, name)
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
func (o *Console) OpenInput(c *cobra.Command, name string) (_ io.Reader, bytes int64, done func(), err error) {
	if name == "-" {
		if o.Stdin == nil {
			return nil, 0, nil, command.UsageError(c, "standard input is not available")
		}
		return o.Stdin, 0, func() {}, nil
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
