package pacing_test

import (
	"testing"
	"time"

	"weir/surveys/pacing"
)

// A clock that was ahead, on this machine or on that of an earlier process,
// and was then corrected, delays a survey by a minute or two, not until the wrong
// time is reached again.
func TestMinuteLimit_RecoversSoonWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	const limit = 5
	now := time.Date(2026, 1, 15, 9, 0, 0, 0, time.UTC)
	for _, ahead := range []time.Duration{time.Second, 59 * time.Second, 2 * time.Minute, 24 * time.Hour} {
		var m pacing.MinuteLimit
		m.Add(now.Add(ahead), limit)
		if n := m.Left(now, limit); n != 0 {
			t.Errorf("%v back: %d are left although a whole minute's were taken", ahead, n)
		}
		taken := 0
		for s := range 3 * 60 {
			at := now.Add(time.Duration(s) * time.Second)
			n := m.Left(at, limit)
			m.Add(at, n)
			taken += n
		}
		if taken < limit || taken > 2*limit {
			t.Errorf("%v back: %d in three minutes, of %d in each", ahead, taken, limit)
		}
	}
}
