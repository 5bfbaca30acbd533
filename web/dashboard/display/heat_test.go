package display_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/web/dashboard/display"
	"weir/web/dashboard/locale"
)

func english() *locale.Locale {
	return locale.New().Choose("en", "")
}

func TestHeat_ColorsByShareOfTheGreatest(t *testing.T) {
	t.Parallel()
	h := display.Heat{Title: "Answers <b>", Unit: "people", Rows: []display.HeatRow{{Name: "Mon", Values: []float64{0, 1, 23}}, {Name: "Tue"}}}
	svg := string(h.SVG(english()))
	if want := "<title>Answers &lt;b&gt;, people: at most 23, Mon at 02:00</title>"; !strings.Contains(svg, want) {
		t.Errorf("no %s in %s", want, svg[:200])
	}
	if n := strings.Count(svg, "<rect"); n != 48 || strings.Count(svg, `"heat0"`) != 46 || !strings.Contains(svg, `"heat1"`) || !strings.Contains(svg, `"heat5"`) {
		t.Errorf("%d cells: %s", n, svg)
	}
	var legend []string
	for _, row := range h.Legend(english()) {
		legend = append(legend, row.Name)
	}
	if diff := cmp.Diff([]string{"up to 5", "up to 10", "up to 15", "up to 20", "up to 25"}, legend); diff != "" {
		t.Error(diff)
	}
	share := display.Heat{Percent: true, Full: 1, Rows: []display.HeatRow{{Values: []float64{.2, .21, 1.5}}}}
	for class, n := range map[string]int{`"heat1"`: 1, `"heat2"`: 1, `"heat5"`: 1} {
		if strings.Count(string(share.SVG(english())), class) != n {
			t.Errorf("%s: %s", class, share.SVG(english()))
		}
	}
	if empty := (display.Heat{Rows: []display.HeatRow{{Name: "Mon"}}}); !empty.Empty() || !strings.Contains(string(empty.SVG(english())), ": none</title>") {
		t.Errorf("%s", empty.SVG(english()))
	}
}

func TestDayChart_HasATableOfItsDays(t *testing.T) {
	t.Parallel()
	c := display.DayChart{
		Title: "Respondents", Days: []string{"1 Mar", "2 Mar"}, Bars: []display.Series{{Name: "started", Class: "c1", Values: []float64{3, 4}}},
		Line: &display.Series{Name: "expected", Class: "c2", Kind: display.Line, Values: []float64{5.5}},
	}
	if diff := cmp.Diff([]display.DayRow{{"2 Mar", []string{"4", "0"}}, {"1 Mar", []string{"3", "5.5"}}}, c.Table(english())); diff != "" {
		t.Error(diff)
	}
	svg := string(c.SVG(english()))
	if !strings.Contains(svg, "<title>Respondents: in all started 7, expected 5.5</title>") || strings.Count(svg, `<rect class="c1"`) != 2 || !strings.Contains(svg, `<polyline class="line c2"`) {
		t.Error(svg)
	}
	if c.Line = nil; strings.Contains(string(c.SVG(english())), "polyline") || c.Empty() || !(display.DayChart{}).Empty() {
		t.Error(c.SVG(english()))
	}
}

func TestPlan_FillsBarsByTheirShare(t *testing.T) {
	t.Parallel()
	p := display.Plan{Title: "flu on texts", Days: 14, Class: "c1", Bars: []display.PlanBar{{From: 1.25, To: 1.5, Share: .5}, {From: 2.25, To: 2.26}}, Now: 1.3}
	svg := string(p.SVG(english()))
	for _, want := range []string{"<title>flu on texts: 2 windows</title>", `<rect class="room c1" x="22.5" y="1" width="4.5" height="14"/>`, `<rect class="c1" x="22.5" y="8" width="4.5" height="7"/>`, `<rect class="room c1" x="40.5" y="1" width="2" height="14"/>`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg)
		}
	}
	marked := display.Plan{Title: "More", Days: 14, Marked: []int{3}}
	if svg := string(marked.SVG(english())); !strings.Contains(svg, "<title>More: 1 day</title>") || !strings.Contains(svg, `<rect class="bad" x="55"`) {
		t.Error(svg)
	}
}
