package display

import (
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"weir/web/dashboard/locale"
)

// Series is one line of a chart.
type Series struct {
	Name   string
	Class  string // of the color: c1 to c8
	Values []float64
	Kind   Kind
}

// Kind is the way a series is drawn.
type Kind int

const (
	Area  Kind = iota
	Line       // leaves the series behind it visible
	Limit      // a dashed line for an upper limit
)

// Chart shows values over time. Areas are drawn on top of each other if Stacked.
type Chart struct {
	Title   string
	Unit    string // of the values, as displayed
	Stacked bool
	Levels  bool   // the values are levels, such as slots in flight, and not counts
	Caption string // of the table; empty: the title, with what a value is
	Begin   time.Time
	Step    time.Duration
	Series  []Series
	Open    bool // the last step is not over: its values are incomplete
}

// Through marks the last step as incomplete if it ends after now.
func (c Chart) Through(now time.Time) Chart {
	c.Open = c.Begin.Add(time.Duration(c.length()) * c.Step).After(now)
	return c
}

const (
	chartWidth, chartHeight = 480.0, 170.0
	chartLeft, chartBottom  = 46.0, 22.0
	chartTop                = 8.0
	sparkWidth, sparkHeight = 200.0, 40.0
	maxTableRows            = 60
	maxXTicks, yTicks       = 6, 4
	chartInnerWidth         = chartWidth - chartLeft
	chartInnerHeight        = chartHeight - chartBottom - chartTop
	chartBaseline           = chartHeight - chartBottom
)

// Empty reports whether all values except limits are 0.
func (c Chart) Empty() bool {
	for _, s := range c.Series {
		for _, v := range s.Values {
			if v != 0 && s.Kind != Limit {
				return false
			}
		}
	}
	return true
}

// Sum adds the values of a series.
func (s Series) Sum() float64 {
	sum := 0.0
	for _, v := range s.Values {
		sum += v
	}
	return sum
}

func (c Chart) length() int {
	n := 0
	for _, s := range c.Series {
		n = max(n, len(s.Values))
	}
	return n
}

// maxValue returns the value at the top of the chart: a round number.
func (c Chart) maxValue() float64 {
	top := 0.0
	for i := range c.length() {
		sum := 0.0
		for _, s := range c.Series {
			if v := at(s.Values, i); c.Stacked && s.Kind == Area {
				sum += v
			} else {
				top = max(top, v)
			}
		}
		top = max(top, sum)
	}
	return roundUp(top)
}

func at(values []float64, i int) float64 {
	if i >= len(values) {
		return 0
	}
	return max(0, values[i])
}

// roundUp returns a number not below x that is easy to divide.
func roundUp(x float64) float64 {
	if x <= yTicks {
		return yTicks
	}
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	// A fourth of each, the distance of the ticks, is a short number.
	for _, f := range []float64{1, 2, 4, 6, 8} {
		if f*unit >= x {
			return f * unit
		}
	}
	return 10 * unit
}

// SVG draws the chart with axes.
func (c Chart) SVG(l *locale.Locale) template.HTML {
	var b svg
	b.open("chart", chartWidth, chartHeight, c.describe(l), false)
	top, n := c.maxValue(), c.length()
	for i := range yTicks + 1 {
		y := chartBaseline - chartInnerHeight*float64(i)/yTicks
		b.line("grid", chartLeft, y, chartWidth, y)
		b.text("y", chartLeft-6, y+4, l.Number(top*float64(i)/yTicks))
	}
	for _, when := range c.ticks() {
		x := chartLeft + chartInnerWidth*float64(when.Sub(c.Begin))/float64(c.Step)/float64(max(1, n-1))
		b.clock(x, chartHeight-6, when.UTC())
	}
	c.draw(&b, chartLeft, chartTop, chartInnerWidth, chartInnerHeight, top)
	return b.close()
}

// Spark draws the chart small, without axes.
func (c Chart) Spark(l *locale.Locale) template.HTML {
	var b svg
	b.open("spark", sparkWidth, sparkHeight, c.describe(l), true)
	b.line("grid", 0, sparkHeight-.5, sparkWidth, sparkHeight-.5)
	c.draw(&b, 0, 2, sparkWidth, sparkHeight-2, c.maxValue())
	return b.close()
}

