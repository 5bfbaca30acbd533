package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"
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
