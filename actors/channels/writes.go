package channels

import (
	"context"
	"time"

	"weir"
	core "weir/actors/contacts"
	"weir/internal/failpoint"
)

// write is a change that was submitted to the writer.
type write struct {
	done   chan struct{}
	failed bool // read it only after done is closed
}

// hasFailed reports whether a write that comes before one that is written has failed.
func (w *write) hasFailed() bool {
	select {
	case <-w.done:
		return w.failed
	default:
		return true
	}
}

func (w *write) err() error {
	if w.failed {
		return errRestarted()
	}
	return nil
}

// after runs do once the write is answered, at once if it is or if there is none. An
// earlier read would find contacts in their old state; an earlier reply could confirm
// something that a crash may still undo. The end of life counts as a failure.
func (w *write) after(life context.Context, do func(error)) {
	if w == nil {
		do(nil)
		return
	}
	select {
	case <-w.done:
		do(w.err())
		return
	default:
	}
	go func() {
		select {
		case <-w.done:
			do(w.err())
		case <-life.Done():
			do(errRestarted())
		}
	}()
}

// hitFailpoint names the durable boundaries for the crash tests.
func hitFailpoint(k core.Commit, when string) {
	switch {
	case len(k.Claimed) > 0:
		failpoint.Hit("claim." + when)
	case len(k.Replies) > 0 && k.Replies[0].Verdict != "":
		failpoint.Hit("report." + when)
	case len(k.Replies) > 0:
		failpoint.Hit("cancel." + when)
	case len(k.Transitions) > 0 && k.Transitions[0].Contact.State == weir.Active:
		failpoint.Hit("ref." + when)
	}
}

func errRestarted() error {
	return &weir.Error{Code: weir.CodeUnavailable, Message: "the channel's broker was restarted; try again", RetryAfter: time.Second}
}
