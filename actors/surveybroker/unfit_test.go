package surveybroker_test

import (
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

// A channel that was created again under the same name, with a type that does
// not carry what the survey sends, gets no contacts. The survey reports why it
// stands still, and continues when the channel is right.
func TestAChannelOfAnotherType(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 30)
		l.step("s", surveys.Launch)
		l.pass(30 * time.Second)
		handed := 0
		l.store.change(func() {
			l.store.channels[texts.ID].Type = "voice"
			l.lines.handed = func(weir.Contact) { handed++ }
		})
		l.pass(2 * time.Minute) // what was enqueued before is dispatched
		l.store.change(func() { handed = 0 })
		n := l.moves()
		l.pass(time.Hour)
		l.store.change(func() {
			if handed > 0 {
				l.t.Errorf("%d contacts were handed to a channel that cannot carry them", handed)
			}
		})
		if n := n(); n > 100 {
			l.t.Errorf("%d moves in an hour in which nobody could be contacted", n)
		}
		st, err := l.sys.Stats(l.t.Context(), l.store.surveyNow(s.ID))
		if err != nil || len(st.Using) != 1 || st.Using[0].Health == weir.Up || st.Using[0].Reason == "" {
			l.t.Errorf("the survey says of its channel %+v (%v)", st.Using, err)
		}
		l.store.change(func() { l.store.channels[texts.ID].Type = "text" })
		l.pass(3 * time.Hour)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done || l.by(s.ID)[surveys.Failed] != 30 {
			l.t.Errorf("the survey is %s, %v", st.State, l.by(s.ID))
		}
	})
}

// A survey that must not end yet, because respondents are becoming visible,
// retries after a while, not as fast as it can.
func TestASurveyThatMayNotEndYet(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		s := l.survey("s", byText("10m"), 2)
		l.step("s", surveys.Launch)
		asked := 0
		l.store.change(func() {
			l.store.fault = func(op string) error {
				if op != "UpdateSurvey" {
					return nil
				}
				if asked++; asked < 1000 {
					return weir.Errorf(weir.CodePrecondition, "an import is becoming visible")
				}
				return nil
			}
		})
		l.pass(25 * time.Minute)
		l.store.change(func() {
			if asked == 0 || asked > 600 {
				l.t.Errorf("asked %d times in some minutes", asked)
			}
			l.store.fault = nil
		})
		l.pass(time.Minute)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done {
			l.t.Errorf("the survey is %s", st.State)
		}
	})
}
