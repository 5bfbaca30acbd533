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
	case Reversed:
		return []step{queued, next(stateConfirmed), {o.ConfirmTime, stateDelivered}}
	case Twice:
		return []step{queued, next(stateDelivered), {0, stateDelivered}}
	case Failed:
		return []step{queued, next(stateFailed)}
	case Failover:
		return []step{queued, next(stateFailed), next(stateDelivered)}
	case DelayedFirst:
		return []step{queued, next(stateDelayed), next(stateQueued), next(stateDelivered)}
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

// live schedules the steps of a message. The caller holds the lock.
func (s *Server) live(m *message, outcome string) {
	s.walk(m, s.options.steps(outcome), s.life)
}

func (s *Server) walk(m *message, rest []step, life int) {
	if len(rest) == 0 {
		return
	}
	s.Agenda.After(rest[0].after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.life != life {
			return
		}
		s.enter(m, rest[0].state)
		s.walk(m, rest[1:], life)
	})
}

// enter puts a message into a state. It releases the slot before it reports the
// state.
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
	case stateDelivered, stateConfirmed, stateFailed:
		s.ack(m)
	}
}
