package surveys_test

import (
	"testing"

	"weir"
	"weir/surveys"
)

func TestStatesOfASurvey(t *testing.T) {
	t.Parallel()
	// want holds the states after each step from draft, running, paused, stopping
	// and done; - means a conflict.
	for step, want := range map[surveys.Step][5]surveys.State{
		surveys.Launch: {"running", "running", "-", "-", "-"},
		surveys.Pause:  {"-", "paused", "paused", "-", "-"},
		surveys.Resume: {"-", "running", "running", "-", "-"},
		surveys.Stop:   {"-", "stopping", "stopping", "stopping", "done"},
		surveys.Finish: {"-", "done", "done", "done", "done"},
	} {
		for i, from := range surveys.States() {
			got, err := from.Apply(step)
			switch {
			case want[i] == "-" && (got != from || weir.CodeOf(err) != weir.CodeConflict):
				t.Errorf("%s of a survey that is %s: %s, %v", step, from, got, err)
			case want[i] != "-" && (got != want[i] || err != nil):
				t.Errorf("%s of a survey that is %s: %s, %v, want %s", step, from, got, err, want[i])
			}
		}
	}
	if _, err := surveys.Draft.Apply("explode"); weir.CodeOf(err) != weir.CodeInvalid {
		t.Errorf("an unknown step: %v", err)
	}
}
