package display

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/web/dashboard/locale"
)

// Pictures are SVG sized by attributes, for any width, because inline styles are
// not allowed. The title describes the content. Colors are the classes c1 to c8;
// patterns are not needed because each picture has a table or a legend beside it.

// Segment is a part of a bar.
type Segment struct {
	Name  string
	Class string // of the color: c1 to c8, good, bad, warn, quiet
	Value float64
}

// Bar is a row of segments of a whole.
type Bar struct {
	Title    string
	Whole    float64 // 0: the sum of the segments
	Segments []Segment
}

const barWidth, barHeight = 1000.0, 40.0

// SVG draws a bar that fills the width of its container.
func (b Bar) SVG(l *locale.Locale) template.HTML {
	sum := 0.0
	for _, s := range b.Segments {
		sum += max(0, s.Value)
	}
	whole := max(b.Whole, sum)
	var out svg
	out.open("bar", barWidth, barHeight, b.describe(l), true)
	out.rect("track", 0, barWidth)
	x := 0.0
	for _, s := range b.Segments {
		if s.Value <= 0 {
			continue
		}
		width := barWidth * s.Value / whole
		out.rect(s.Class, x, width)
		x += width
	}
	return out.close()
}

func (b Bar) describe(l *locale.Locale) string {
	var parts []string
	for _, s := range b.Segments {
		parts = append(parts, l.Number(s.Value)+" "+s.Name)
	}
	text := l.T("%[1]s: %[2]s", b.Title, strings.Join(parts, ", "))
	if b.Whole > 0 {
		text = l.T("%[1]s of %[2]s", text, l.Number(b.Whole))
	}
	return text
}

// Span is a part of a line of time, in any unit.
type Span struct {
	Class    string
	From, To float64
}

// leastSpan is the width of a part that would be too narrow to be seen.
const leastSpan = 8.0

// Spans draws parts of a line of time that begins at 0.
func Spans(title string, whole float64, parts []Span) template.HTML {
	var out svg
	out.open("bar", barWidth, barHeight, title, true)
	out.rect("track", 0, barWidth)
	scale := barWidth / max(whole, 1)
	for _, p := range parts {
		from, to := min(max(0, p.From*scale), barWidth), min(max(0, p.To*scale), barWidth)
		width := max(leastSpan, to-from)
		out.rect(p.Class, min(from, barWidth-width), width)
	}
	return out.close()
}

const dayMinutes = 24 * 60.0

// Day draws parts of a day, in minutes from midnight, with a line at every sixth hour and a
// mark at now; negative: none.
func Day(title string, parts []Span, now float64) template.HTML {
	var out svg
	out.open("bar", dayMinutes, barHeight, title, true)
	out.rect("track", 0, dayMinutes)
	for _, p := range parts {
		out.rect(p.Class, p.From, max(0, p.To-p.From))
	}
	for hour := 6.0; hour < 24; hour += 6 {
		out.rect("hour", hour*60-1, 2)
	}
	if now >= 0 {
		out.rect("mark", now-2, 5)
	}
	return out.close()
}

// Row is a line of a funnel or a histogram.
type Row struct {
	Name, Link string
	Class      string
	Value      float64
	Bar        template.HTML
	Share      string // of whole if it is given, otherwise of the sum
}

// Rows draws a bar for each value. whole is the value of a full bar; 0: the
// greatest value.
func Rows(l *locale.Locale, whole float64, rows []Row) []Row {
	full, all := whole, whole
	if whole == 0 {
		for _, r := range rows {
			full, all = max(full, r.Value), all+r.Value
		}
	}
	for i := range rows {
		r := &rows[i]
		r.Bar = Bar{Title: r.Name, Whole: max(1, full), Segments: []Segment{{Name: r.Name, Class: r.Class, Value: r.Value}}}.SVG(l)
		r.Share = locale.Percent(r.Value, all)
	}
	return rows
}

// svg builds a picture.
type svg struct{ strings.Builder }

func (b *svg) write(format string, values ...any) {
	_, _ = fmt.Fprintf(&b.Builder, format, values...) // a Builder never fails
}

// open begins a picture with a title for screen readers. stretch lets it take the
// aspect ratio of its container.
func (b *svg) open(class string, width, height float64, title string, stretch bool) {
	aspect := ""
	if stretch {
		aspect = ` preserveAspectRatio="none"`
	}
	b.write(`<svg class="%s" viewBox="0 0 %s %s"%s role="img" focusable="false"><title>%s</title>`,
		class, coord(width), coord(height), aspect, template.HTMLEscapeString(title))
}

func (b *svg) rect(class string, x, width float64) {
	b.write(`<rect class="%s" x="%s" y="0" width="%s" height="%s"/>`, template.HTMLEscapeString(class), coord(x), coord(width), coord(barHeight))
}

func (b *svg) line(class string, x1, y1, x2, y2 float64) {
	b.write(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, coord(x1), coord(y1), coord(x2), coord(y2))
}

func (b *svg) text(class string, x, y float64, text string) {
	b.write(`<text class="%s" x="%s" y="%s">%s</text>`, class, coord(x), coord(y), template.HTMLEscapeString(text))
}

// clock writes an axis label with the time in UTC. The script replaces it with the
// reader's local time, from data-at.
func (b *svg) clock(x, y float64, at time.Time) {
	b.write(`<text class="x" x="%s" y="%s" data-at="%s">%s</text>`, coord(x), coord(y), at.Format(time.RFC3339), at.Format("15:04"))
}

func (b *svg) close() template.HTML {
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // every text in it was escaped
}

// coord formats a coordinate to one decimal; NaN and infinities become 0.
func coord(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		x = 0
	}
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}
