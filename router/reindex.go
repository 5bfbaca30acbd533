package router

import (
	"time"

	"weir/router/journal"
	"weir/router/resource"
)

// reindexJob updates everything derived from a job: its position in the queue and in
// its class, and its timers.
func (s *applier) reindexJob(j *job) {
	s.count(j, j.Status)
	var q *queue
	var key uint64
	if j.Status == resource.JobQueued {
		q = s.queues[j.QueueID]
		key = sortKeyOf(j.expedited(), j.EffectivePriority(), j.Enqueued)
	}
	if q != j.queue || key != j.sortKey {
		s.dequeue(j)
		if q != nil {
			j.queue, j.sortKey = q, key
			q.jobs.add(key, j)
			q.ranks[j.EffectivePriority()]++
		}
	}
	s.reindexClass(j)
	s.setTimers(j)
}

// dequeue removes a job from its queue and class.
func (s *applier) dequeue(j *job) {
	if j.queue == nil {
		return
	}
	if j.wantsOffer {
		j.wantsOffer = false
		j.class.remove(j.sortKey)
	}
	j.queue.jobs.remove(j.sortKey)
	rank := resource.MaxPriority - int(j.sortKey<<1>>(seqBits+1))
	if j.queue.ranks[rank]--; j.queue.ranks[rank] == 0 {
		delete(j.queue.ranks, rank)
	}
	j.queue, j.sortKey = nil, 0
}

// leaveClass drops a job's class because the conditions that define it have
// changed.
func (s *applier) leaveClass(j *job) {
	if j.class == nil {
		return
	}
	if j.wantsOffer {
		j.wantsOffer = false
		j.class.remove(j.sortKey)
	}
	j.class.refs--
	j.class = nil
}

func (s *applier) reindexClass(j *job) {
	if j.queue == nil {
		s.leaveClass(j)
		return
	}
	// A suspended job, one that awaits scores and one with as many offers as it may have stays in
	// the queue, where it counts for length and position, but not in the list that workers
	// search.
	matchable := j.MatchingMode.Kind == resource.QueueAndMatch && j.Awaits == AwaitNothing && len(j.Offers) < j.queue.maxOffers()
	if j.class == nil {
		j.class = s.index.classOf(j.QueueID, j.ChannelID, j.queue.dist.Mode.BypassSelectors, j.RequestedWorkerSelectors, j.Attached)
		// Counted also while the job wants no offer: sweep must not drop a class that it will use
		// again.
		j.class.refs++
	}
	if matchable == j.wantsOffer {
		return
	}
	j.wantsOffer = matchable
	if matchable {
		j.class.add(j.sortKey, j)
		if s.executing {
			s.agenda.markJob(j)
		}
	} else {
		j.class.remove(j.sortKey)
	}
}

// setTimers sets a job's timers to its nearest deadlines.
func (s *applier) setTimers(j *job) {
	kind, at := timerLife, j.CreatedAt.Add(s.settings.JobLife)
	if j.Status.Finished() {
		kind, at = timerForget, time.Time{}
		// Zero keeps finished jobs until a client deletes them.
		if s.settings.KeepFinished > 0 {
			at = j.FinishedAt.Add(s.settings.KeepFinished)
		}
	}
	if j.lifeTimer.kind != kind {
		s.timers[j.lifeTimer.kind].remove(&j.lifeTimer)
		j.lifeTimer.kind = kind
	}
	s.timers[kind].set(&j.lifeTimer, at)
	s.timers[timerJob].set(&j.dueTimer, s.deadline(j))
}

// deadline returns the first instant at which something about a job is due,
// apart from the end of its life.
func (s *applier) deadline(j *job) time.Time {
	var at time.Time
	for _, o := range j.Offers {
		at = earlier(at, o.ExpiresAt)
	}
	for _, a := range j.Assignments {
		if a.ClosedAt.IsZero() {
			at = earlier(at, a.CloseAt)
		}
	}
	if j.awaitsAssignment() {
		at = earlier(at, j.NotAfter)
	}
	switch j.Status {
	case resource.JobScheduled:
		at = earlier(at, j.MatchingMode.ScheduleAt)
	case resource.JobQueued:
		for _, d := range j.Declines {
			at = earlier(at, d.Until)
		}
		for _, list := range [...][]resource.WorkerSelector{j.RequestedWorkerSelectors, j.Attached} {
			for _, sel := range list {
				if sel.Active() {
					at = earlier(at, sel.ExpiresAt)
				}
			}
		}
		at = earlier(at, s.nextWaitRule(j))
	default:
	}
	return at
}

