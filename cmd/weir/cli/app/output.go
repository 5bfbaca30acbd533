package app

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"weir/client"
	"weir/cmd/internal/command"
	"weir/cmd/internal/terminal"
)

// Output is the output format of a command.
type Output struct {
	Format command.Choice
	plain  bool // without colors
}

// NewOutput returns the default format.
func NewOutput() Output {
	return Output{Format: command.NewChoice("table", "table", "json", "jsonl")}
}

// JSON reports whether the output is JSON, for programs.
func (p *Output) JSON() bool { return p.Format.Value != "table" }

// AddFlags adds the flags of the output format to a command and its subcommands.
func (p *Output) AddFlags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.VarP(&p.Format, "output", "o", "output format: a table, json (one value; an array for a list) or jsonl (one line per element)")
	f.BoolVar(&p.plain, "no-color", false, "disable colors on a terminal (as NO_COLOR does)")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(p.Format.Allowed, cobra.ShellCompDirectiveNoFileComp))
}

// List writes a list as a table, a JSON array, or one line of JSON for each
// element. The list may be of any length.
type List struct {
	form  string
	out   io.Writer
	table terminal.Table
	count int
	More  bool // PrintList left out elements
}

// NewList starts a list.
func (o *Console) NewList(p *Output, out io.Writer, columns ...terminal.Column) *List {
	l := o.Display(p)
	return &List{form: p.Format.Value, out: out, table: terminal.Table{Out: out, Columns: columns, Width: l.Columns, Colors: l.Colors}}
}

// Add adds an element; row is its row of the table.
func (l *List) Add(element any, row ...terminal.Cell) error {
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

// Close completes the output.
func (l *List) Close() error {
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

// PrintList prints a list, at most limit of its elements; 0: all.
func PrintList[T any](l *List, items iter.Seq2[T, error], limit int, row func(T) []terminal.Cell) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		if l.More = limit > 0 && l.count == limit; l.More {
			break
		}
		if err := l.Add(item, row(item)...); err != nil {
			return err
		}
	}
	return l.Close()
}

// LimitFlag adds the flag --limit.
func LimitFlag(c *cobra.Command, limit *int, about string) {
	c.Flags().IntVar(limit, "limit", *limit, about)
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if *limit < 0 {
			return command.UsageError(c, "--limit must be 0 or more")
		}
		return nil
	}
}

// PageSize returns the page size for printing at most limit elements: one more, to
// detect that there are more. 0: as large as the API allows.
func PageSize(limit int) int {
	if limit == 0 {
		return 0
	}
	return min(limit+1, 1000)
}

// TextCell is a cell without a style.
func TextCell(text string) terminal.Cell { return terminal.Cell{Text: text} }

// StateCell is a cell for a state, with its color.
func StateCell(state string) terminal.Cell {
	style := map[string]terminal.Style{
		"up": terminal.Good, "enabled": terminal.Good, "running": terminal.Good, "live": terminal.Good, "completed": terminal.Good, "active": terminal.Good, "assigned": terminal.Good,
		"paused": terminal.Warning, "stopping": terminal.Warning, "unknown": terminal.Warning, "deleting": terminal.Warning, "draining": terminal.Warning,
		"down": terminal.Bad, "error": terminal.Bad, "faulted": terminal.Bad, "failed": terminal.Bad, "lost": terminal.Bad, "dead_letter": terminal.Bad, "failing": terminal.Bad, "disabled": terminal.Bad,
		"done": terminal.Faint, "revoked": terminal.Faint, "expired": terminal.Faint, "canceled": terminal.Faint, "inactive": terminal.Faint,
	}[state]
	return terminal.Cell{Text: state, Style: style}
}

// Column returns a left-aligned column. If a minimum width is given, the column may be
// shortened to it.
func Column(name string, minWidth ...int) terminal.Column {
	c := terminal.Column{Name: name}
	for _, n := range minWidth {
		c.MinWidth = n
	}
	return c
}

// NumberColumn returns a right-aligned column.
func NumberColumn(name string) terminal.Column { return terminal.Column{Name: name, Right: true} }

// WriteRaw writes a JSON value as it was received, on a line of its own.
func WriteRaw(out io.Writer, raw []byte) error {
	_, err := fmt.Fprintf(out, "%s\n", strings.TrimSpace(string(raw)))
	return err
}

// Cells converts values to cells.
func Cells(all ...any) []terminal.Cell {
	out := make([]terminal.Cell, len(all))
	for i, x := range all {
		if cell, ok := x.(terminal.Cell); ok {
			out[i] = cell
		} else {
			out[i] = TextCell(fmt.Sprint(x))
		}
	}
	return out
}

// ChannelState returns the state of a channel as it is displayed.
func ChannelState(ch *client.ChannelView) string {
	if ch.Deleting {
		return "deleting"
	}
	return ch.State
}
