package operators_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/operators"
)

func TestHeadline_AlarmsOnlyOnceNothingMoves(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 6, 9, 0, 0, 0, time.UTC)
	for _, x := range []struct {
		code  operators.WhyCode
		idle  time.Duration // negative: not known
		text  string
		alarm bool
	}{
		{operators.WhyCapacity, 0, "At capacity", false},
		{operators.WhyCapacity, 59 * time.Second, "At capacity", false},
		{operators.WhyCapacity, time.Hour, "At capacity", false}, // long calls hold every slot
		{operators.WhyReplyReserve, time.Hour, "At capacity", false},
		{operators.WhyCapacity, -1, "At capacity", false},
		{operators.WhyRate, 0, "Pacing", false},
		{operators.WhyRate, time.Hour, "Nothing has moved for a minute", true},
		{operators.WhyBatch, time.Hour, "Pacing", false},
		{operators.WhyPaused, time.Hour, "Paused", false},
		{operators.WhyWindow, time.Hour, "Scheduled", false},
		{operators.WhyReport, time.Hour, "In progress", false},
		{operators.WhyDown, 0, "Stopped by a problem", true},
		{operators.WhyTooLarge, -1, "Stopped by a problem", true},
	} {
		idle := now.Add(-x.idle)
		if x.idle < 0 {
			idle = time.Time{}
		}
		if text, alarm := x.code.Headline(idle, now); text != x.text || alarm != x.alarm {
			t.Errorf("%s, idle for %v: %q, alarm %v", x.code, x.idle, text, alarm)
		}
	}
}

// Parts finds exactly the instants that WhyAt wrote, and loses no text.
func TestParts_FindTheInstantsOfASentence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var sentence strings.Builder
		var want []time.Time
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			sentence.WriteString(rapid.SampledFrom([]string{"; asked at ", " UTC", "at 10:00:00 UTC; ", "é 2026-13-45 10:00:00 UTC ", "", "2026"}).Draw(t, "text"))
			if rapid.Bool().Draw(t, "instant") {
				at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC()
				sentence.WriteString(operators.WhyAt(at))
				want = append(want, at)
			}
		}
		var joined strings.Builder
		var got []time.Time
		for _, c := range operators.Parts(sentence.String()) {
			joined.WriteString(c.Text)
			if !c.At.IsZero() {
				got = append(got, c.At)
			}
		}
		if joined.String() != sentence.String() || len(got) != len(want) {
			t.Fatalf("%q became %q with %v, want %v", sentence.String(), joined.String(), got, want)
		}
		for i := range want {
			if !got[i].Equal(want[i]) {
				t.Fatalf("%q: %v, want %v", sentence.String(), got, want)
			}
		}
	})
}
