package surveys_test

import (
	"strings"
	"testing"
	"time"

	"weir/ops"
	"weir/surveys"
)

// Why announces the step that Timeout then takes.
func TestWhyARespondentWaits(t *testing.T) {
	t.Parallel()
	d := definition()
	d.Schedule = office("America/Mexico_City")
	pl := plan(t, d)
	now := start().Add(6 * time.Hour) // Monday 12:00 local time
	due := now.Add(time.Hour)
	active := func(change func(*surveys.Progress)) surveys.Progress {
		p := surveys.Progress{Status: surveys.Active, Disposition: surveys.Contacted, Tries: 1, Serial: 1, DueAt: due}
		change(&p)
		return p
	}
	for name, tt := range map[string]struct {
		p        surveys.Progress
		code     ops.WhyCode
		sentence string
	}{
		"another call":       {active(func(*surveys.Progress) {}), ops.WhyRetry, "attempt 2 by ivr is due Mon 2026-01-05 13:00 America/Mexico_City"},
		"another mode":       {active(func(p *surveys.Progress) { p.Tries = 3 }), ops.WhyRetry, "the first attempt by sms is due Mon 2026-01-05 13:00"},
		"nothing left":       {active(func(p *surveys.Progress) { p.Step, p.Tries = 1, 2 }), ops.WhyAnswer, "an answer is awaited until Mon 2026-01-05 13:00"},
		"an other schedule":  {active(func(p *surveys.Progress) { p.DueAt = now.Add(10 * time.Hour) }), ops.WhyWindow, "when the schedule opens Tue 2026-01-06 09:00"},
		"set aside":          {active(func(p *surveys.Progress) { p.FailedSteps = 2 }), ops.WhyAside, "set aside until 2026-01-05 19:00:00 UTC"},
		"pending, set aside": {surveys.Progress{Status: surveys.Pending, DelayedUntil: due}, ops.WhyAside, "set aside until 2026-01-05 19:00:00 UTC"},
		"due":                {active(func(p *surveys.Progress) { p.DueAt = now }), "", ""},
		"pending":            {surveys.NewProgress(), "", ""},
		"final":              {surveys.Progress{Status: surveys.Completed}, "", ""},
	} {
		if got := pl.Why(tt.p, now); got.Code != tt.code || !strings.Contains(got.Text, tt.sentence) {
			t.Errorf("%s: %+v, want %s: %s", name, got, tt.code, tt.sentence)
		}
	}
}
