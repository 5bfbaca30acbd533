package backoff

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter_ReadsSecondsAndDates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "5": 5 * time.Second, "99999999999": 24 * time.Hour,
		"99999999999999999999":                          0,
		now.Add(time.Minute).Format(http.TimeFormat):    time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat):   0,
		now.Add(96 * time.Hour).Format(http.TimeFormat): 24 * time.Hour,
	}
	for value, want := range cases {
		if got := RetryAfter(value, now); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}
