package simulator

import "time"

// States of an AO message.
const (
	statePending     = "pending"
	stateQueued      = "queued"
	stateDelayed     = "delayed"
	stateDelivered   = "delivered"
	stateConfirmed   = "confirmed"
	stateFailed      = "failed"
	stateBroadcasted = "broadcasted"
)

// step is one state change of a message, some time after the previous one. If
// Nuntium reports the state, an ack is sent.
type step struct {
	after time.Duration
	state string
}

// steps returns the state changes of a message. Acks are sent in the order of
// the steps.
func (o Options) steps(outcome string) []step {
	queued := step{o.QueueTime, stateQueued}
	next := func(state string) step { return step{o.DeliverTime, state} }
	confirm := step{o.ConfirmTime, stateConfirmed}
	switch outcome {
	case Delivered:
		return []step{queued, next(stateDelivered)}
	case ConfirmedOnly:
		return []step{queued, next(stateConfirmed)}
	// Retries and several worker processes reorder the acks of Nuntium: confirmed may come before
	// delivered, and a client must not step back.
	case Reversed:
		return []step{queued, next(stateConfirmed), {o.ConfirmTime, stateDelivered}}
	// The same state twice, as after any later save of the message.
	case Twice:
		return []step{queued, next(stateDelivered), {0, stateDelivered}}
	case Failed:
		return []step{queued, next(stateFailed)}
	// The client sees a failure first and the delivery after it, so a failure must not be taken
	// as the last word on a message.
	case Failover:
		return []step{queued, next(stateFailed), next(stateDelivered)}
	case DelayedFirst:
		return []step{queued, next(stateDelayed), next(stateQueued), next(stateDelivered)}
	// Both spellings occur, and neither is reported.
	case Canceled, Cancelled:
		return []step{queued, next(outcome)}
	case NullState:
		return []step{queued, next("")}
	case Stuck:
		return []step{queued}
	default:
		return []step{queued, next(stateDelivered), confirm}
	}
}

// walk schedules the steps of a message. The caller holds the lock.
func (s *Server) walk(m *message, rest []step) {
	if len(rest) == 0 {
		return
	}
	s.Later(rest[0].after, func() {
		s.enter(m, rest[0].state)
		s.walk(m, rest[1:])
	})
}

// enter puts a message into a state. It releases the slot before it reports the
// state.
// Each entry into a reported state sends an ack, even if the message was in that state before:
// Nuntium does so on every save, so duplicates are normal.
func (s *Server) enter(m *message, state string) {
	m.state = state
	switch state {
	case statePending, stateQueued, stateDelayed:
		return
	}
	if m.counted {
		m.counted = false
		s.Tally().End(m.channel.Name, m.guid)
	}
	switch state {
	// No other state is reported: a client learns of a canceled message, or of one with a null
	// state, only by a query.
	case stateDelivered, stateConfirmed, stateFailed:
		s.ack(m)
	}
}
