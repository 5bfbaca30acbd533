package people_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/people"
)

// TestStrangers_AnswersOfAChannelAreBounded: whatever the pace of messages is, and whatever the clock does, a channel
// answers at most so many in an hour as it may, and in each quiet hour some again.
func TestStrangers_AnswersOfAChannelAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s people.Strangers
		var given []time.Time
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		pace := rapid.IntRange(0, 30).Draw(t, "pace") // a flood, or hardly more than a channel answers
		for range rapid.IntRange(500, 2000).Draw(t, "messages") {
			now = now.Add(time.Duration(rapid.IntRange(0, pace).Draw(t, "seconds")) * time.Second)
			if s.Admit(now) {
				given = append(given, now)
			}
			if n := len(given); n > 2*people.MaxStrangers && given[n-1].Sub(given[n-1-2*people.MaxStrangers]) < time.Hour {
				t.Fatalf("more than %d within an hour", 2*people.MaxStrangers)
			}
		}
		if !s.Admit(now.Add(time.Hour)) || !s.Admit(now.Add(-24*time.Hour)) {
			t.Fatal("nobody is answered after a quiet hour, or a step of the clock back")
		}
	})
}