// nextWaitRule returns when the next wait-time rule fires for a queued job.
func (s *applier) nextWaitRule(j *job) (at time.Time) {
	if j.queue == nil || j.queue.ExceptionPolicyID == "" {
		return at
	}
	for _, r := range s.rulesOf(j.queue) {
		if r.Trigger.Kind == resource.TriggerWaitTime && !j.hasFired(j.QueueID, r.ID) {
			at = earlier(at, j.WaitsSince.Add(resource.Seconds(r.Trigger.ThresholdSeconds)))
		}
	}
	return at
}

// setIdleTimer sets the idle timer of a worker that has no offers and no assignments.
func (s *applier) setIdleTimer(w *worker) {
	var at time.Time
	if w.State == resource.WorkerActive && len(w.offers) == 0 && len(w.assigned) == 0 && s.settings.IdleLife > 0 {
		at = w.ActiveAt.Add(s.settings.IdleLife)
	}
	s.timers[timerIdle].set(&w.idleTimer, at)
}

// loadChanged updates the derived state after a worker's load changed.
func (s *applier) loadChanged(w *worker) {
	s.setIdleTimer(w)
	if w.position < 0 {
		return
	}
	if s.index.updateLoad(w) {
		s.markWorker(w)
	}
	w.updatePools()
}

// count keeps the number of jobs in each state.
func (s *applier) count(j *job, now resource.JobStatus) {
	if j.countedStatus == now {
		return
	}
	if j.countedStatus != "" {
		if s.counts[j.countedStatus]--; s.counts[j.countedStatus] == 0 {
			delete(s.counts, j.countedStatus)
		}
	}
	if j.countedStatus = now; now != "" {
		s.counts[now]++
	}
}

// markWorker puts a worker on the agenda. The job that it could take is found
// when its turn comes.
func (s *applier) markWorker(w *worker) {
	if s.executing && !w.onAgenda && w.position >= 0 {
		w.onAgenda = true
		s.agenda.workers++
		s.agenda.push(candidate{worker: w})
	}
}

// measure counts what an event has stored or deleted, except jobs.
func (s *applier) measure(e journal.Event) {
	switch e := e.(type) {
	case *journal.WorkerPutEvent:
		s.setSize(entity{resource.Worker, e.WorkerID}, sizeOfWorker(e.Spec))
	case interface {
		Resource() (id string, spec resource.Spec)
	}:
		id, spec := e.Resource()
		s.setSize(entity{spec.Kind(), id}, sizeOf(spec))
	case *journal.WorkerDeletedEvent:
		s.setSize(entity{resource.Worker, e.WorkerID}, 0)
	case *journal.DeletedEvent:
		s.setSize(entity{e.Resource, e.ID}, 0)
	}
}

func (s *applier) setSize(e entity, n int) {
	s.stored += n - s.sizes[e]
	s.sizes[e] = n
	if n == 0 {
		delete(s.sizes, e)
	}
}

// measureAll counts what a snapshot has.
func (s *applier) measureAll() {
	for id, w := range s.workers {
		s.setSize(entity{resource.Worker, id}, sizeOfWorker(w.WorkerSpec))
	}
	for _, kind := range []resource.Kind{resource.Queue, resource.Distribution, resource.Classification, resource.Exception, resource.Pool} {
		for id := range s.of(kind).ids() {
			if v, ok := s.of(kind).get(id).(interface{ spec() any }); ok {
				s.setSize(entity{kind, id}, sizeOf(v.spec()))
			}
		}
	}
	for _, j := range s.jobs {
		s.measureJob(j)
	}
}

func (s *applier) measureJob(j *job) {
	n := fixedSize + j.JobSpec.Size() + resource.SelectorsSize(j.Attached)
	s.stored += n - j.size
	j.size = n
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
