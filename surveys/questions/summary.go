package questions

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"weir/people"
)

// MaxBars is the maximum number of bars in which the numbers or dates of a question are shown.
const MaxBars = 24

// Bar counts the answers with a value, or with one from Value on that is below Below.
type Bar struct {
	Value string
	Below string // empty: exactly Value
	Count int
}

// Summary is what the counts of numbers or dates come to.
type Summary struct {
	Min, Median, Max string // of dates the median is one of them
	Mean             string // of numbers
}

// Summarize returns the bars of a question, and of numbers and dates the summary. The counts are by the
// values of [Answer.Counted]. Choices keep their order, and have bars without answers too. More than
// [MaxBars] numbers or dates are counted together, in ranges of one length, as one calendar counts them.
func Summarize(q *Question, counts map[string]int) ([]Bar, *Summary) {
	if q.Kind == Choose || q.Kind == ChooseMany {
		return choiceBars(q, counts), nil
	}
	of := axisOf(q)
	var points []point
	total := 0
	for value, n := range counts {
		if at, ok := of.read(value); ok && n > 0 {
			points, total = append(points, point{at, value, n}), total+n
		}
	}
	if total == 0 {
		return nil, nil
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	first, last := points[0], points[len(points)-1]
	s := &Summary{Min: first.value, Max: last.value}
	lower, upper := nth(points, (total-1)/2), nth(points, total/2)
	if s.Median = lower.value; q.Kind != Date {
		s.Median = writeNumber((lower.at + upper.at) / 2)
		sum := 0.0
		for _, p := range points {
			sum += p.at / float64(total) * float64(p.n)
		}
		s.Mean = writeNumber(sum)
	}
	var bars []Bar
	if len(points) <= MaxBars {
		for _, p := range points {
			bars = append(bars, Bar{Value: p.value, Count: p.n})
		}
		return bars, s
	}
	edges := numberEdges(first.at, last.at)
	if q.Kind == Date {
		edges = dayEdges(first.at, last.at)
	}
	for i := range len(edges) - 1 {
		b := Bar{Value: of.write(edges[i]), Below: of.write(edges[i+1])}
		for len(points) > 0 && points[0].at < edges[i+1] {
			b.Count, points = b.Count+points[0].n, points[1:]
		}
		bars = append(bars, b)
	}
	return bars, s
}

// CountIn counts some of the answers of which [Summarize] has made bars, in the same bars.
func CountIn(q *Question, bars []Bar, counts map[string]int) []Bar {
	own := slices.Clone(bars)
	ranges := false
	for i := range own {
		own[i].Count = counts[own[i].Value]
		ranges = ranges || own[i].Below != ""
	}
	if !ranges {
		return own
	}
	of := axisOf(q)
	edges := make([]float64, len(own))
	for i := range own {
		own[i].Count = 0
		edges[i], _ = of.read(own[i].Value) // of.write has written it
	}
	for value, n := range counts {
		at, ok := of.read(value)
		if i := sort.Search(len(edges), func(i int) bool { return edges[i] > at }); ok && n > 0 && i > 0 {
			own[i-1].Count += n
		}
	}
	return own
}

func choiceBars(q *Question, counts map[string]int) []Bar {
	bars := make([]Bar, len(q.Choices), len(q.Choices)+len(counts))
	rest := maps.Clone(counts)
	for i, o := range q.Choices {
		bars[i] = Bar{Value: o.Name, Count: counts[o.Name]}
		delete(rest, o.Name)
	}
	for _, value := range slices.Sorted(maps.Keys(rest)) { // of choices that are no more
		bars = append(bars, Bar{Value: value, Count: rest[value]})
	}
	return bars
}

// Finder returns a function that reports whether a text contains another, in any case, composition and
// width, with or without accents.
func Finder(text string) func(in string) bool {
	wanted := searched(text)
	return func(in string) bool { return strings.Contains(searched(in), wanted) }
}

// searched returns the words of a text as a search compares them.
func searched(text string) string { return strings.Join(people.FoldWords(text), " ") }

// axis is a scale on which values stand.
type axis struct {
	read  func(string) (float64, bool)
	write func(float64) string
}

func axisOf(q *Question) axis {
	if q.Kind == Date {
		return axis{readDay, writeDay}
	}
	return axis{parseNumber, writeNumber}
}

// point is a value with its place on the axis.
type point struct {
	at    float64
	value string
	n     int
}

// nth returns the point of the answer with a place from 0.
func nth(points []point, place int) point {
	for _, p := range points {
		if place -= p.n; place < 0 {
			return p
		}
	}
	return points[len(points)-1]
}

func parseNumber(s string) (float64, bool) {
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

// writeNumber writes a number without the noise of its binary form.
func writeNumber(n float64) string {
	n, _ = strconv.ParseFloat(strconv.FormatFloat(n, 'g', maxDigits-3, 64), 64) // what it wrote
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// numberEdges returns the edges of ranges for the numbers from one to another: multiples of 1, 2 or 5
// times a power of ten.
func numberEdges(from, to float64) (edges []float64) {
	const least = 1e-300
	unit := math.Pow(10, math.Floor(math.Log10(max(least, to/MaxBars-from/MaxBars))))
	for _, factor := range []float64{1, 2, 5, 10, 20, 50} {
		width := unit * factor
		edge := func(i float64) float64 {
			n, _ := parseNumber(writeNumber(i * width)) // as it is shown
			return n
		}
		low := math.Floor(from / width)
		for edge(low) > from { // by the rounding of the division
			low--
		}
		edges = []float64{edge(low)}
		for i := low + 1; edges[len(edges)-1] <= to && len(edges) <= MaxBars; i++ {
			edges = append(edges, edge(i))
		}
		if edges[len(edges)-1] > to {
			break
		}
	}
	return edges
}

const daySeconds = 24 * 60 * 60

// readDay returns the days of a date since 1970.
func readDay(s string) (float64, bool) {
	t, err := time.Parse(time.DateOnly, s)
	return float64(t.Unix()) / daySeconds, err == nil
}

func writeDay(days float64) string {
	return time.Unix(int64(days)*daySeconds, 0).UTC().Format(time.DateOnly)
}

// dayEdges returns the edges of ranges for the dates from one to another: months, quarters or years,
// or several years.
func dayEdges(from, to float64) (edges []float64) {
	first, last := time.Unix(int64(from)*daySeconds, 0).UTC(), time.Unix(int64(to)*daySeconds, 0).UTC()
	month := func(t time.Time) int { return t.Year()*12 + int(t.Month()) - 1 }
	for _, months := range []int{1, 3, 12, 24, 60, 120, 600, 1200, 6000} {
		low, high := month(first)/months, month(last)/months+1
		if high-low > MaxBars {
			continue
		}
		for i := low; i <= high; i++ {
			edge := time.Date(0, time.Month(i*months+1), 1, 0, 0, 0, 0, time.UTC)
			edges = append(edges, float64(edge.Unix())/daySeconds)
		}
		break
	}
	return edges
}
