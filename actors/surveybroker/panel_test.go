package surveybroker_test

import (
	"fmt"
	"testing"
	"time"

	"weir/surveys"
)

// A respondent that is in many surveys, as members of panels are, is heard in
// the survey that contacts it, however many newer surveys there are.
func TestSomebodyInManySurveys(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 0)
		l.store.addPerson(s.ID, "+15552000001", nil)
		l.step("s", surveys.Launch)
		for i := range 60 {
			l.store.addPerson(l.survey(fmt.Sprintf("week-%d", i), byText("10m"), 0).ID, "+15552000001", nil)
		}
		l.pass(10 * time.Second)
		l.lines.say(texts.ID, "+15552000001", "STOP")
		l.pass(10 * time.Second)
		if p := l.all(s.ID)[0]; p.Status != surveys.Failed || p.Disposition != surveys.Refused {
			l.t.Errorf("who said STOP is %s, %s", p.Status, p.Disposition)
		}
	})
}
