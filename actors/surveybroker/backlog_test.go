package surveybroker_test

import (
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

// moves counts the moves that are written from now on; the function returns the
// count so far.
func (l *lab) moves() func() int {
	n := 0
	l.store.change(func() { l.store.wrote = func(surveys.Move) { n++ } })
	return func() int {
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		return n
	}
}

// Retries that wait for a paused channel cost nothing, however many there are.
func TestABacklogThatNobodyCanTakeIsLeftAlone(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		texts := l.store.addChannel("texts", "text", 1000)
		s := l.survey("s", byText("10m 10m"), 900)
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		l.store.change(func() { l.store.channels[texts.ID].Paused = true })
		l.pass(15 * time.Minute)
		n := l.moves()
		l.pass(30 * time.Minute)
		if n := n(); n > 100 {
			l.t.Errorf("%d moves in half an hour in which nobody could be contacted", n)
		}
		l.store.change(func() { l.store.channels[texts.ID].Paused = false })
		l.pass(2 * time.Hour)
		if st := l.store.surveyNow(s.ID); st.State != surveys.Done {
			l.t.Errorf("the survey is %s, %v", st.State, l.by(s.ID))
		}
	})
}

// Respondents whose channel is paused are skipped in favor of those whose
// channel works, even if only some of a page are blocked; and at a bounded rate
// of moves.
func TestABacklogHidesNobody(t *testing.T) {
	answer := func(c weir.Contact) fate { return quiet(c) }
	inLab(t, answer, func(l *lab) {
		calls := l.store.addChannel("calls", "voice", 1000)
		l.store.addChannel("texts", "text", 1000)
		d := byText("10m")
		d.Modes[surveys.IVR] = surveys.ModeSpec{Channel: "calls", Retries: "8m"}
		d.Questionnaires["q"][surveys.IVR] = []surveys.Content{{Call: &weir.Call{CallFlowID: 7}}}
		d.Arms = []surveys.Arm{{Modes: []surveys.Mode{surveys.IVR}, Ratio: 50}, {Modes: []surveys.Mode{surveys.SMS}, Ratio: 50}}
		s := l.survey("s", d, 900)
		l.step("s", surveys.Launch)
		l.pass(5 * time.Minute)
		l.store.change(func() { l.store.channels[calls.ID].Paused = true })
		l.pass(7 * time.Minute) // calls are due after 8 minutes, texts after 10
		texts := 0
		for _, p := range l.all(s.ID) {
			if p.Arm == 1 && p.Attempts.SMS == 2 {
				texts++
			}
		}
		if texts < 380 {
			l.t.Errorf("%d were tried again by text", texts)
		}
		n := l.moves()
		l.pass(10 * time.Minute)
		if n := n(); n > 10*900 {
			l.t.Errorf("%d moves in ten minutes", n)
		}
	})
}
