package forward

import (
	"errors"
	"time"
)

// errNotSent is the error of a request of which nothing was sent, or which the receiver
// refused because it is not the owner: it was certainly not handled.
var errNotSent = errors.New("the request was not handled")

// state is what is known of a request that has no answer yet.
type state struct {
	owner      bool          // it was sent to somebody who was taken for the owner
	sent       error         // how that ended; nil if it was not sent
	repeatable bool          // handling it twice has no effect
	streamed   bool          // its body is not in memory, so that it can be sent once
	waited     time.Duration // for an owner
}

// What to do with a request that has no answer.
type step int

const (
	hold    step = iota // it waits, and is sent to the next owner
	giveUp              // it was not handled, and has waited long enough
	refuse              // it was not handled, and cannot wait
	unknown             // it may have been handled, and must not be sent again
)

// decide says what to do with a request that has no answer; it may wait for left.
func decide(s state, left time.Duration) step {
	handled := s.owner && !errors.Is(s.sent, errNotSent) // perhaps
	switch {
	case handled && (!s.repeatable || s.streamed):
		return unknown
	case s.streamed:
		return refuse
	case s.waited >= left:
		return giveUp
	default:
		return hold
	}
}
