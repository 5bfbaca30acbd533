package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress shows on the standard error, if a person looks on, how far a stream
// has come. It is told of each part by one goroutine at a time.
type progress struct {
	out   io.Writer // nil: nobody looks on
	width func() int
	now   func() time.Time
	name  string
	unit  string // what a line is
	size  int64  // 0: not known
	head  bool   // the first line is none

	began, drawn time.Time
	bytes, lines int64
	quoted       bool // inside a field in quotes
	shown        bool
}

const (
	drawEvery  = 100 * time.Millisecond
	barWidth   = 20
	usualWidth = 80
)

func (a *app) newProgress(name, unit string, size int64, head bool) *progress {
	p := &progress{name: name, unit: unit, size: size, head: head, now: a.now, width: func() int { return columnsOf(a.Stderr) }}
	p.began = p.now()
	if Terminal(a.Stderr) && a.environment("TERM") != "dumb" {
		p.out = a.Stderr
	}
	return p
}

// columnsOf is the width of a terminal.
func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return usualWidth
}

// begin notes the size of what comes, once it is known.
func (p *progress) begin(size int64) { p.size = max(0, size) }

// add notes a part.
func (p *progress) add(part []byte) {
	p.bytes += int64(len(part))
	for _, b := range part {
		switch {
		case b == '"':
			p.quoted = !p.quoted
		case b == '\n' && !p.quoted:
			p.lines++
		}
	}
	if p.out == nil {
		return
	}
	if now := p.now(); now.Sub(p.drawn) >= drawEvery || p.bytes == p.size {
		p.drawn, p.shown = now, true
		_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", p.line(now, max(20, p.width()-1)))
	}
}

// rows are the lines without the one that names the columns.
func (p *progress) rows() int64 {
	if p.head {
		return max(0, p.lines-1)
	}
	return p.lines
}

// line is at most width characters wide; it has only ASCII but for the name.
func (p *progress) line(now time.Time, width int) string {
	took := now.Sub(p.began).Seconds()
	parts := []string{size(p.bytes)}
	if p.size > 0 {
		parts[0] = fmt.Sprintf("%s of %s", size(p.bytes), size(p.size))
	}
	parts = append(parts, grouped(p.rows())+" "+p.unit)
	if took >= 0.5 {
		parts = append(parts, grouped(int64(float64(p.rows())/took))+"/s")
	}
	switch {
	case p.size > 0 && p.bytes >= p.size:
		parts = append(parts, "waiting for the answer")
	case p.size > 0 && took >= 0.5:
		left := time.Duration(took / float64(p.bytes) * float64(p.size-p.bytes) * float64(time.Second))
		parts = append(parts, span(left)+" left")
	}
	head := p.name
	if p.size > 0 {
		head += " " + bar(int(p.bytes), int(p.size)) + fmt.Sprintf(" %3d %%", 100*p.bytes/p.size)
	}
	text := []rune(head + "  " + strings.Join(parts, ", "))
	return string(text[:min(len(text), width)])
}

// clear takes the line away.
func (p *progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// bar draws n of all.
func bar(n, all int) string {
	full := barWidth
	if all > 0 {
		full = barWidth * max(0, min(n, all)) / all
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}

// size writes a number of bytes.
func size(n int64) string {
	const kilo = 1000
	switch {
	case n < kilo:
		return strconv.FormatInt(n, 10) + " B"
	case n < kilo*kilo:
		return fmt.Sprintf("%.1f kB", float64(n)/kilo)
	case n < kilo*kilo*kilo:
		return fmt.Sprintf("%.1f MB", float64(n)/(kilo*kilo))
	default:
		return fmt.Sprintf("%.2f GB", float64(n)/(kilo*kilo*kilo))
	}
}

// grouped writes thousands apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// span writes how long something takes, to two units.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%d days %d h", int(d.Hours())/24, int(d.Hours())%24)
	}
}
