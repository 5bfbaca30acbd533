package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
)

// Root is the whole command line.
func Root() *cobra.Command { return (&app{}).root() }

// Progress is what the tests see of progress.
type Progress struct{ p *progress }

// NewProgress makes one on a terminal of a width.
func NewProgress(out io.Writer, width int, now func() time.Time, name string, size int64) Progress {
	return Progress{&progress{
		out: out, width: func() int { return width }, now: now, name: name, unit: "rows", size: size, head: true, began: now(),
	}}
}

// Add notes a part.
func (p Progress) Add(part []byte) { p.p.add(part) }

// Clear takes the line away.
func (p Progress) Clear() { p.p.clear() }

// OnTerminal writes texts one over the other.
func OnTerminal(out io.Writer, width int, texts ...string) error {
	s := &screen{out: out, over: true, width: func() int { return width }, height: func() int { return usualHeight }}
	for _, text := range texts {
		if err := s.write(text); err != nil {
			return err
		}
	}
	return nil
}

// ReadRows reads a file of contacts to its end and returns the lines of its rows.
func ReadRows(csv bool, from io.Reader) (lines []int, err error) {
	var source rows = newJSONRows(from, client.ContactBody{})
	if csv {
		if source, err = newCSVRows(from, client.ContactBody{}); err != nil {
			return nil, err
		}
	}
	for {
		r, err := source.next()
		if err != nil {
			return lines, err
		}
		if r.wrong == nil {
			if _, err := keyOf("run", &r.contact); err != nil {
				return lines, err
			}
		}
		lines = append(lines, r.line)
	}
}
