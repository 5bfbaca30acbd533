package display

import (
	"html/template"

	"weir/web/dashboard/locale"
)

// Plan draws times over days: a bar for each time at which something may happen, filled as far as
// it is expected to. Places are in days from the beginning.
type Plan struct {
	Title  string
	Days   int
	Class  string // of the color: c1 to c8
	Bars   []PlanBar
	Labels []PlanLabel
	Marked []int   // days
	Now    float64 // place of the present
}

// PlanBar is a time of a lane.
type PlanBar struct {
	From, To float64
	Share    float64 // that is filled, from 0 to 1
}

// PlanLabel names a day.
type PlanLabel struct {
	Day  int
	Text string
}

const (
	planDay    = 18.0
	planHeight = 16.0
	planLeast  = 2.0 // width of a bar
)

// SVG draws the plan.
func (p Plan) SVG(l *locale.Locale) template.HTML {
	var b svg
	b.open("plan", planDay*float64(p.Days), planHeight, p.describe(l), false)
	for i := 0; i <= p.Days; i += 7 {
		b.line("grid", planDay*float64(i), 0, planDay*float64(i), planHeight)
	}
	for _, l := range p.Labels {
		b.text("", planDay*float64(l.Day)+3, planHeight-4, l.Text)
	}
	for _, bar := range p.Bars {
		left, width := planDay*bar.From, max(planLeast, planDay*(bar.To-bar.From))
		b.write(`<rect class="room %s" x="%s" y="1" width="%s" height="%s"/>`, p.Class, coord(left), coord(width), coord(planHeight-2))
		if bar.Share > 0 {
			tall := max(2, (planHeight-2)*min(1, bar.Share))
			b.write(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, p.Class, coord(left), coord(planHeight-1-tall), coord(width), coord(tall))
		}
	}
	for _, day := range p.Marked {
		b.write(`<rect class="bad" x="%s" y="4" width="%s" height="%s"/>`, coord(planDay*float64(day)+1), coord(planDay-2), coord(planHeight-8))
	}
	b.line("now", planDay*p.Now, 0, planDay*p.Now, planHeight)
	return b.close()
}

func (p Plan) describe(l *locale.Locale) string {
	switch {
	case len(p.Marked) > 0:
		return l.T("%[1]s: %[2]s", p.Title, l.T("%d days", len(p.Marked)))
	case len(p.Bars) > 0:
		return l.T("%[1]s: %[2]s", p.Title, l.T("%d windows", len(p.Bars)))
	default:
		return p.Title
	}
}