// ticks returns the round instants labeled on the axis.
func (c Chart) ticks() []time.Time {
	whole := c.Step * time.Duration(max(0, c.length()-1))
	every := time.Minute
	for _, minutes := range []int{5, 10, 15, 30, 60, 120, 240, 480, 720, 1440} {
		if every = time.Duration(minutes) * time.Minute; whole/every < maxXTicks {
			break
		}
	}
	var list []time.Time
	for at := c.Begin.UTC().Truncate(every); at.Before(c.Begin.Add(whole)) && len(list) <= maxXTicks; at = at.Add(every) {
		if !at.Before(c.Begin) {
			list = append(list, at)
		}
	}
	return list
}

// draw draws every series into a rectangle.
func (c Chart) draw(b *svg, left, top, width, height, greatest float64) {
	n := c.length()
	if n == 0 {
		return
	}
	x := func(i int) float64 {
		if n == 1 {
			return left
		}
		return left + width*float64(i)/float64(n-1)
	}
	y := func(v float64) float64 { return top + height - height*min(v, greatest)/greatest }
	below := make([]float64, n)
	for _, s := range c.Series {
		upper, lower := make([]string, n), make([]string, n)
		for i := range n {
			v := at(s.Values, i)
			if c.Stacked && s.Kind == Area {
				v += below[i]
			}
			upper[i], lower[i] = coord(x(i))+","+coord(y(v)), coord(x(i))+","+coord(y(below[i]))
		}
		// The incomplete step is drawn apart, because it would look like a fall.
		if whole := n - 1; c.Open && whole > 0 {
			s.draw(b, "", upper[:whole], lower[:whole])
			s.draw(b, " open", upper[whole-1:], lower[whole-1:])
		} else {
			s.draw(b, "", upper, lower)
		}
		if c.Stacked && s.Kind == Area {
			for i := range n {
				below[i] += at(s.Values, i)
			}
		}
	}
}

// draw draws some of the points of a series, each as x,y.
func (s *Series) draw(b *svg, class string, upper, lower []string) {
	if s.Kind != Area {
		b.write(`<polyline class="%s %s" points="%s"/>`, map[Kind]string{Line: "line", Limit: "line limit"}[s.Kind]+class, s.Class, strings.Join(upper, " "))
		return
	}
	around := slices.Clone(lower)
	slices.Reverse(around)
	b.write(`<polygon class="area%s %s" points="%s"/>`, class, s.Class, strings.Join(append(slices.Clone(upper), around...), " "))
}

// describe describes the chart in words.
func (c Chart) describe(l *locale.Locale) string {
	var parts []string
	for _, s := range c.Series {
		sum, most, last := 0.0, 0.0, 0.0
		for _, v := range s.Values {
			sum, most, last = sum+v, max(most, v), v
		}
		if s.Kind == Limit {
			parts = append(parts, s.Name+" "+l.Number(last))
			continue
		}
		form := locale.Message("%[1]s now %[2]s, at most %[3]s")
		if c.Open {
			form = "%[1]s in the current period %[2]s, at most %[3]s"
		}
		parts = append(parts, l.T(form, s.Name, l.Number(last), l.Number(most)))
	}
	text := c.Title
	if c.Unit != "" {
		text += ", " + c.Unit
	}
	return l.T("%[1]s: %[2]s", text, strings.Join(parts, "; "))
}

// TableRow is a row of the table that shows the values of a chart.
type TableRow struct {
	At     time.Time
	Values []string
	Open   bool // includes the incomplete step
}

// Table returns the values in rows, newest first. If there are many steps, several
// share a row: counts are added, levels and limits are shown by their maximum.
func (c Chart) Table(l *locale.Locale) []TableRow {
	n := c.length()
	every := max(1, (n+maxTableRows-1)/maxTableRows)
	var rows []TableRow
	for begin := 0; begin < n; begin += every {
		end := min(n, begin+every)
		r := TableRow{At: c.Begin.Add(time.Duration(begin) * c.Step), Open: c.Open && end == n}
		for _, s := range c.Series {
			sum, highest := 0.0, 0.0
			for i := begin; i < end; i++ {
				sum, highest = sum+at(s.Values, i), max(highest, at(s.Values, i))
			}
			if c.Levels || s.Kind == Limit {
				sum = highest
			}
			r.Values = append(r.Values, l.Number(sum))
		}
		rows = append(rows, r)
	}
	slices.Reverse(rows)
	return rows
}
