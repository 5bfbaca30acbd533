package surveys_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/validation"
	"weir/surveys"
)

func TestRetries_ScheduleIsParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]surveys.RetrySchedule{
		"":                nil,
		"10m 2h 1d":       {10 * time.Minute, 2 * time.Hour, 24 * time.Hour},
		"  10m\t2h\n":     {10 * time.Minute, 2 * time.Hour},
		"90s":             {90 * time.Second},
		"365d":            {validation.MaxDelay},
		"060m 24h 1d 48h": {time.Hour, 24 * time.Hour, 24 * time.Hour, 48 * time.Hour},
	} {
		got, err := surveys.ParseRetrySchedule(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func TestRetries_InvalidScheduleIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0m":                       `"0m" is not a delay; it must be longer than zero`,
		"10m 00h":                  `"00h" is not a delay`,
		"ten minutes":              `"ten" is not a delay; write a whole number followed by s, m, h or d`,
		"10":                       `"10" is not a delay`,
		"m":                        `"m" is not a delay`,
		"10 m":                     `"10" is not a delay`,
		"-10m":                     `"-10m" is not a delay`,
		"+10m":                     `"+10m" is not a delay`,
		"1.5h":                     `"1.5h" is not a delay`,
		"1h30m":                    `"1h30m" is not a delay`,
		"10m,2h":                   `"10m,2h" is not a delay`,
		"10M":                      `"10M" is not a delay`,
		"1w":                       `"1w" is not a delay`,
		"366d":                     `"366d" is too long`,
		"99999999999999999999999h": `is too long`,
		strings.Repeat("1m ", 51):  `has 51 retries; at most 50`,
	} {
		if _, err := surveys.ParseRetrySchedule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Scenario 82: the delay after each attempt.
func TestRetries_DelayFollowsTheAttempt(t *testing.T) {
	t.Parallel()
	two := surveys.RetrySchedule{10 * time.Minute, 2 * time.Hour}
	for _, tt := range []struct {
		retries surveys.RetrySchedule
		attempt int
		another bool
		want    time.Duration
	}{
		{two, 1, false, 10 * time.Minute},
		{two, 2, false, 2 * time.Hour},
		{two, 3, false, 2 * time.Hour}, // the last delay once more, then failed
		{two, 1, true, 10 * time.Minute},
		{two, 2, true, 2 * time.Hour},
		{two, 3, true, 45 * time.Minute}, // then the next mode
		{nil, 1, false, 45 * time.Minute},
		{nil, 1, true, 45 * time.Minute},
		{two, 0, false, 10 * time.Minute}, // the first attempt was canceled
	} {
		if got := tt.retries.Delay(tt.attempt, tt.another, 45*time.Minute); got != tt.want {
			t.Errorf("%v after attempt %d, another mode %v: %v, want %v", tt.retries, tt.attempt, tt.another, got, tt.want)
		}
	}
}

func TestRetries_ScheduleMayHaveAnyDelays(t *testing.T) {
	t.Parallel()
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	rapid.Check(t, func(t *rapid.T) {
		var want surveys.RetrySchedule
		var text []string
		for range rapid.IntRange(1, surveys.MaxRetries).Draw(t, "retries") {
			unit := rapid.SampledFrom([]string{"s", "m", "h", "d"}).Draw(t, "unit")
			n := rapid.IntRange(1, int(validation.MaxDelay/units[unit])).Draw(t, "n")
			want, text = append(want, time.Duration(n)*units[unit]), append(text, fmt.Sprint(n, unit))
		}
		got, err := surveys.ParseRetrySchedule(strings.Join(text, " "))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%s: %v\n%s", text, err, diff)
		}
	})
}

func FuzzParseRetrySchedule(f *testing.F) {
	for _, s := range []string{"", "10m 2h 1d", "0m", "ten minutes", "99999999999999999999999h", "１０m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := surveys.ParseRetrySchedule(s)
		if err != nil {
			return
		}
		for _, d := range l {
			if d <= 0 || d > validation.MaxDelay {
				t.Errorf("%q has a delay of %v", s, d)
			}
		}
		if len(l) != len(strings.Fields(s)) {
			t.Errorf("%q is read as %v", s, l)
		}
	})
}
