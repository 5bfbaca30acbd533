package surveys

import (
	"slices"

	"weir"
	"weir/internal/validation"
)

// State is the state of a survey.
type State string

// The states.
const (
	Draft    State = "draft"    // may be changed; contacts no respondent
	Running  State = "running"  // contacts respondents while its schedule is open
	Paused   State = "paused"   // starts and retries no respondent; contacts in flight continue, answers are accepted
	Stopping State = "stopping" // its respondents are being canceled
	Done     State = "done"     // nothing follows
)

// States returns every state.
func States() []State { return []State{Draft, Running, Paused, Stopping, Done} }

// Step is a requested transition of a survey.
type Step string

// The steps. Users launch, pause, resume and stop a survey; finish is taken when
// nothing is left to do.
const (
	Launch Step = "launch"
	Pause  Step = "pause"
	Resume Step = "resume"
	Stop   Step = "stop"
	Finish Step = "finish"
)

// Apply returns the state after a step. A step to the present state changes nothing,
// so that it can be repeated; a step that the state does not allow is a conflict.
func (s State) Apply(step Step) (State, error) {
	t, ok := map[Step]struct {
		from []State
		to   State
	}{
		Launch: {[]State{Draft}, Running},
		Pause:  {[]State{Running}, Paused},
		Resume: {[]State{Paused}, Running},
		Stop:   {[]State{Running, Paused}, Stopping},
		Finish: {[]State{Running, Paused, Stopping}, Done},
	}[step]
	switch {
	case !ok:
		return s, weir.Errorf(weir.CodeInvalid, "%q is not one of launch, pause, resume and stop", validation.Clip(string(step)))
	case slices.Contains(t.from, s):
		return t.to, nil
	case s == t.to, step == Stop && s == Done:
		return s, nil
	}
	return s, weir.Errorf(weir.CodeConflict, "a survey that is %s cannot %s", s, step)
}
