package surveys

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/surveys/calendar"
	"weir/web/dashboard/locale"
)

func calendarAt(t *testing.T, spec calendar.ScheduleSpec, now string) *scheduleCalendar {
	t.Helper()
	s, wrong := calendar.Compile(spec)
	at, err := time.Parse(time.RFC3339, now)
	if len(wrong) > 0 || err != nil {
		t.Fatal(wrong, err)
	}
	return calendarOf(locale.New().Choose("en", ""), spec, s, at)
}

func office() calendar.ScheduleSpec {
	return calendar.ScheduleSpec{
		TimeZone: "America/New_York", Weekdays: []string{"mon", "tue", "wed", "thu", "fri"},
		Windows:     []calendar.WindowSpec{{From: "14:00", To: "18:00"}, {From: "09:00", To: "12:30"}},
		BlockedDays: []string{"2026-12-25", "2026-10-28", "2026-10-01"}, EndDate: "2026-10-29",
	}
}

// The days are those of the survey's time zone: late in the evening there, it is
// already the next day in UTC.
func TestSurveyCalendar_IsLocal(t *testing.T) {
	t.Parallel()
	c := calendarAt(t, office(), "2026-10-25T02:00:00Z")
	var days []string
	for _, d := range c.Days {
		days = append(days, d.Name+": "+d.Text)
	}
	if diff := cmp.Diff([]string{
		"Sat 24 Oct: closed", "Sun 25 Oct: closed", "Mon 26 Oct: 09:00–12:30, 14:00–18:00", "Tue 27 Oct: 09:00–12:30, 14:00–18:00",
		"Wed 28 Oct: blocked", "Thu 29 Oct: 09:00–12:30, 14:00–18:00", "Fri 30 Oct: after the last day",
	}, days); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"2026-10-28", "2026-12-25"}, c.Blocked); diff != "" {
		t.Error(diff)
	}
	if c.Clock != "Sat 2026-10-24 22:00" || c.Open || c.Next != "opens Mon 2026-10-26 09:00 America/New_York" || !c.Days[0].Today || c.Days[1].Today {
		t.Errorf("%+v", c)
	}
	if bar := string(c.Days[2].Bar); !strings.Contains(bar, `class="c3" x="540" y="0" width="210"`) || !strings.Contains(bar, `class="c3" x="840" y="0" width="240"`) {
		t.Error(bar)
	}
}

func TestSurveyCalendar_AnnouncesClockChanges(t *testing.T) {
	t.Parallel()
	always := office()
	always.EndDate = ""
	for now, want := range map[string]string{
		"2026-10-20T16:00:00Z": "Clocks go back by 1 h on Sun 2026-11-01 02:00. Of the repeated time, only the first pass counts.",
		"2026-03-01T16:00:00Z": "Clocks go forward by 1 h on Sun 2026-03-08 02:00. A window that begins in the skipped time opens at its end.",
		"2026-06-01T16:00:00Z": "",
	} {
		if got := calendarAt(t, always, now).ClockChange; got != want {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
	always.TimeZone = "UTC"
	if got := calendarAt(t, always, "2026-10-20T16:00:00Z").ClockChange; got != "" {
		t.Error(got)
	}
}

func TestSurveyCalendar_ShowsTheNextWindow(t *testing.T) {
	t.Parallel()
	for now, want := range map[string]string{
		"2026-10-26T14:00:00Z": "open until Mon 2026-10-26 12:30 America/New_York",
		"2026-10-27T23:00:00Z": "opens Thu 2026-10-29 09:00 America/New_York",
		"2026-10-30T14:00:00Z": "no further window",
	} {
		if got := calendarAt(t, office(), now).Next; got != want {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
}
