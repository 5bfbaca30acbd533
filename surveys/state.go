package surveys

import (
	"slices"
	"time"

	"weir"
	"weir/api"
	"weir/internal/validation"
)

// State is the state of a survey.
type State = api.SurveyState

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

// Step is a requested transition of a survey, or a lock of it.
type Step string

// The steps. Users launch, pause, resume, stop, lock and unlock a survey; finish is taken when
// nothing is left to do.
const (
	Launch Step = "launch"
	Pause  Step = "pause"
	Resume Step = "resume"
	Stop   Step = "stop"
	Lock   Step = "lock"
	Unlock Step = "unlock"
	Finish Step = "finish"
)

// Apply returns the state after a step. A step to the present state changes nothing,
// so that it can be repeated; a step that the state does not allow is a conflict.
func Apply(s State, step Step) (State, error) {
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
		return s, weir.Errorf(weir.CodeInvalid, "%q is not one of launch, pause, resume, stop, lock and unlock", validation.Clip(string(step)))
	case slices.Contains(t.from, s):
		return t.to, nil
	case s == t.to, step == Stop && s == Done:
		return s, nil
	}
	return s, weir.Errorf(weir.CodeConflict, "a survey that is %s cannot %s", s, step)
}

// Advance returns the survey after a step that a round takes; ok is false if it has come so far
// already.
func (s Survey) Advance(step Step, cause Cause, braked *weir.Braked, now time.Time) (_ Survey, ok bool) {
	to, err := Apply(s.State, step)
	if err != nil || to == s.State {
		return s, false
	}
	if step != Pause && (s.Cause == "" || s.State != Stopping) {
		s.Cause = cause
	}
	s.State, s.Braked = to, braked
	if to == Done {
		s.Ended = now
	}
	return s, true
}

// Command returns the survey after a step that a user asks for. A step without effect
// changes nothing, so that it can be repeated.
func (s Survey) Command(step Step) (Survey, error) {
	switch {
	case step == Unlock:
		s.Locked = false
		return s, nil
	case step == Lock && (s.State == Running || s.Locked):
		s.Locked = true
		return s, nil
	case step == Lock:
		return s, weir.Errorf(weir.CodeConflict, "a survey that is %s cannot be locked; it must be running", s.State)
	}
	to, err := Apply(s.State, step)
	if err == nil && to != s.State {
		err = s.CheckUnlocked()
	}
	if err == nil && to != s.State {
		s.State, s.Braked = to, nil
	}
	return s, err
}

// CheckUnlocked returns an error if the survey is locked: users must not change, stop or
// delete it.
func (s *Survey) CheckUnlocked() error {
	if s.Locked {
		return weir.Errorf(weir.CodeLocked, "survey %s is locked against changes; a token with the scope surveys:admin can unlock it (:unlock)", s.Name)
	}
	return nil
}
