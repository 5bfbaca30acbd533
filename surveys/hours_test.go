package surveys_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/people"
	"weir/surveys"
	"weir/surveys/calendar"
)

// clockTime draws a time of day, often one at which hours usually begin.
func clockTime(t *rapid.T, label string) string {
	minute := rapid.OneOf(rapid.IntRange(0, 23*60+59), rapid.Map(rapid.IntRange(0, 23), func(hour int) int { return hour * 60 }), rapid.IntRange(8*60, 9*60)).Draw(t, label)
	return fmt.Sprintf("%02d:%02d", minute/60, minute%60)
}

// hoursCase draws the hours of a survey, which recur each week, and those of a purpose for people in
// some zones.
func hoursCase(t *rapid.T, zones []string) (*surveys.Plan, *people.Purpose, []*time.Location) {
	spec := calendar.ScheduleSpec{TimeZone: rapid.SampledFrom(zones).Draw(t, "schedule"), Weekdays: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"mon", "wed", "thu", "sun"}), 1, 3, rapid.ID[string]).Draw(t, "weekdays")}
	if from, to := clockTime(t, "opens"), clockTime(t, "closes"); from < to {
		spec.Windows = []calendar.WindowSpec{{From: from, To: to}}
	} else {
		spec.Windows = []calendar.WindowSpec{{From: "09:00", To: "11:00"}, {From: "11:30", To: "11:45"}}
	}
	schedule, wrong := calendar.Compile(spec)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	rules := people.Purpose{QuietHours: &people.Hours{From: clockTime(t, "quiet"), To: clockTime(t, "loud")}}
	if rules.QuietHours.From == rules.QuietHours.To {
		rules.QuietHours.From, rules.QuietHours.To = "18:00", "10:35"
	}
	purpose, wrong := rules.Compile()
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	var live []*time.Location
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(zones), 1, 2, rapid.ID[string]).Draw(t, "zones") {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, zone)
	}
	return &surveys.Plan{Schedule: schedule}, purpose, live
}

// The hours that are left are those of each single minute of the week.
func TestHoursFor_CountsMinutes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan, purpose, zones := hoursCase(t, []string{"UTC", "Africa/Nairobi", "Asia/Kathmandu", "America/St_Johns", "Europe/Berlin", "Australia/Lord_Howe"})
		now := time.Date(2026, 1, 1, 0, 0, rapid.IntRange(0, 366*24*60*60).Draw(t, "now"), 0, time.UTC)
		var want time.Duration
		at, _ := plan.Schedule.NextOpen(now.Truncate(time.Minute))
		for end := at.Add(7 * 24 * time.Hour); at.Before(end) && want < time.Hour; at = at.Add(time.Minute) {
			if plan.Schedule.Contains(at) && purpose.Allows(at, zones) {
				want += time.Minute
			}
		}
		if got := plan.HoursFor(purpose, zones, now); got != want {
			t.Fatalf("at %v: %v are left, want %v", now, got, want)
		}
	})
}

// Where no clocks change, the same hours are left in every second of the week.
func TestHoursFor_DoesNotDependOnTheMinute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan, purpose, zones := hoursCase(t, []string{"UTC", "Africa/Nairobi", "Asia/Kathmandu", "Asia/Karachi", "America/Phoenix"})
		first := time.Date(2026, 3, 2, 0, 0, rapid.IntRange(0, 7*24*60*60).Draw(t, "first"), 0, time.UTC)
		want := plan.HoursFor(purpose, zones, first)
		for minute := range 60 {
			now := first.Add(time.Duration(minute)*time.Minute + time.Duration(rapid.IntRange(0, 59).Draw(t, "second"))*time.Second)
			if got := plan.HoursFor(purpose, zones, now); got != want {
				t.Fatalf("at %v %v are left, at %v %v", first, want, now, got)
			}
		}
	})
}
