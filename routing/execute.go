package routing

import (
	"time"

	"weir/routing/eventlog"
	"weir/routing/resource"
)

// Execute fires the timers that are due by now, then runs the command (nil for
// none), and then makes every offer that has become possible. Afterwards
// nothing is due before some later instant. Execute returns the events of all
// three steps, already applied to the state, and an error if the command was
// refused; the events are then only those of the timers and the offers that
// followed. Time never goes backwards: an earlier now counts as the latest one
// seen.
//
// The events of one Execute belong together: make them durable as one, and only
// then announce them and answer the client. If they cannot be made durable,
// this state is ahead of the journal and must be discarded and rebuilt.
func (s *State) Execute(c Command, now time.Time) ([]eventlog.Event, error) {
	now = now.UTC().Truncate(time.Microsecond)
	s.emitted, s.executing = nil, true
	s.fireUntil(now)
	if now.After(s.now) {
		s.now = now
	}
	var err error
	if c != nil {
		err = c.decide(s)
	}
	s.match()
	s.cancelNoWait()
	s.agenda.scores, s.agenda.scored = nil, nil
	s.fireUntil(s.now)
	s.executing = false
	out := s.emitted
	s.emitted = nil
	return out, err
}

// Tick is a command that only lets time pass.
type Tick struct{}

func (Tick) decide(*State) error { return nil }

// fireUntil fires the due timers, each at its own time and followed by the
// offers that it makes possible, as if Execute had been called at that very
// instant. A timer that was due before the latest event fires at the time of
// that event.
func (s *State) fireUntil(now time.Time) {
	for {
		t := s.nextTimer()
		if t == nil || t.at > now.UnixMicro() {
			return
		}
		if at := time.UnixMicro(t.at).UTC(); at.After(s.now) {
			s.now = at
		}
		s.fire(t)
		s.match()
	}
}

func (s *State) fire(t *timer) {
	switch t.kind {
	case timerJob:
		s.fireJob(t.job)
	case timerLife:
		s.expireJob(t.job)
	case timerForget:
		s.emit(&eventlog.JobForgottenEvent{JobID: t.job.ID})
	case timerIdle:
		s.deregister(t.work)
	case timerKinds:
	}
}

// fireJob handles everything that is due for one job.
func (s *State) fireJob(j *job) {
	switch {
	case due(j.NotAfter, s.now) && j.awaitsAssignment():
		s.cancel(j, "", ExpiredJob)
	case s.fireOffers(j), s.fireClose(j), s.fireDeclines(j):
	case j.Status == resource.JobScheduled && due(j.MatchingMode.ScheduleAt, s.now):
		s.emit(&eventlog.JobWaitingForActivationEvent{
			JobHead: s.jobHead(j), Priority: j.EffectivePriority(), Requested: j.RequestedWorkerSelectors,
			Attached: j.Attached, ScheduledAt: j.ScheduledAt,
		})
	case s.fireSelectors(j), s.fireWaits(j):
	default:
		s.setTimers(j)
	}
}

func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

func (s *State) fireOffers(j *job) bool {
	for _, o := range j.Offers {
		if due(o.ExpiresAt, s.now) {
			w := o.worker
			s.emit(&eventlog.OfferExpiredEvent{OfferHead: s.offerHead(j, w, o.ID)})
			s.deregister(w)
			return true
		}
	}
	return false
}

func (s *State) fireClose(j *job) bool {
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() && due(a.CloseAt, s.now) {
			s.closeNow(j, a, a.DispositionCode, "")
			return true
		}
	}
	return false
}

func (s *State) fireDeclines(j *job) bool {
	if j.Status != resource.JobQueued {
		return false
	}
	for _, d := range j.Declines {
		if due(d.Until, s.now) {
			s.emit(&eventlog.DeclineLapsedEvent{JobID: j.ID, WorkerID: d.WorkerID})
			return true
		}
	}
	return false
}

func (s *State) fireSelectors(j *job) bool {
	if j.Status != resource.JobQueued {
		return false
	}
	_, requested := resource.Expire(j.RequestedWorkerSelectors, s.now)
	_, attached := resource.Expire(j.Attached, s.now)
	if requested == nil && attached == nil {
		return false
	}
	s.emit(&eventlog.JobWorkerSelectorsExpiredEvent{JobHead: s.jobHead(j), Requested: requested, Attached: attached})
	return true
}

func (s *State) fireWaits(j *job) bool {
	if j.Status != resource.JobQueued {
		return false
	}
	for _, r := range s.rulesOf(j.queue) {
		if r.Trigger.Kind == resource.TriggerWaitTime && !j.hasFired(j.QueueID, r.ID) &&
			due(j.WaitsSince.Add(resource.Seconds(r.Trigger.ThresholdSeconds)), s.now) {
			s.fireRule(j, r)
			return true
		}
	}
	return false
}

// expireJob ends a job that has reached its maximum life.
func (s *State) expireJob(j *job) {
	if j.Status == resource.JobPendingSchedule || j.Status == resource.JobScheduled {
		s.emit(&eventlog.JobSchedulingFailedEvent{
			JobHead: s.jobHead(j), Priority: j.EffectivePriority(), Requested: j.RequestedWorkerSelectors,
			Attached: j.Attached, ScheduledAt: j.ScheduledAt, FailureReason: "Expired Job",
		})
		return
	}
	s.cancel(j, "", ExpiredJob)
}

// cancelNoWait cancels a new NoWait job that found no worker.
func (s *State) cancelNoWait() {
	if s.noWaitJob == nil {
		return
	}
	j := s.noWaitJob
	s.noWaitJob = nil
	if s.jobs[j.ID] == j && !j.Status.Finished() && j.Awaits == AwaitNothing && len(j.Offers) == 0 && len(j.Assignments) == 0 {
		s.cancel(j, "", NoWorkerAvailable)
	}
}

// Dispositions of jobs that the router itself cancels.
const (
	NoWorkerAvailable = "NobodyAvailable" // a NoWait job found no worker
	ExpiredJob        = "Expired"         // not assigned by NotAfter, or the maximum life was reached
)

// NextWake returns the next instant at which [State.Execute] has something to do
// without a command; ok is false if there is none. The instant may be in the
// past.
func (s *State) NextWake() (at time.Time, ok bool) {
	if t := s.nextTimer(); t != nil {
		return time.UnixMicro(t.at).UTC(), true
	}
	return time.Time{}, false
}

// nextTimer returns the timer that fires next.
func (s *State) nextTimer() *timer {
	var first *timer
	for k := range s.timers {
		if e := s.timers[k].entries; len(e) > 0 && (first == nil || e[0].at < first.at) {
			first = e[0].t
		}
	}
	return first
}
