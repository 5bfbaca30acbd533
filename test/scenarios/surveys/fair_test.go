package surveys_test

import (
	"strings"
	"testing"
	"time"

	"weir/test/scenarios/world"
)

// Scenario 110: a contact larger than its channel's lowered capacity never
// becomes ready, so it takes no credit from the surveys of the channel.
func TestSurveyFair_BlockedContactHoldsNoSurveyUp(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		w.Channel("texts", 20)
		w.Pause("texts", true)
		w.Accept("texts", world.SMS("large", world.Texts("large", 14)))
		w.Patch("texts", world.Fields{"capacity": 4, "paused": false})
		w.LaunchSurvey("s", world.BySMS(""), 0, 6)
		w.Sent(4)
		w.Until("the large one is blocked", func() bool { return w.Figure("texts", "blocked") == 1 })
		w.ExpectNoFaults()
	})
}

// Scenario 111: a backlog of direct contacts leaves a survey its fair share of
// the channel: every second slot, because the lanes take turns.
func TestSurveyFair_DirectBacklogStarvesNoSurvey(t *testing.T) {
	world.OnSurveys(t, func(w *world.World) {
		hold, backlog, limit := time.Second, 900, 100
		if !w.Virtual { // in real time the survey broker needs longer
			hold, backlog, limit = 100*time.Millisecond, 600, 300
		}
		const people = 10
		w.Channel("texts", 4)
		w.EndContacts(func(world.LabAttempt) (time.Duration, string) { return hold, "completed" })
		w.Accept("texts", world.Many("direct", backlog)...)
		w.Until("direct contacts are sent", func() bool { return len(w.Lab.SentKeys()) > 8 })
		begin := len(w.Lab.SentKeys())
		w.LaunchSurvey("s", world.BySMS(""), 0, people)
		ofSurvey := func(keys []string) (n int) {
			for _, k := range keys {
				if strings.HasPrefix(k, "s ") {
					n++
				}
			}
			return n
		}
		w.Until("all respondents are contacted", func() bool { return ofSurvey(w.Lab.SentKeys()) == people })
		if since := len(w.Lab.SentKeys()) - begin; since > limit {
			t.Errorf("the survey contacted %d respondents while %d contacts were sent", people, since)
		}
		w.ExpectNoFaults()
	})
}
