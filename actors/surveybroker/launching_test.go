package surveybroker_test

import (
	"context"
	"testing"
	"time"

	"weir"
	"weir/surveys"
)

// The launch of a survey with very many respondents takes longer than a client
// waits. It continues, a client that asks again joins it, and its result is
// returned once.
func TestALaunchGoesOnWithoutItsClient(t *testing.T) {
	inLab(t, quiet, func(l *lab) {
		l.store.addChannel("texts", "text", 5)
		d := byText("10m")
		d.Questionnaires["q"][surveys.SMS][0].Messages = []string{"hello {{name}}"}
		good, bad := l.survey("good", byText("10m"), 5), l.survey("bad", d, 5)
		pages := 0
		l.store.change(func() {
			l.store.slow = func(op string) time.Duration {
				if op != "Respondents" {
					return 0
				}
				pages++
				return 9 * time.Second
			}
		})
		ask := func(name string) error {
			ctx, cancel := context.WithTimeout(l.t.Context(), 4*time.Second)
			defer cancel()
			_, err := l.sys.Step(ctx, name, surveys.Launch)
			return err
		}
		for range 2 { // 4 and 8 seconds after the first
			if err := ask("good"); weir.CodeOf(err) != weir.CodeUnavailable {
				l.t.Errorf("a client that waits too short a time hears %v", err)
			}
		}
		if err := ask("good"); err != nil {
			l.t.Error(err)
		}
		read := 0
		l.store.change(func() { read = pages })
		if st := l.store.surveyNow(good.ID); st.State != surveys.Running || read != 1 {
			l.t.Errorf("the survey is %s after %d pages were read", st.State, read)
		}
		if err := ask("bad"); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("a client that waits too short a time hears %v", err)
		}
		l.pass(time.Minute)
		if err := ask("bad"); weir.CodeOf(err) != weir.CodeInvalid {
			l.t.Errorf("who asks again hears %v", err)
		}
		if err := ask("bad"); weir.CodeOf(err) != weir.CodeUnavailable {
			l.t.Errorf("what came of a launch is told twice: %v", err)
		}
		l.pass(time.Minute)
		if st := l.store.surveyNow(bad.ID); st.State != surveys.Draft {
			l.t.Errorf("the bad survey is %s", st.State)
		}
	})
}
