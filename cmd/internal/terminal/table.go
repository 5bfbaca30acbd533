package terminal

import (
	"io"
	"strings"
)

// Column describes one column of a table.
type Column struct {
	Name  string
	Right bool // right-aligned
	// MinWidth is the width in cells to which the column may be shortened on a narrow
	// terminal; 0: it is never shortened.
	MinWidth int
}

// Cell is one cell of a table.
type Cell struct {
	Text  string
	Style Style
}

// maxBuffered is the maximum number of rows that are buffered to determine the column
// widths, so that a table may be of any length.
const maxBuffered = 500

// Table writes rows in aligned columns. Cells may hold untrusted text.
type Table struct {
	Out     io.Writer
	Columns []Column
	Width   int // of the terminal, in cells; 0: no terminal, nothing is shortened
	Colors  bool

	rows   [][]Cell
	widths []int
	headed bool
}

const columnGap = 2 // blanks between columns

// Add adds a row. It may write the buffered rows.
func (t *Table) Add(row []Cell) error {
	for i := range row {
		if row[i].Text = Visible(row[i].Text); row[i].Text == "" {
			row[i].Text = "-"
		}
	}
	if t.rows = append(t.rows, row); len(t.rows) < maxBuffered {
		return nil
	}
	return t.Flush()
}

// Flush writes the buffered rows, and before the first rows the column names.
func (t *Table) Flush() error {
	if t.headed && len(t.rows) == 0 {
		return nil
	}
	t.measure()
	var b strings.Builder
	if !t.headed {
		head := make([]Cell, len(t.Columns))
		for i, c := range t.Columns {
			head[i] = Cell{c.Name, Strong}
		}
		t.line(&b, head)
		t.headed = true
	}
	for _, row := range t.rows {
		t.line(&b, row)
	}
	t.rows = t.rows[:0]
	_, err := io.WriteString(t.Out, b.String())
	return err
}

// measure computes the width of each column. A column never becomes narrower from
// one part of a table to the next, unless the terminal is too narrow.
func (t *Table) measure() {
	if t.widths == nil {
		t.widths = make([]int, len(t.Columns))
		for i, c := range t.Columns {
			t.widths[i] = Width(c.Name)
		}
	}
	for _, row := range t.rows {
		for i, c := range row {
			t.widths[i] = max(t.widths[i], Width(c.Text))
		}
	}
	if t.Width <= 0 {
		return
	}
	over := columnGap*(len(t.widths)-1) - t.Width
	for _, w := range t.widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for i, c := range t.Columns {
			if c.MinWidth > 0 && t.widths[i] > max(c.MinWidth, Width(c.Name)) && (widest < 0 || t.widths[i] > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		t.widths[widest]--
	}
}

func (t *Table) line(b *strings.Builder, row []Cell) {
	for i, c := range row {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
		text := Cut(c.Text, t.widths[i])
		blank := strings.Repeat(" ", max(0, t.widths[i]-Width(text)))
		if i == len(row)-1 && !t.Columns[i].Right {
			blank = ""
		}
		if t.Columns[i].Right {
			b.WriteString(blank)
		}
		b.WriteString(c.Style.Paint(text, t.Colors))
		if !t.Columns[i].Right {
			b.WriteString(blank)
		}
	}
	b.WriteByte('\n')
}
