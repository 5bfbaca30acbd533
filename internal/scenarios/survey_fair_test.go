package scenarios_test

import (
	"strings"
	"testing"
	"time"
)

// Scenario 110: a contact larger than its channel's lowered capacity never
// becomes ready, so it takes no credit from the surveys of the channel.
func TestSurveyFair_BlockedContactHoldsNoSurveyUp(t *testing.T) {
	onSurveys(t, func(w *world) {
		w.channel("texts", 20)
		w.pause("texts", true)
		w.accept("texts", sms("large", texts("large", 14)))
		w.patch("texts", fields{"capacity": 4, "paused": false})
		w.launchSurvey("s", bySMS(""), 0, 6)
		w.sent(4)
		w.until("the large one is blocked", func() bool { return w.figure("texts", "blocked") == 1 })
		w.expectNoFaults()
	})
}

// Scenario 111: a backlog of direct contacts leaves a survey its fair share of
// the channel: every second slot, because the lanes take turns.
func TestSurveyFair_DirectBacklogStarvesNoSurvey(t *testing.T) {
	onSurveys(t, func(w *world) {
		hold, backlog, limit := time.Second, 900, 100
		if !w.virtual { // in real time the survey broker needs longer
			hold, backlog, limit = 100*time.Millisecond, 600, 300
		}
		const people = 10
		w.channel("texts", 4)
		w.endContacts(func(labAttempt) (time.Duration, string) { return hold, "completed" })
		w.accept("texts", many("direct", backlog)...)
		w.until("direct contacts are sent", func() bool { return len(w.lab.sentKeys()) > 8 })
		begin := len(w.lab.sentKeys())
		w.launchSurvey("s", bySMS(""), 0, people)
		ofSurvey := func(keys []string) (n int) {
			for _, k := range keys {
				if strings.HasPrefix(k, "s ") {
					n++
				}
			}
			return n
		}
		w.until("all respondents are contacted", func() bool { return ofSurvey(w.lab.sentKeys()) == people })
		if since := len(w.lab.sentKeys()) - begin; since > limit {
			t.Errorf("the survey contacted %d respondents while %d contacts were sent", people, since)
		}
		w.expectNoFaults()
	})
}
