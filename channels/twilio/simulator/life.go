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
	after  func(*Options) time.Duration
}

func at(status, event string, after func(*Options) time.Duration) step {
	return step{status, event, after}
}

func steps(x *resource) []step {
	queue := func(o *Options) time.Duration { return o.QueueTime }
	deliver := func(o *Options) time.Duration { return o.DeliverTime }
	ring := func(o *Options) time.Duration { return o.RingTime }
	talk := func(o *Options) time.Duration { return o.TalkTime }
	soon := func(*Options) time.Duration { return 0 }
	if x.kind == messages {
		sent := at("sent", "", queue)
		switch x.outcome.What {
		case Sent:
			return []step{sent}
		case Undelivered:
			return []step{sent, at("undelivered", "", deliver)}
		case FailedState:
			return []step{at("failed", "", queue)}
		case Read:
			return []step{sent, at("delivered", "", deliver), at("read", "", deliver)}
		case Reversed:
			return []step{at("delivered", "", queue), at("sent", "", soon)}
		}
		return []step{sent, at("delivered", "", deliver)}
	}
	begin := []step{at("initiated", "initiated", queue), at("ringing", "ringing", soon)}
	switch x.outcome.What {
	case Busy, NoAnswer, FailedState:
		return append(begin, at(x.outcome.What, "completed", ring))
	}
	return append(begin, at("in-progress", "answered", ring), at("completed", "completed", talk))
}

// advance performs the steps one after the other. The caller holds the lock.
func (s *Server) advance(x *resource, rest []step) {
	if len(rest) == 0 {
		return
	}
	s.Later(rest[0].after(&s.options), func() {
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
