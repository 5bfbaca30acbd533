package calendar_test

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the same zones on every machine

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir"
	"weir/surveys/calendar"
)

func everyDay() []string { return []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} }

func schedule(t interface {
	Helper()
	Fatalf(string, ...any)
}, spec calendar.ScheduleSpec) *calendar.Schedule {
	t.Helper()
	s, wrong := calendar.Compile(spec)
	if len(wrong) > 0 {
		t.Fatalf("the schedule is refused: %v", wrong)
	}
	return s
}

// office returns a schedule that is open on all days in a zone; from 9 to 17 by default.
func office(zone string, windows ...calendar.WindowSpec) calendar.ScheduleSpec {
	if len(windows) == 0 {
		windows = []calendar.WindowSpec{{From: "09:00", To: "17:00"}}
	}
	return calendar.ScheduleSpec{TimeZone: zone, Weekdays: everyDay(), Windows: windows}
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Scenario 27: a Wednesday-only survey in Mexico City is open at 01:00 UTC on
// Thursday, but not at 06:00. Blocked days and dates are local, too.
func TestSchedule_UsesLocalTime(t *testing.T) {
	t.Parallel()
	s := schedule(t, calendar.ScheduleSpec{
		TimeZone: "America/Mexico_City", Weekdays: []string{"wed"},
		Windows:     []calendar.WindowSpec{{From: "09:00", To: "13:00"}, {From: "15:00", To: "24:00"}},
		BlockedDays: []string{"2026-01-14"}, StartDate: "2026-01-07", EndDate: "2026-01-28",
	})
	for at, want := range map[string]bool{
		"2026-01-08T01:00:00Z": true,  // Wednesday 19:00
		"2026-01-08T05:59:59Z": true,  // Wednesday 23:59:59
		"2026-01-08T06:00:00Z": false, // Thursday 00:00
		"2026-01-07T14:59:59Z": false, // 08:59:59
		"2026-01-07T15:00:00Z": true,
		"2026-01-07T19:00:00Z": false, // 13:00, the end of a window
		"2026-01-07T21:00:00Z": true,
		"2026-01-14T18:00:00Z": false, // blocked
		"2025-12-31T18:00:00Z": false, // before the first day
		"2026-01-28T18:00:00Z": true,
		"2026-02-04T18:00:00Z": false, // after the last day
	} {
		if got := s.Contains(instant(t, at)); got != want {
			t.Errorf("open at %s: %v, want %v", at, got, want)
		}
	}
	for at, want := range map[string]string{
		"2025-01-01T00:00:00Z": "2026-01-07T15:00:00Z",
		"2026-01-07T16:00:00Z": "2026-01-07T16:00:00Z",
		"2026-01-07T19:00:00Z": "2026-01-07T21:00:00Z",
		"2026-01-08T06:00:00Z": "2026-01-21T15:00:00Z", // after the blocked Wednesday
	} {
		if got, ok := s.NextOpen(instant(t, at)); !ok || !got.Equal(instant(t, want)) {
			t.Errorf("next open after %s: %v %v, want %s", at, got, ok, want)
		}
	}
	if got, ok := s.NextOpen(instant(t, "2026-01-29T06:00:00Z")); ok {
		t.Errorf("it opens after its end, at %v", got)
	}
	last, ok := s.LastClose()
	if want := instant(t, "2026-01-29T06:00:00Z"); !ok || !last.Equal(want) {
		t.Errorf("last close %v, want %v", last, want)
	}
	// Scenario 87: the survey is over once [calendar.Grace] has passed.
	if s.Over(last.Add(calendar.Grace-1)) || !s.Over(last.Add(calendar.Grace)) {
		t.Error("a survey is over five minutes after its last window")
	}
}

// Both clock changes: a skipped time is the next valid instant, a repeated one counts
// once.
func TestSchedule_SkipsAndRepeatsTimesAtClockChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, zone, from, to string
		at, open, close      string // the window that is open at, or opens next after, at
	}{
		{"opens in the gap", "Europe/Berlin", "02:30", "05:00", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z"},
		{"closes in the gap", "Europe/Berlin", "01:00", "02:30", "2026-03-28T12:00:00Z", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
		{"swallowed by the gap", "Europe/Berlin", "02:00", "03:00", "2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z", "2026-03-30T01:00:00Z"},
		{"over the gap", "America/New_York", "01:00", "04:00", "2026-03-08T05:00:00Z", "2026-03-08T06:00:00Z", "2026-03-08T08:00:00Z"},
		{"opens in the repeated hour", "Europe/Berlin", "02:30", "05:00", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T04:00:00Z"},
		{"closes in the repeated hour, for good", "Europe/Berlin", "01:00", "02:30", "2026-10-24T12:00:00Z", "2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z"},
		{"does not open again in the repeated hour", "Europe/Berlin", "01:00", "02:30", "2026-10-25T01:15:00Z", "2026-10-26T00:00:00Z", "2026-10-26T01:30:00Z"},
		{"half an hour", "Australia/Lord_Howe", "02:15", "06:00", "2026-10-03T12:00:00Z", "2026-10-03T15:30:00Z", "2026-10-03T19:00:00Z"},
		{"midnight is repeated", "America/Sao_Paulo", "20:00", "23:30", "2018-02-17T20:00:00Z", "2018-02-17T22:00:00Z", "2018-02-18T01:30:00Z"},
		{"midnight is skipped", "America/Sao_Paulo", "00:00", "06:00", "2018-11-03T20:00:00Z", "2018-11-04T03:00:00Z", "2018-11-04T08:00:00Z"},
		{"a day that never was", "Pacific/Apia", "09:00", "17:00", "2011-12-30T05:00:00Z", "2011-12-30T19:00:00Z", "2011-12-31T03:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := schedule(t, office(tt.zone, calendar.WindowSpec{From: tt.from, To: tt.to}))
			got, ok := s.Window(instant(t, tt.at))
			want := calendar.Span{Open: instant(t, tt.open), Close: instant(t, tt.close)}
			if diff := cmp.Diff(want, got); !ok || diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSchedule_MergesAdjacentWindows(t *testing.T) {
	t.Parallel()
	night := schedule(t, calendar.ScheduleSpec{
		TimeZone: "UTC", Weekdays: []string{"mon", "tue"},
		Windows: []calendar.WindowSpec{{From: "22:00", To: "24:00"}, {From: "00:00", To: "02:00"}},
	})
	got, _ := night.Window(instant(t, "2026-01-05T23:00:00Z")) // a Monday
	want := calendar.Span{Open: instant(t, "2026-01-05T22:00:00Z"), Close: instant(t, "2026-01-06T02:00:00Z")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	always := schedule(t, office("UTC", calendar.WindowSpec{From: "00:00", To: "24:00"}))
	at := instant(t, "2026-01-05T23:00:00Z")
	if got, ok := always.Window(at); !ok || got.Close.Sub(at) < 7*24*time.Hour || got.Close.Sub(at) > 8*24*time.Hour {
		t.Errorf("a schedule that never closes is open until %v", got.Close)
	}
	if _, ok := always.LastClose(); ok {
		t.Error("a schedule without an end has a last window")
	}
}

func TestSchedule_InvalidOneIsRefused(t *testing.T) {
	t.Parallel()
	good := office("Europe/Berlin")
	for _, tt := range []struct {
		name   string
		change func(*calendar.ScheduleSpec)
		want   []string // pointer and code
	}{
		{"nothing", func(s *calendar.ScheduleSpec) { *s = calendar.ScheduleSpec{} }, []string{"/time_zone required", "/weekdays required", "/windows length"}},
		{"unknown zone", func(s *calendar.ScheduleSpec) { s.TimeZone = "Europe/Atlantis" }, []string{"/time_zone unknown"}},
		{"the zone of the machine", func(s *calendar.ScheduleSpec) { s.TimeZone = "Local" }, []string{"/time_zone unknown"}},
		{"a path", func(s *calendar.ScheduleSpec) { s.TimeZone = "../../etc/passwd" }, []string{"/time_zone unknown"}},
		{"no such day", func(s *calendar.ScheduleSpec) { s.Weekdays = []string{"mon", "Funday", "mon"} }, []string{"/weekdays/1 enum", "/weekdays/2 duplicate"}},
		{"times", func(s *calendar.ScheduleSpec) {
			s.Windows = []calendar.WindowSpec{{From: "9:00", To: "25:00"}, {From: "24:00", To: "24:00"}, {From: "18:00", To: "09:00"}, {From: "09:00", To: "09:00"}, {From: "", To: "10:00"}}
		}, []string{"/windows/0/from format", "/windows/0/to format", "/windows/1/from range", "/windows/2/to range", "/windows/3/to range", "/windows/4/from format"}},
		{"overlap", func(s *calendar.ScheduleSpec) {
			s.Windows = []calendar.WindowSpec{{From: "12:00", To: "14:00"}, {From: "09:00", To: "12:01"}}
		}, []string{"/windows/0 overlap"}},
		{"dates", func(s *calendar.ScheduleSpec) {
			s.StartDate, s.EndDate, s.BlockedDays = "2026-02-30", "tomorrow", []string{"2026-1-1", ""}
		}, []string{"/blocked_days/0 format", "/blocked_days/1 format", "/start_date format", "/end_date format"}},
		{"ends before it starts", func(s *calendar.ScheduleSpec) { s.StartDate, s.EndDate = "2026-02-02", "2026-02-01" }, []string{"/end_date range"}},
		{"all days blocked", func(s *calendar.ScheduleSpec) {
			s.StartDate, s.EndDate, s.BlockedDays = "2026-02-02", "2026-02-03", []string{"2026-02-03", "2026-02-02"}
		}, []string{" range"}},
		{"no such weekday before the end", func(s *calendar.ScheduleSpec) {
			s.StartDate, s.EndDate, s.Weekdays = "2026-02-02", "2026-02-03", []string{"sun"}
		}, []string{" range"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := good
			tt.change(&spec)
			_, wrong := calendar.Compile(spec)
			if diff := cmp.Diff(tt.want, codes(wrong)); diff != "" {
				t.Errorf("%s\n%v", diff, wrong)
			}
		})
	}
	past := good
	past.EndDate = "2026-01-01"
	if wrong := schedule(t, past).CheckAhead(instant(t, "2026-01-02T00:00:00Z")); len(wrong) != 1 || wrong[0].Pointer != "/end_date" {
		t.Errorf("a survey whose windows have passed can be launched: %v", wrong)
	}
	if wrong := schedule(t, past).CheckAhead(instant(t, "2026-01-01T12:00:00Z")); wrong != nil {
		t.Errorf("a survey on its last day cannot be launched: %v", wrong)
	}
}

func codes(wrong []weir.FieldError) []string {
	var out []string
	for _, w := range wrong {
		out = append(out, w.Pointer+" "+w.Code)
	}
	return out
}

func zones() []string {
	return []string{
		"UTC", "America/Mexico_City", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu",
		"Pacific/Apia", "America/St_Johns", "Africa/Casablanca", "Asia/Tehran", "America/Havana", "Antarctica/Troll", "Asia/Gaza",
	}
}

// Over zones and years: the schedule agrees with the local clock, except for hours
// that a clock change repeats.
func TestSchedule_AgreesWithTheLocalClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec, open := drawSchedule(t)
		s := schedule(t, spec)
		zone, _ := time.LoadLocation(spec.TimeZone)
		at := time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "at"), 0).In(zone)
		if noClockChange(at) && s.Contains(at) != open(at) {
			t.Fatalf("%v: open %v, the local clock says %v", at, s.Contains(at), open(at))
		}
		next, ok := s.NextOpen(at)
		if !ok {
			t.Fatalf("a schedule without an end never opens after %v", at)
		}
		if next.Before(at) || !s.Contains(next) || s.Contains(at) != next.Equal(at) {
			t.Fatalf("next open after %v is %v", at, next)
		}
		if next.After(at) && s.Contains(next.Add(-1)) {
			t.Fatalf("it opened before %v", next)
		}
		w, _ := s.Window(at)
		if w.Open.After(next) || !w.Close.After(next) || !s.Contains(w.Close.Add(-1)) || w.Close.Sub(next) < 7*24*time.Hour && s.Contains(w.Close) {
			t.Fatalf("the window at or after %v is %v", at, w)
		}
		// The window is the same at its midpoint.
		if half := next.Add(w.Close.Sub(next) / 2); w.Close.Sub(next) < 7*24*time.Hour {
			if v, _ := s.Window(half); !v.Close.Equal(w.Close) {
				t.Fatalf("at %v the window is %v, at %v it is %v", next, w, half, v)
			}
		}
		// Later by an hour of open time is at least an hour later.
		if hour, ok := s.Later(at, time.Hour); !ok || hour.Before(next.Add(time.Hour)) || !s.Contains(hour.Add(-1)) {
			t.Fatalf("an open hour after %v is %v", at, hour)
		}
	})
}

// drawSchedule draws a schedule and a predicate for its windows on the local clock.
func drawSchedule(t *rapid.T) (calendar.ScheduleSpec, func(time.Time) bool) {
	days := rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 1, 7, rapid.ID).Draw(t, "days")
	cuts := rapid.SliceOfNDistinct(rapid.IntRange(0, 96), 2, 6, rapid.ID).Draw(t, "cuts")
	cuts = cuts[:len(cuts)/2*2]
	slices.Sort(cuts)
	spec := calendar.ScheduleSpec{TimeZone: rapid.SampledFrom(zones()).Draw(t, "zone")}
	for _, d := range days {
		spec.Weekdays = append(spec.Weekdays, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}[d])
	}
	for i := 0; i < len(cuts); i += 2 {
		spec.Windows = append(spec.Windows, calendar.WindowSpec{From: calendar.Clock(15 * cuts[i]).String(), To: calendar.Clock(15 * cuts[i+1]).String()})
	}
	blocked := time.Unix(rapid.Int64Range(0, 2_000_000_000).Draw(t, "blocked"), 0).Format(time.DateOnly)
	spec.BlockedDays = []string{blocked}
	return spec, func(at time.Time) bool {
		m, on := at.Hour()*60+at.Minute(), false
		for i := 0; i < len(cuts); i += 2 {
			on = on || 15*cuts[i] <= m && m < 15*cuts[i+1]
		}
		day := false
		for _, d := range days {
			day = day || int(at.Weekday()) == d
		}
		return on && day && at.Format(time.DateOnly) != blocked
	}
}

// noClockChange reports whether no clock change is within two days of at.
func noClockChange(at time.Time) bool {
	from, to := at.ZoneBounds()
	return (from.IsZero() || at.Sub(from) > 48*time.Hour) && (to.IsZero() || to.Sub(at) > 48*time.Hour)
}
