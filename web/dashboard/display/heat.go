package display

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"weir/web/dashboard/locale"
)

// Heat is a map of values by row and hour: the greater a value, the stronger its color.
type Heat struct {
	Title   string
	Unit    string // of the values, as displayed
	Rows    []HeatRow
	Full    float64 // the value of the strongest color; 0: the greatest value
	Percent bool    // the values are shares, from 0 to 1
}

// HeatRow is a row of a [Heat]: a value for each hour.
type HeatRow struct {
	Name   string
	Values []float64
}

const (
	heatCell              = 18.0
	heatLeft, heatTop     = 74.0, 16.0
	heatLevels, heatHours = 5, 24
	heatLabels            = 3    // every how many hours there is a label
	maxBar                = 30.0 // width of a bar of a day
)

// Empty reports whether all values are 0.
func (h Heat) Empty() bool { _, _, most := h.most(); return most == 0 }

// most returns the greatest value and where it is.
func (h Heat) most() (row, hour int, most float64) {
	for i, r := range h.Rows {
		for k, v := range r.Values {
			if v > most {
				row, hour, most = i, k, v
			}
		}
	}
	return row, hour, most
}

// Text formats a value of the map.
func (h Heat) Text(l *locale.Locale, v float64) string {
	if h.Percent {
		return locale.Percent(v, 1)
	}
	return l.Number(v)
}

// Hours returns the names of the columns.
func (h Heat) Hours() []string {
	var list []string
	for k := range heatHours {
		list = append(list, fmt.Sprintf("%02d", k))
	}
	return list
}

// Legend returns what each color stands for, from the weakest.
func (h Heat) Legend(l *locale.Locale) (list []Row) {
	full := h.full()
	for level := 1; level <= heatLevels; level++ {
		list = append(list, Row{Class: heatClass(level), Name: l.T("up to %s", h.Text(l, full*float64(level)/heatLevels))})
	}
	return list
}

func (h Heat) full() float64 {
	_, _, most := h.most()
	if h.Full > 0 {
		return h.Full
	}
	return math.Ceil(max(most, 1)/heatLevels) * heatLevels // the steps of counts are whole
}

func heatClass(level int) string { return fmt.Sprintf("heat%d", level) }

// SVG draws the map.
func (h Heat) SVG(l *locale.Locale) template.HTML {
	var b svg
	b.open("chart heat", heatLeft+heatHours*heatCell, heatTop+float64(len(h.Rows))*heatCell, h.describe(l), false)
	for k := 0; k < heatHours; k += heatLabels {
		b.text("x", heatLeft+(float64(k)+.5)*heatCell, heatTop-5, fmt.Sprintf("%02d", k))
	}
	full := h.full()
	for i, r := range h.Rows {
		y := heatTop + float64(i)*heatCell
		b.text("y", heatLeft-6, y+heatCell-5, r.Name)
		for k := range heatHours {
			level := int(math.Ceil(min(1, at(r.Values, k)/full)*heatLevels - 1e-9))
			b.write(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, heatClass(level), coord(heatLeft+float64(k)*heatCell+1), coord(y+1), coord(heatCell-2), coord(heatCell-2))
		}
	}
	return b.close()
}

func (h Heat) describe(l *locale.Locale) string {
	text := h.Title
	if h.Unit != "" {
		text += ", " + h.Unit
	}
	row, hour, most := h.most()
	if most == 0 {
		return l.T("%s: none", text)
	}
	return l.T("%[1]s: at most %[2]s, %[3]s at %[4]s:00", text, h.Text(l, most), h.Rows[row].Name, fmt.Sprintf("%02d", hour))
}

// DayChart shows values by day as bars, side by side, and a line for what was expected.
type DayChart struct {
	Title, Unit string
	Days        []string // their names
	Bars        []Series
	Line        *Series // nil: nothing was expected
}

// Empty reports whether there are neither values nor expectations.
func (c DayChart) Empty() bool { return c.values().Empty() }

// Series returns the bars and the line.
func (c DayChart) Series() []Series {
	list := slices.Clone(c.Bars)
	if c.Line != nil {
		list = append(list, *c.Line)
	}
	return list
}

func (c DayChart) values() Chart { return Chart{Title: c.Title, Unit: c.Unit, Series: c.Series()} }

// SVG draws the chart with axes.
func (c DayChart) SVG(l *locale.Locale) template.HTML {
	var b svg
	var sums []string
	for _, s := range c.Series() {
		sums = append(sums, s.Name+" "+l.Number(s.Sum()))
	}
	b.open("chart bydays", chartWidth, chartHeight, l.T("%[1]s: in all %[2]s", c.Title, strings.Join(sums, ", ")), false)
	top, n := c.values().maxValue(), len(c.Days)
	for i := range yTicks + 1 {
		y := chartBaseline - chartInnerHeight*float64(i)/yTicks
		b.line("grid", chartLeft, y, chartWidth, y)
		b.text("y", chartLeft-6, y+4, l.Number(top*float64(i)/yTicks))
	}
	wide := chartInnerWidth / float64(max(1, n))
	bar := min(maxBar, wide*.8/float64(max(1, len(c.Bars))))
	every := max(1, (n+maxXTicks-1)/maxXTicks)
	for i, day := range c.Days {
		middle := chartLeft + wide*(float64(i)+.5)
		if i%every == 0 {
			b.text("x", middle, chartHeight-6, day)
		}
		left := middle - bar*float64(len(c.Bars))/2
		for k, s := range c.Bars {
			height := chartInnerHeight * min(at(s.Values, i), top) / top
			b.write(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, s.Class, coord(left+bar*float64(k)), coord(chartBaseline-height), coord(max(bar-.5, .5)), coord(height))
		}
	}
	if c.Line != nil {
		var points []string
		for i := range n {
			y := coord(chartBaseline - chartInnerHeight*min(at(c.Line.Values, i), top)/top)
			points = append(points, coord(chartLeft+wide*float64(i))+","+y, coord(chartLeft+wide*float64(i+1))+","+y)
		}
		c.Line.draw(&b, "", points, nil)
	}
	return b.close()
}

// DayRow is a row of the table behind a [DayChart].
type DayRow struct {
	Name   string
	Values []string
}

// Table returns the values, newest first.
func (c DayChart) Table(l *locale.Locale) (rows []DayRow) {
	for i, day := range slices.Backward(c.Days) {
		r := DayRow{Name: day}
		for _, s := range c.Series() {
			r.Values = append(r.Values, l.Number(at(s.Values, i)))
		}
		rows = append(rows, r)
	}
	return rows
}

// WeekdayNames returns the short names of the days, from Monday.
func WeekdayNames(l *locale.Locale) (list []string) {
	for i := range 7 {
		list = append(list, l.Weekday(time.Weekday((i+1)%7)))
	}
	return list
}
