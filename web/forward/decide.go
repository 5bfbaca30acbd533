package forward

import (
	"errors"
	"time"
)

// ErrNotSent is the error of a request that was not sent at all, or that the receiver
// refused because it is not the owner: it was certainly not handled.
var ErrNotSent = errors.New("the request was not handled")

// State is what is known of a request that has no answer yet.
type State struct {
	Owner      bool          // it was sent to somebody who was taken for the owner
	Sent       error         // how that ended; nil if it was not sent
	Repeatable bool          // handling it twice has no effect
	Streamed   bool          // its body is not in memory, so that it can be sent once
	Waited     time.Duration // for an owner
}

// Step is what to do with a request that has no answer.
type Step int

// What to do with a request that has no answer.
const (
	Hold    Step = iota // it waits, and is sent to the next owner
	GiveUp              // it was not handled, and has waited long enough
	Refuse              // it was not handled, and cannot wait
	Unknown             // it may have been handled, and must not be sent again
)

// Decide returns what to do with a request that has no answer; it may wait for left.
func Decide(s State, left time.Duration) Step {
	handled := s.Owner && !errors.Is(s.Sent, ErrNotSent) // perhaps
	switch {
	case handled && (!s.Repeatable || s.Streamed):
		return Unknown
	case s.Streamed:
		return Refuse
	case s.Waited >= left:
		return GiveUp
	default:
		return Hold
	}
}
