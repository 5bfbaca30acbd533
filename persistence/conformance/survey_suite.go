package conformance

import (
	"testing"

	"weir"
)

// RunSurveys checks that a store of surveys keeps every promise of the
// interfaces of package surveys.
func RunSurveys(t *testing.T, open func(t testing.TB) SurveyStores) {
	for _, topic := range []struct {
		name string
		run  func(*testing.T, *surveyBench)
	}{
		{"surveys", testSurveys},
		{"a survey by its id", testSurveyByID},
		{"respondents", testRespondents},
		{"notations of a number", testNotations},
		{"imports", testImports},
		{"corrections", testCorrections},
		{"removal of respondents", testRespondentRemoval},
		{"moves", testMoves},
		{"answers to questions", testSurveyAnswers},
		{"answers by attribute", testSurveyBreakdowns},
		{"moves that enqueue", testEnqueue},
		{"moves that are refused", testRefusedMoves},
		{"ready slots", testReady},
		{"who may be started", testStartable},
		{"who is due", testDue},
		{"buckets follow the quotas", testSorting},
		{"removal", testRemoval},
		{"ends", testEnds},
		{"lock", testLock},
		{"brakes", testSurveyBrakes},
		{"states of channels", testChannelStates},
		{"sums under any history", testSurveyHistories},
	} {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			topic.run(t, newSurveyBench(t, open(t)))
		})
	}
}

// surveysOf returns the store of package persistence.
func surveysOf(t testing.TB, b Backend) SurveyStores {
	s := newBench(t, b)
	out := storesOf(s)
	out.Channel = func(_ testing.TB, name string) weir.ChannelID { return s.channel(name).ID }
	out.Close = func(t testing.TB, id weir.ChannelID) {
		c, err := s.ChannelByID(s.ctx(), id)
		if err == nil {
			c.Deleting = true
			_, err = s.UpdateChannel(s.ctx(), c)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
