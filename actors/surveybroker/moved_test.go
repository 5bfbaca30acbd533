package surveybroker_test

import (
	"testing"
	"time"

	"weir"
	"weir/surveys"
	"weir/surveys/calendar"
)

// Contacts that wait in a channel when the schedule of a running survey changes
// are not dispatched in the windows of the old schedule: they are canceled,
// count as no attempt, and are enqueued again in the windows of the new one.
func TestAScheduleThatChanges(t *testing.T) {
	inLabFor(t, time.Minute, quiet, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 40)
		l.step("s", surveys.Launch)
		l.pass(10 * time.Second)
		l.store.change(func() { l.store.channels[texts.ID].Paused = true }) // five are in flight, some wait
		l.pass(2 * time.Minute)
		waiting := 0
		l.store.change(func() {
			waiting = len(l.store.waiting[texts.ID])
			v := l.store.surveys[s.ID]
			v.Definition.Schedule.Windows = []calendar.WindowSpec{{From: "08:00", To: "10:00"}}
			v.Version++
		})
		if waiting == 0 {
			l.t.Fatal("nobody waits")
		}
		early := 0
		l.pass(2 * time.Hour) // it is past eleven
		l.store.change(func() {
			l.lines.handed = func(weir.Contact) {
				if h := time.Now().UTC().Hour(); h < 8 || h >= 10 {
					early++
				}
			}
			l.store.channels[texts.ID].Paused = false
		})
		l.lines.sweep()
		l.pass(72 * time.Hour)
		l.store.change(func() {
			if early > 0 {
				l.t.Errorf("%d contacts went out outside of the windows", early)
			}
		})
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done {
			l.t.Errorf("the survey is %s, %v", st.State, l.by(s.ID))
		}
		for _, p := range l.all(s.ID) {
			if p.Attempts.SMS != 2 {
				l.t.Errorf("respondent %s had %d attempts", p.ID, p.Attempts.SMS)
			}
		}
	})
}
