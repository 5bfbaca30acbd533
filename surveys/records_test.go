package surveys_test

import (
	"testing"
	"time"

	"weir/surveys"
)

// Respondents that an older version stored have no instant of their last change.
func TestRecords_LastChangeIsTheLatestKnownInstant(t *testing.T) {
	t.Parallel()
	r := surveys.Respondent{Added: start()}
	for i, set := range []func(time.Time){
		func(at time.Time) { r.Started = at }, func(at time.Time) { r.Reached = at }, func(at time.Time) { r.Finished = at }, func(at time.Time) { r.Updated = at },
	} {
		at := start().Add(time.Duration(i) * time.Minute)
		if set(at); !r.LastChange().Equal(at) {
			t.Errorf("%+v last changed at %v", r, r.LastChange())
		}
	}
}
