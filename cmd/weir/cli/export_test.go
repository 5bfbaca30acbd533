package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"weir/client"
)

// Root returns the root command.
func Root() *cobra.Command { return (&app{}).root() }

// Progress gives tests access to progress.
type Progress struct{ p *progress }

// NewProgress returns a progress on a terminal of the given width.
func NewProgress(out io.Writer, width int, now func() time.Time, name string, size int64) Progress {
	return Progress{&progress{
		out: out, width: func() int { return width }, now: now, name: name, unit: "rows", size: size, head: true, began: now(),
	}}
}

// Add adds a part of the stream.
func (p Progress) Add(part []byte) { p.p.add(part) }

// Clear clears the line.
func (p Progress) Clear() { p.p.clear() }

// OnTerminal writes texts in place, each over the previous one.
func OnTerminal(out io.Writer, width int, texts ...string) error {
	s := &screen{out: out, over: true, width: func() int { return width }, height: func() int { return usualHeight }}
	for _, text := range texts {
		if err := s.write(text); err != nil {
			return err
		}
	}
	return nil
}

// ReadRows reads a file of contacts to its end and returns the line numbers of its rows.
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
