package operators_test

import (
	"testing"
	"time"

	"weir/operators"
)

func TestEmptyAt_IsKnownWhileContactsAreDispatched(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		figures operators.Figures
		want    time.Time
	}{
		"at the present rate":      {operators.Figures{Queued: 90, SentPerMinute: 1.5}, now.Add(time.Hour)},
		"without those too large":  {operators.Figures{Queued: 90, Blocked: 60, SentPerMinute: 1.5}, now.Add(20 * time.Minute)},
		"nothing waits":            {operators.Figures{SentPerMinute: 5}, time.Time{}},
		"only those too large":     {operators.Figures{Queued: 3, Blocked: 3, SentPerMinute: 5}, time.Time{}},
		"nothing is dispatched":    {operators.Figures{Queued: 5}, time.Time{}},
		"not within thirty days":   {operators.Figures{Queued: 1e9, SentPerMinute: 1}, time.Time{}},
		"the day before the bound": {operators.Figures{Queued: 29 * 1440, SentPerMinute: 1}, now.AddDate(0, 0, 29)},
	} {
		if got := c.figures.EmptyAt(now); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestUtilization_IsAShareOfTheHour(t *testing.T) {
	t.Parallel()
	for want, h := range map[float64]operators.Hour{0.5: {Used: 600, Capacity: 20}, 1: {Used: 9000, Capacity: 10}, 0: {Used: 5}} {
		if got := h.Utilization(); got != want {
			t.Errorf("%+v: %v, want %v", h, got, want)
		}
	}
}
