package simulator

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// step is one status in the life of a message or call.
type step struct {
	status string
	event  string // of a call; empty: none
	after  time.Duration
}

func (o *Options) steps(x *resource) []step {
	if x.kind == messages {
		sent := step{"sent", "", o.QueueTime}
		switch x.outcome.What {
		case Sent:
			return []step{sent}
		case Undelivered:
			return []step{sent, {"undelivered", "", o.DeliverTime}}
		case FailedState:
			return []step{{"failed", "", o.QueueTime}}
		case Read:
			return []step{sent, {"delivered", "", o.DeliverTime}, {"read", "", o.DeliverTime}}
		case Reversed:
			return []step{{"delivered", "", o.QueueTime}, {"sent", "", 0}}
		}
		return []step{sent, {"delivered", "", o.DeliverTime}}
	}
	begin := []step{{"initiated", "initiated", o.QueueTime}, {"ringing", "ringing", 0}}
	switch x.outcome.What {
	case Busy, NoAnswer, FailedState:
		return append(begin, step{x.outcome.What, "completed", o.RingTime})
	}
	return append(begin, step{"in-progress", "answered", o.RingTime}, step{"completed", "completed", o.TalkTime})
}

// advance performs the steps one after the other. The caller holds the lock.
func (s *Server) advance(x *resource, rest []step) {
	if len(rest) == 0 {
		return
	}
	s.Later(rest[0].after, func() {
		// What was canceled has no further step.
		if x.status == "canceled" || x.status == "completed" {
			return
		}
		s.take(x, rest[0])
		s.advance(x, rest[1:])
	})
}

// take performs one step. The caller holds the lock.
func (s *Server) take(x *resource, now step) {
	x.updated = time.Now()
	// initiated exists in callbacks only: the resource goes from queued to ringing. Reversed is a
	// disorder of the callbacks, not of the resource.
	if now.status != "initiated" && (x.outcome.What != Reversed || now.status != "sent") {
		x.status = now.status
	}
	// Empty until then, as at Twilio: a filter by these dates hides what is still queued.
	if x.sent.IsZero() && slices.Contains([]string{"sent", "in-progress", "delivered"}, now.status) {
		x.sent = x.updated
	}
	if now.status == "undelivered" || now.status == FailedState && x.kind == messages {
		x.code, _ = strconv.Atoi(x.outcome.Value)
		// Twilio's code for an unknown cause.
		x.code = cmp.Or(x.code, 30008)
	}
	if now.status == "in-progress" && x.form.Get("MachineDetection") != "" {
		x.answered = "human"
		if x.outcome.What == Machine {
			x.answered = "machine_start"
		}
	}
	if x.kind == messages || now.event == "completed" {
		s.end(x)
	}
	if x.outcome.What == Silent {
		return
	}
	events := x.form["StatusCallbackEvent"]
	if len(events) == 0 {
		// Twilio's default: unless events are named, only the end of a call is reported.
		events = []string{"completed"}
	}
	if x.kind == messages || slices.Contains(events, now.event) {
		s.report(x, now.status)
	}
	x.sequence++
}

func (s *Server) end(x *resource) {
	if !x.over {
		x.over = true
		s.Tally().End(x.line, x.key)
	}
}
