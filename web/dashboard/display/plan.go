package display

import (
	"html/template"
	"strings"
)

// Plan draws lanes over days: a bar for each time at which something may happen, filled as far as
// it is expected to. Places are in days from the beginning.
type Plan struct {
	Title  string
	Days   int
	Lanes  []PlanLane
	Labels []PlanLabel
	Marked []int   // days
	Now    float64 // place of the present
}

// PlanLane is a lane of a [Plan].
type PlanLane struct {
	Name  string
	Class string // of the color: c1 to c8
	Bars  []PlanBar
}

// PlanBar is a time of a lane.
type PlanBar struct {
	Day      int
	From, To float64
	Share    float64 // that is filled, from 0 to 1
}

// PlanLabel names a day.
type PlanLabel struct {
	Day  int
	Text string
}

const (
	planDay  = 18.0
	planLane = 16.0
	planTop  = 8.0 // for the marks
)

// SVG draws the plan.
func (p Plan) SVG() template.HTML {
	height := planTop + planLane*float64(len(p.Lanes))
	if len(p.Labels) > 0 {
		height += planLane
	}
	var b svg
	b.open("plan", planDay*float64(p.Days), height, p.describe(), false)
	for i := 0; i <= p.Days; i += 7 {
		b.line("grid", planDay*float64(i), 0, planDay*float64(i), height)
	}
	for _, l := range p.Labels {
		b.text("", planDay*float64(l.Day)+2, height-5, l.Text)
		b.line("grid", planDay*float64(l.Day), height-planLane, planDay*float64(l.Day), height)
	}
	for i, lane := range p.Lanes {
		top, full := planTop+planLane*float64(i)+1, planLane-2
		for _, bar := range lane.Bars {
			left, width := planDay*bar.From, max(1, planDay*(bar.To-bar.From))
			b.write(`<rect class="room %s" x="%s" y="%s" width="%s" height="%s"/>`, lane.Class, coord(left), coord(top), coord(width), coord(full))
			if bar.Share > 0 {
				tall := max(2, full*min(1, bar.Share))
				b.write(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, lane.Class, coord(left), coord(top+full-tall), coord(width), coord(tall))
			}
		}
	}
	for _, day := range p.Marked {
		b.write(`<rect class="bad" x="%s" y="1" width="%s" height="%s"/>`, coord(planDay*float64(day)+1), coord(planDay-2), coord(planTop-3))
	}
	b.line("now", planDay*p.Now, 0, planDay*p.Now, height)
	return b.close()
}

func (p Plan) describe() string {
	text := p.Title
	var names []string
	for _, l := range p.Lanes {
		names = append(names, l.Name)
	}
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	if len(p.Marked) > 0 {
		text += "; more than the channel can do on " + Plural(int64(len(p.Marked)), "day", "days")
	}
	return text
}
