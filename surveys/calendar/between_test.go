package calendar_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/surveys/calendar"
)

func TestBetween_CutsWindowsAtBothEnds(t *testing.T) {
	t.Parallel()
	s, wrong := calendar.Compile(calendar.ScheduleSpec{TimeZone: "UTC", Weekdays: []string{"mon", "tue"}, Windows: []calendar.WindowSpec{{From: "09:00", To: "12:00"}, {From: "13:00", To: "18:00"}}})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) } // the second is a Monday
	want := []calendar.Span{{Open: at(2, 10), Close: at(2, 12)}, {Open: at(2, 13), Close: at(2, 18)}, {Open: at(3, 9), Close: at(3, 11)}}
	if diff := cmp.Diff(want, s.Between(at(2, 10), at(3, 11))); diff != "" {
		t.Error(diff)
	}
	if got := s.Between(at(4, 0), at(6, 0)); got != nil {
		t.Errorf("on closed days: %v", got)
	}
}

func TestUnion_CountsWhatOverlapsOnce(t *testing.T) {
	t.Parallel()
	span := func(from, to int) calendar.Span {
		return calendar.Span{Open: time.Date(2026, 3, 2, from, 0, 0, 0, time.UTC), Close: time.Date(2026, 3, 2, to, 0, 0, 0, time.UTC)}
	}
	for want, spans := range map[time.Duration][]calendar.Span{
		0: nil, 3 * time.Hour: {span(9, 12), span(10, 11)}, 5 * time.Hour: {span(11, 13), span(9, 12), span(20, 21)}, 4 * time.Hour: {span(9, 11), span(11, 13)},
	} {
		if got := calendar.Union(spans); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
