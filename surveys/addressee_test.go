package surveys_test

import (
	"testing"

	"weir/surveys"
)

// Scenario 45: two running surveys have the same number. A message goes to the
// respondent of the channel that received it, then to the newest contact.
func TestAddresseeOfAMessage(t *testing.T) {
	t.Parallel()
	on := func(over string, minute float64, status surveys.Status, channels ...string) surveys.Candidate {
		return surveys.Candidate{Status: status, LastChannel: over, LastAccepted: at(minute), Channels: channels}
	}
	for _, tt := range []struct {
		name       string
		candidates []surveys.Candidate
		want       int
	}{
		{"nobody", nil, -1},
		{"by channel", []surveys.Candidate{on("1", 9, surveys.Active, "1"), on("2", 1, surveys.Active, "2")}, 1},
		{"by channel of the contact", []surveys.Candidate{on("1", 9, surveys.Active, "1", "2"), on("2", 1, surveys.Active, "2")}, 1},
		{"by newest contact", []surveys.Candidate{on("2", 1, surveys.Active, "2"), on("2", 9, surveys.Active, "2"), on("2", 5, surveys.Active, "2")}, 1},
		{"active before final", []surveys.Candidate{on("2", 9, surveys.Completed, "2"), on("1", 1, surveys.Active, "1", "2"), on("", 0, surveys.Pending, "2")}, 1},
		{"final if there is nobody else", []surveys.Candidate{on("2", 1, surveys.Completed, "2"), on("2", 9, surveys.Failed, "2")}, 1},
		{"no survey uses it", []surveys.Candidate{on("1", 1, surveys.Active, "1")}, -1},
	} {
		if got := surveys.FindSender("2", tt.candidates); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
