package demo

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// view is the demo's output: sentences that stay and, below them, a changing line for
// each survey and channel. If the output is not a terminal, the lines are written again
// from time to time. It is used by one goroutine.
type view struct {
	out      io.Writer
	terminal bool
	color    bool
	width    func() int
	began    time.Time
	drawn    int       // lines that can be drawn over
	wrote    time.Time // lines on anything but a terminal
}

const (
	drawEvery = 200 * time.Millisecond // on a terminal
	lineEvery = 5 * time.Second        // elsewhere
	usual     = 80                     // columns, when they are not known
	widest    = 100                    // columns of a sentence
	barWidth  = 12
)

func newView(o Options, now time.Time) *view {
	return &view{out: o.Out, terminal: o.Terminal, color: o.Color, width: o.Width, began: now}
}

// columns returns how many columns can be written without a line break.
func (v *view) columns() int {
	if v.terminal && v.width != nil {
		if n := v.width(); n > 1 {
			return n - 1
		}
	}
	return usual - 1
}

// say writes a sentence that stays, with the time since the beginning.
func (v *view) say(now time.Time, format string, args ...any) {
	const margin = 9
	lines := wrap(fmt.Sprintf(format, args...), max(20, min(v.columns(), widest)-margin))
	for i, line := range lines {
		head := strings.Repeat(" ", margin)
		if i == 0 {
			head = fmt.Sprintf("%6.1f s ", now.Sub(v.began).Seconds())
		}
		lines[i] = head + line
	}
	v.write(lines)
	v.drawn = 0
	v.wrote = time.Time{}
}

// plain writes lines that stay.
func (v *view) plain(lines ...string) {
	v.write(lines)
	v.drawn = 0
}

// draw shows the state of the surveys and channels.
func (v *view) draw(now time.Time, gauges []gauge) {
	if !v.terminal {
		if now.Sub(v.wrote) < lineEvery {
			return
		}
		v.wrote = now
		for _, g := range gauges {
			_, _ = fmt.Fprintf(v.out, "%6.1f s %s\n", now.Sub(v.began).Seconds(), g.sentence())
		}
		return
	}
	var lines []string
	for _, g := range gauges {
		lines = append(lines, clip("  "+g.line(), v.columns()))
	}
	v.write(lines)
	v.drawn = len(lines)
}

// write replaces the lines that may be drawn over by others, in a single write.
func (v *view) write(lines []string) {
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", v.drawn)
	}
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	_, _ = io.WriteString(v.out, b.String())
}

// bold emphasizes a text.
func (v *view) bold(s string) string { return v.paint("1", s) }

// verdict colors a text green or red.
func (v *view) verdict(good bool, s string) string {
	if good {
		return v.paint("1;32", s)
	}
	return v.paint("1;31", s)
}

func (v *view) paint(how, s string) string {
	if !v.color {
		return s
	}
	return "\x1b[" + how + "m" + s + "\x1b[0m"
}

// gauge is the state of a survey or a channel: n of all, and a description.
type gauge struct {
	name   string
	n, all int
	text   string
}

// line formats a gauge for a terminal; it has only ASCII, so that its length is its width.
func (g *gauge) line() string {
	full := min(barWidth, barWidth*max(0, g.n)/max(1, g.all))
	return fmt.Sprintf("%-8s [%s%s] %s", g.name, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), g.text)
}

// sentence formats a gauge for a log.
func (g *gauge) sentence() string { return g.name + ": " + g.text }

// number formats a number with thousands separators.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sentence formats a sentence.
func sentence(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// plural formats a number of things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// wrap breaks a text into lines of at most width bytes, between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

func clip(s string, width int) string { return s[:min(len(s), width)] }
