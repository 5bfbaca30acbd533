package app

import (
	"fmt"
	"io"
	"strings"
	"time"

	"weir/cmd/internal/terminal"
)

// StatusLine is a line on standard error that is overwritten in place, if standard
// error is a terminal.
type StatusLine struct {
	out   io.Writer // nil: no terminal
	width func() int
	shown bool
}

// NewStatusLine returns the line, without text.
func (o *Console) NewStatusLine() *StatusLine {
	if _, _, ok := o.TerminalSize(o.Stderr); !ok || o.environ.Value("TERM") == "dumb" {
		return &StatusLine{}
	}
	return &StatusLine{out: o.Stderr, width: func() int { columns, _, _ := o.TerminalSize(o.Stderr); return columns }}
}

// Show replaces the text of the line.
func (l *StatusLine) Show(text string) {
	if l.out != nil {
		l.shown = true
		_, _ = fmt.Fprintf(l.out, "\r\x1b[K%s", terminal.Cut(terminal.Visible(text), max(20, l.width()-1)))
	}
}

// Clear removes the line.
func (l *StatusLine) Clear() {
	if l.shown {
		_, _ = io.WriteString(l.out, "\r\x1b[K")
		l.shown = false
	}
}

// Progress shows the progress of a stream on standard error, if that is a terminal.
// Only one goroutine at a time may add parts.
type Progress struct {
	*StatusLine
	now    func() time.Time
	name   string
	size   int64 // in bytes; 0: unknown
	head   bool  // the first line is a header
	packed bool  // its rows cannot be counted

	began, drawn time.Time
	Bytes, lines int64
	quoted       bool // inside a quoted field
}

// drawEvery is the minimum time between updates of the line.
const drawEvery = 100 * time.Millisecond

// NewProgress returns the progress of a stream of size bytes; 0: unknown. If head is
// set, the first line is a header and not counted.
// contentType is that of the stream.
func (o *Console) NewProgress(clock *Clock, name string, size int64, contentType string) *Progress {
	return &Progress{StatusLine: o.NewStatusLine(), name: name, size: size, head: contentType == "text/csv", packed: contentType == workbookType, now: clock.Now, began: clock.Now()}
}

// Write implements io.Writer; it counts what is written.
func (p *Progress) Write(part []byte) (int, error) { p.Add(part); return len(part), nil }

// Add counts a part of the stream.
func (p *Progress) Add(part []byte) {
	p.Bytes += int64(len(part))
	for _, b := range part {
		switch {
		case b == '"':
			p.quoted = !p.quoted
		case b == '\n' && !p.quoted:
			p.lines++
		}
	}
	if now := p.now(); now.Sub(p.drawn) >= drawEvery || p.Bytes == p.size {
		p.drawn = now
		p.Show(p.text(now))
	}
}

// Rows returns the number of lines without the header.
func (p *Progress) Rows() int64 {
	if p.head {
		return max(0, p.lines-1)
	}
	return p.lines
}

// text describes the progress; it has only ASCII, except for the name.
func (p *Progress) text(now time.Time) string {
	took := now.Sub(p.began).Seconds()
	parts := []string{terminal.Bytes(p.Bytes)}
	if p.size > 0 {
		parts[0] = fmt.Sprintf("%s of %s", terminal.Bytes(p.Bytes), terminal.Bytes(p.size))
	}
	if !p.packed {
		parts = append(parts, terminal.Number(p.Rows())+" rows")
	}
	if took >= 0.5 && !p.packed {
		parts = append(parts, terminal.Number(int64(float64(p.Rows())/took))+"/s")
	}
	switch {
	case p.size > 0 && p.Bytes >= p.size:
		parts = append(parts, "waiting for the answer")
	case p.size > 0 && took >= 0.5:
		left := time.Duration(took / float64(p.Bytes) * float64(p.size-p.Bytes) * float64(time.Second))
		parts = append(parts, terminal.Duration(left)+" left")
	}
	head := p.name
	if p.size > 0 {
		head += " " + terminal.Meter(int(p.Bytes), int(p.size)) + fmt.Sprintf(" %3d %%", 100*p.Bytes/p.size)
	}
	return head + "  " + strings.Join(parts, ", ")
}
