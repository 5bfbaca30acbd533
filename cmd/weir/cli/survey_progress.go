package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"weir/cmd/internal/command"
)

// progress shows the progress of a stream on standard error, if that is a terminal.
// Only one goroutine at a time may add parts.
type progress struct {
	out   io.Writer // nil: no terminal
	width func() int
	now   func() time.Time
	name  string
	unit  string // the name of what a line holds
	size  int64  // in bytes; 0: unknown
	head  bool   // the first line is a header

	began, drawn time.Time
	bytes, lines int64
	quoted       bool // inside a quoted field
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
	if command.IsTerminal(a.Stderr) && a.environment("TERM") != "dumb" {
		p.out = a.Stderr
	}
	return p
}

// columnsOf returns the width of a terminal.
func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return usualWidth
}

// add counts a part of the stream.
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

// rows returns the number of lines without the header.
func (p *progress) rows() int64 {
	if p.head {
		return max(0, p.lines-1)
	}
	return p.lines
}

// line returns a line of at most width characters; it has only ASCII, except for the name.
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

// clear clears the line.
func (p *progress) clear() {
	if p.shown {
		_, _ = io.WriteString(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// bar draws n of all as a bar.
func bar(n, all int) string {
	full := barWidth
	if all > 0 {
		full = barWidth * max(0, min(n, all)) / all
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}

// size formats a number of bytes.
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

// grouped formats a number with its thousands separated.
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

// span formats a duration in at most two units.
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
