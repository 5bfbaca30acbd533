package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

// printing is the output format of a command.
type printing struct {
	output command.Choice
	plain  bool // without colors
}

func newPrinting() printing {
	return printing{output: command.NewChoice("table", "table", "json", "jsonl")}
}

// json reports whether the output is JSON, for programs.
func (p *printing) json() bool { return p.output.Value != "table" }

// flags adds the flags of the output format to a command and its subcommands.
func (p *printing) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.VarP(&p.output, "output", "o", "form of the output: json is one value, of a list an array; jsonl has each element on a line")
	f.BoolVar(&p.plain, "no-color", false, "no colours, also on a terminal (as with NO_COLOR)")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(p.output.Allowed, cobra.ShellCompDirectiveNoFileComp))
}

// look describes the standard output.
type look struct {
	columns int // of the terminal; 0: no terminal
	colours bool
}

func (a *app) look(p *printing) look {
	columns, _, ok := a.size(a.Stdout)
	if !ok {
		return look{}
	}
	return look{columns - 1, !p.plain && a.environment("NO_COLOR") == "" && a.environment("TERM") != "dumb"}
}

// size returns the size of a terminal.
func (a *app) size(of any) (columns, lines int, ok bool) {
	if a.Size != nil {
		return a.Size(of)
	}
	f, is := of.(*os.File)
	if !is || !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || lines <= 0 {
		return usualWidth, usualHeight, true
	}
	return columns, lines, true
}

// list writes a list as a table, a JSON array, or one line of JSON for each
// element. The list may be of any length.
type list struct {
	form  string
	out   io.Writer
	table terminal.Table
	count int
}

func (a *app) list(p *printing, out io.Writer, columns ...terminal.Column) *list {
	l := a.look(p)
	return &list{form: p.output.Value, out: out, table: terminal.Table{Out: out, Columns: columns, Width: l.columns, Colours: l.colours}}
}

// add adds an element; row is its row of the table.
func (l *list) add(element any, row ...terminal.Cell) error {
	l.count++
	if l.form == "table" {
		return l.table.Add(row)
	}
	text, err := json.Marshal(element)
	if err != nil {
		return err
	}
	switch {
	case l.form == "jsonl":
		_, err = fmt.Fprintf(l.out, "%s\n", text)
	case l.count == 1:
		_, err = fmt.Fprintf(l.out, "[\n%s", text)
	default:
		_, err = fmt.Fprintf(l.out, ",\n%s", text)
	}
	return err
}

// end completes the output.
func (l *list) end() error {
	switch {
	case l.form == "table":
		return l.table.Flush()
	case l.form == "jsonl":
		return nil
	case l.count == 0:
		_, err := fmt.Fprintln(l.out, "[]")
		return err
	default:
		_, err := fmt.Fprintln(l.out, "\n]")
		return err
	}
}

// printList prints a list, at most limit of its elements; 0: all. It returns true if
// there are more.
func printList[T any](l *list, items iter.Seq2[T, error], limit int, row func(T) []terminal.Cell) (more bool, err error) {
	for item, err := range items {
		if err != nil {
			return false, err
		}
		if limit > 0 && l.count == limit {
			return true, l.end()
		}
		if err := l.add(item, row(item)...); err != nil {
			return false, err
		}
	}
	return false, l.end()
}

// pageSize returns the size of the pages of a list of which at most limit elements
// are printed, one more to see whether there are more; 0: as large as the API allows.
func pageSize(limit int) int {
	if limit == 0 {
		return 0
	}
	return min(limit+1, 1000)
}

// plainCell is a cell without a style.
func plainCell(text string) terminal.Cell { return terminal.Cell{Text: text} }

// stateCell is a cell for a state, with its color.
func stateCell(state string) terminal.Cell {
	style := map[string]terminal.Style{
		"up": terminal.Good, "running": terminal.Good, "live": terminal.Good, "completed": terminal.Good, "active": terminal.Good, "assigned": terminal.Good,
		"paused": terminal.Warning, "stopping": terminal.Warning, "unknown": terminal.Warning, "deleting": terminal.Warning, "draining": terminal.Warning,
		"down": terminal.Bad, "error": terminal.Bad, "faulted": terminal.Bad, "failed": terminal.Bad, "lost": terminal.Bad, "dead_letter": terminal.Bad,
		"done": terminal.Faint, "revoked": terminal.Faint, "expired": terminal.Faint, "canceled": terminal.Faint, "inactive": terminal.Faint,
	}[state]
	return terminal.Cell{Text: state, Style: style}
}

// left and right return columns with that alignment; a column with a least width may be shortened to it.
func left(name string, least ...int) terminal.Column {
	c := terminal.Column{Name: name}
	for _, n := range least {
		c.Least = n
	}
	return c
}

func right(name string) terminal.Column { return terminal.Column{Name: name, Right: true} }

// line writes a value as one line of JSON.
func (a *app) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s\n", text)
	return err
}
