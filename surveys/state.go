package surveys

import "weir"

// State is where a survey stands.
type State string

// The states.
const (
	Draft    State = "draft"    // may be changed; contacts nobody
	Running  State = "running"  // contacts respondents when its schedule is open
	Paused   State = "paused"   // starts nobody and retries nobody; what is out goes on, answers are taken
	Stopping State = "stopping" // its respondents are being canceled
	Done     State = "done"     // nothing follows
)

// States lists every state.
func States() []State { return []State{Draft, Running, Paused, Stopping, Done} }

// Step is something that is asked of a survey.
type Step string

// The steps. Launch, pause, resume and stop are its user's; finish is taken when
// there is nothing left to do.
const (
	Launch Step = "launch"
	Pause  Step = "pause"
	Resume Step = "resume"
	Stop   Step = "stop"
	Finish Step = "finish"
)

// Take gives the state after a step. A step that leads to where the survey stands
// already changes nothing, so that it may be asked for twice; one that it cannot
// take is a conflict.
func (s State) Take(step Step) (State, error) {
	var to State
	from := []State{Running}
	switch step {
	case Launch:
		from, to = []State{Draft}, Running
	case Pause:
		to = Paused
	case Resume:
		from, to = []State{Paused}, Running
	case Stop:
		from, to = []State{Running, Paused}, Stopping
	case Finish:
		from, to = []State{Running, Paused, Stopping}, Done
	default:
		return s, weir.Errorf(weir.CodeInvalid, "%q is nothing that a survey does", clip(string(step)))
	}
	for _, f := range from {
		if s == f {
			return to, nil
		}
	}
	if s == to || step == Stop && s == Done {
		return s, nil
	}
	return s, weir.Errorf(weir.CodeConflict, "a survey that is %s cannot %s", s, step)
}
