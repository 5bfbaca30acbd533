package simulator

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"weir/channels/simulation"
)

// The states of a call, as Verboice spells them.
const (
	stateQueued    = "queued"
	stateActive    = "active"
	stateCompleted = "completed"
	stateFailed    = "failed"
	stateCancelled = "cancelled"
	stateExpired   = "expired"
)

// lookUp returns the first channel for which is returns true, or nil.
func (s *Server) lookUp(is func(*line) bool) *line {
	for _, l := range s.lines {
		if is(l) {
			return l
		}
	}
	return nil
}

// enter puts a call into its queue after a delay.
func (s *Server) enter(c *call, delay time.Duration) {
	c.waiting = true
	s.Later(delay, func() {
		c.line.queue = append(c.line.queue, c)
		s.dispatch(c.line)
	})
}

// dispatch dials as many waiting calls as the channel has places for.
func (s *Server) dispatch(l *line) {
	for l.busy < l.Limit && len(l.queue) > 0 {
		c := l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		if !c.waiting {
			continue // canceled meanwhile
		}
		c.waiting = false
		if !c.notAfter.IsZero() && time.Now().After(c.notAfter) {
			s.finish(c, stateExpired, "expired", "", "")
			continue
		}
		l.busy++
		s.dial(c)
	}
}

// leave frees a place of the channel after its pause.
// Verboice pauses for seconds_between_calls (2 s as shipped) after each call, and a call counts
// against the channel's limit until the pause is over. The tally in contrast ends with the call.
func (s *Server) leave(l *line) {
	s.Later(l.Pause, func() {
		l.busy--
		s.dispatch(l)
	})
}

func (s *Server) dial(c *call) {
	c.state = stateActive
	c.dialed++
	rule, _ := s.Outcomes.Pick(opSend, c.address)
	switch {
	// No callback at all, as at Verboice if the upstream provider refuses the call or the flow is
	// invalid: a client learns it only from the call's state.
	case rule.What == outRefused, c.flow.invalid() && !s.options.SkipFlows:
		s.finish(c, stateFailed, "", "", "")
		s.leave(c.line)
		return
	// Verboice keeps the call queued without a callback and dials again about a minute later.
	case rule.What == outUnreachable:
		c.state = stateQueued
		s.enter(c, s.options.RetryDelay)
		s.leave(c.line)
		return
	}
	s.report(c, "ringing", "", "")
	s.Later(s.options.Ring, func() { s.rung(c, rule) })
}

// rung decides what follows the ringing.
func (s *Server) rung(c *call, rule simulation.Rule) {
	switch rule.What {
	case outBusy, outNoAnswer:
		s.finish(c, stateFailed, rule.What, "", "")
	case outDialFailed:
		s.finish(c, stateFailed, "failed", "dial failed", rule.Value)
	// As on channels that never report a hangup: Verboice waits for that report in vain and sends
	// no final callback. The client has ringing as the last news.
	case outSilent:
		s.finish(c, stateFailed, "", "", "")
	// A retry by schedule that would fall after not_after: Verboice reports the failed dialing
	// and then the expiry, so the client gets two final callbacks for one call.
	case outDouble:
		s.finish(c, stateExpired, "busy", "", "")
		s.report(c, "expired", "", "")
	case outRetry:
		if c.dialed > 1 {
			s.pickUp(c, rule)
			return
		}
		// The client counts this call as done, so the tally does too: the
		// client did not request the retry, which follows Verboice's own
		// schedule.
		s.finish(c, stateQueued, "busy", "", "")
		s.enter(c, s.options.RetryDelay)
	default:
		s.pickUp(c, rule)
		return
	}
	s.leave(c.line)
}

// pickUp simulates an answered call.
func (s *Server) pickUp(c *call, rule simulation.Rule) {
	c.answered = time.Now()
	s.report(c, "in-progress", "", "")
	hangUp := func(status, reason, code string) {
		state := stateFailed
		if status == "completed" {
			state = stateCompleted
		}
		s.finish(c, state, status, reason, code)
		s.leave(c.line)
	}
	switch rule.What {
	case outFailed:
		s.Later(s.options.Talk, func() { hangUp("failed", "flow failed", rule.Value) })
	// “Busy” is Verboice's own reason for a person who hangs up in the middle of the flow.
	case outHangup:
		s.Later(s.options.Talk, func() { hangUp("failed", "Busy", "") })
	// Verboice ends a call after 120 minutes. The per-call URL hears nothing of it.
	case outStuck: // reported only to the project's URL, so not to this client
		s.Later(s.options.MaxActive, func() { hangUp("", "", "") })
	default:
		s.hold(c, hangUp)
	}
}

// hold runs the flow of a call. The call lasts for Talk at least.
func (s *Server) hold(c *call, hangUp func(status, reason, code string)) {
	if s.options.SkipFlows || c.flow == (flow{}) {
		s.Later(s.options.Talk, func() { hangUp("completed", "", "") })
		return
	}
	f, began := c.flow, time.Now()
	s.flowJobs.Go(func() {
		err := f.run(s.life, s.options.Client, c.id, s.options.Digits)
		s.Lock()
		defer s.Unlock()
		s.Later(s.options.Talk-time.Since(began), func() {
			if s.calls[c.id] != c { // a reset happened in between
				return
			}
			if err != nil {
				hangUp("failed", err.Error(), "")
				return
			}
			hangUp("completed", "", "")
		})
	})
}

// finish ends a call, or one dialing of it. With an empty status it ends
// silently. It updates the tally before it reports, so that the receiver of the
// callback finds the place free.
func (s *Server) finish(c *call, state, status, reason, code string) {
	c.state = state
	s.count(c)
	if status != "" {
		s.report(c, status, reason, code)
	}
	if s.options.PurgeAfter > 0 && state != stateQueued {
		s.Later(s.options.PurgeAfter, func() { delete(s.calls, c.id) })
	}
}

// count records the end of a call in the tally, once.
func (s *Server) count(c *call) {
	if !c.over {
		c.over = true
		s.Tally().End(c.line.Name, c.key)
	}
}

// takeBack cancels a call: it removes a waiting call from the queue; of any
// other it changes only the state.
// Canceling reports nothing. An active call goes on all the same: its end is reported as usual
// and overwrites the state.
func (s *Server) takeBack(c *call) {
	if c.waiting {
		c.waiting = false
		s.count(c)
	}
	c.state = stateCancelled
}

// report sends a status callback, as a GET with everything in its query.
// From is the dialed address and CallDuration counts whole seconds since the answer. Verboice
// sends a callback once, ignores the response and promises no order.
func (s *Server) report(c *call, status, reason, code string) {
	if c.statusURL == "" {
		return
	}
	duration := 0
	if !c.answered.IsZero() {
		duration = int(time.Since(c.answered) / time.Second)
	}
	parameters := url.Values{
		"CallSid": {strconv.FormatInt(c.id, 10)}, "CallStatus": {status},
		"From": {c.address}, "CallDuration": {strconv.Itoa(duration)},
	}
	if reason != "" {
		parameters.Set("CallStatusReason", reason)
	}
	if code != "" {
		parameters.Set("CallStatusCode", code)
	}
	target, err := url.Parse(c.statusURL)
	if err != nil {
		return // dropped silently, like every failure of a callback
	}
	query := target.Query()
	// The client's own callback parameters come last and so replace equal names.
	maps.Copy(query, parameters)
	maps.Copy(query, c.echo)
	target.RawQuery = query.Encode()
	s.Call(simulation.Callback{
		Subject: c.address, Kind: status,
		Request: func(ctx context.Context) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
		},
	})
}
