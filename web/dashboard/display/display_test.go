package display

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/web/dashboard/locale"
)

// english returns the language of these tests.
func english() *locale.Locale {
	return locale.New().Choose("en", "")
}

// wellFormed checks that a picture is XML, within its frame, and has neither a
// style nor an invalid number.
func wellFormed(t interface{ Errorf(string, ...any) }, picture string) {
	d := xml.NewDecoder(strings.NewReader(picture))
	titles := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%v: %s", err, picture)
			return
		}
		if start, ok := token.(xml.StartElement); ok {
			if start.Name.Local == "title" {
				titles++
			}
			for _, a := range start.Attr {
				if a.Name.Local == "style" || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s=%q in %s", a.Name.Local, a.Value, picture)
				}
			}
		}
	}
	if titles != 1 {
		t.Errorf("%d titles in %s", titles, picture)
	}
}

func values(t *rapid.T, name string) []float64 {
	return rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1e12), rapid.Just(0.0), rapid.Just(math.NaN()), rapid.Just(math.Inf(1)), rapid.Just(-3.0)), 0, 40).Draw(t, name)
}

// An incomplete step is drawn differently: its values would look like a drop.
func TestDisplay_IncompleteStepIsMarked(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := Chart{Title: "Contacts", Begin: begin, Step: 15 * time.Minute, Series: []Series{
		{Name: "sent", Class: "c1", Values: []float64{40, 41, 2}}, {Name: "accepted", Class: "c8", Values: []float64{40, 41, 2}, Kind: Line},
	}}
	ended := c.Through(begin.Add(45 * time.Minute))
	if strings.Contains(string(ended.SVG(english())), "open") || ended.Table(english())[0].Open {
		t.Error("a step that has ended is marked")
	}
	under := c.Through(begin.Add(31 * time.Minute))
	for _, picture := range []string{string(under.SVG(english())), string(under.Spark(english()))} {
		wellFormed(t, picture)
		for _, want := range []string{`class="area open c1"`, `class="line open c8"`, "sent in the current period 2, at most 41"} {
			if !strings.Contains(picture, want) {
				t.Errorf("no %s in %s", want, picture)
			}
		}
	}
	if rows := under.Table(english()); !rows[0].Open || rows[1].Open {
		t.Errorf("%+v", rows)
	}
}

func TestDisplay_ChartsOfAnyValuesAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := Chart{
			Title: rapid.String().Draw(t, "title"), Stacked: rapid.Bool().Draw(t, "stacked"), Begin: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "begin"), 0),
			Step: time.Duration(rapid.IntRange(1, 240).Draw(t, "step")) * time.Minute,
		}
		c.Title = strings.ToValidUTF8(strings.Map(printable, c.Title), "")
		for i := range rapid.IntRange(0, 4).Draw(t, "series") {
			c.Series = append(c.Series, Series{Name: "a<b", Class: "c1", Values: values(t, "values"), Kind: Kind(i % 3)})
		}
		wellFormed(t, string(c.SVG(english())))
		wellFormed(t, string(c.Spark(english())))
		if n := len(c.Table(english())); n > maxTableRows {
			t.Errorf("%d rows", n)
		}
		b := Bar{Title: c.Title, Whole: rapid.Float64Range(0, 100).Draw(t, "whole")}
		for _, v := range values(t, "segments") {
			b.Segments = append(b.Segments, Segment{"x", "c2", v})
		}
		wellFormed(t, string(b.SVG(english())))
	})
}

// printable removes characters that XML cannot represent.
func printable(r rune) rune {
	if r < ' ' || r == 0xfffe || r == 0xffff {
		return -1
	}
	return r
}

func TestDisplay_BarsAreToScale(t *testing.T) {
	t.Parallel()
	b := Bar{Title: "Slots", Whole: 10, Segments: []Segment{{"active", "c1", 5}, {"sending", "c5", 0}, {"unknown", "c2", 2}}}
	got := string(b.SVG(english()))
	for _, want := range []string{
		"<title>Slots: 5 active, 0 sending, 2 unknown of 10</title>",
		`<rect class="c1" x="0" y="0" width="500" height="40"/>`, `<rect class="c2" x="500" y="0" width="200" height="40"/>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "c5") {
		t.Errorf("an empty segment is drawn: %s", got)
	}
	over := Bar{Whole: 4, Segments: []Segment{{"active", "c1", 8}}} // the capacity was lowered
	if got := string(over.SVG(english())); !strings.Contains(got, `width="1000" height="40"/></svg>`) {
		t.Errorf("more than the whole: %s", got)
	}
}

func TestDisplay_ChartsHaveDescriptions(t *testing.T) {
	t.Parallel()
	c := Chart{
		Title: "Contacts", Unit: "per 5 min", Begin: time.Date(2026, 3, 1, 8, 50, 0, 0, time.UTC), Step: 5 * time.Minute,
		Series: []Series{{Name: "sent", Class: "c1", Values: []float64{0, 1200, 3}}, {Name: "capacity", Class: "c4", Values: []float64{7, 7, 7}, Kind: Limit}},
	}
	got := string(c.SVG(english()))
	for _, want := range []string{"Contacts, per 5 min: sent now 3, at most 1,200; capacity 7", ">08:50<", ">2,000<", `class="line limit c4"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	rows := c.Table(english())
	if len(rows) != 3 || rows[0].Values[0] != "3" || !rows[2].At.Equal(c.Begin) {
		t.Errorf("table %+v", rows)
	}
	if (Chart{Series: []Series{{Values: []float64{0, 0}}, {Values: []float64{7}, Kind: Limit}}}).Empty() != true {
		t.Error("a chart of nothing is not empty")
	}
}

// A row for several steps shows the total of counts, and the maximum of levels and
// limits.
func TestDisplay_RowOfSeveralStepsShowsTotalsAndMaxima(t *testing.T) {
	t.Parallel()
	values := make([]float64, 2*maxTableRows)
	for i := range values {
		values[i] = float64(i % 10)
	}
	c := Chart{Step: time.Minute, Series: []Series{{Values: values}, {Values: values, Kind: Limit}}}
	rows := c.Table(english())
	if len(rows) != maxTableRows || rows[0].Values[0] != "17" || rows[0].Values[1] != "9" { // 8 and 9
		t.Errorf("%d rows of counts, the last %+v", len(rows), rows[0])
	}
	c.Levels = true
	if got := c.Table(english())[0].Values[0]; got != "9" {
		t.Errorf("a row of levels shows %s", got)
	}
}
