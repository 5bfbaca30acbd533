package routing

import (
	"fmt"

	"weir/routing/eventlog"
)

// Replay applies events that Execute made, in order. A gap or a repetition is an
// error, after which the state must not be used.
func (s *State) Replay(events ...eventlog.Event) error {
	for _, e := range events {
		h := e.Head()
		if h.Seq != s.seq+1 {
			return fmt.Errorf("event %d follows event %d", h.Seq, s.seq)
		}
		s.apply(e)
	}
	return nil
}

// apply applies one event and advances the clock.
func (s *State) apply(e eventlog.Event) {
	// The unfinished snapshot shares jobs with the state; it copies a job before its first
	// change.
	if s.snapshot != nil {
		s.snapshot.before(e)
	}
	h := e.Head()
	s.seq = h.Seq
	if h.At.After(s.now) {
		s.now = h.At
	}
	s.dispatch(e)
	s.measure(e)
}

// dispatch dispatches an event to the entity that it changes.
func (s *State) dispatch(e eventlog.Event) {
	switch e := e.(type) {
	case *eventlog.JobReceivedEvent:
		s.applyJobReceived(e)
	case *eventlog.JobDeletedEvent, *eventlog.JobForgottenEvent:
		s.removeJob(e.Subject())
	case *eventlog.DeclineLapsedEvent:
		s.applyDeclineLapsed(e)
	case *eventlog.OfferIssuedEvent:
		s.applyOfferIssued(e)
	case *eventlog.OfferAcceptedEvent:
		s.applyOfferAccepted(e)
	case *eventlog.OfferDeclinedEvent:
		s.applyOfferDeclined(e)
	case *eventlog.OfferRevokedEvent:
		s.applyOfferRevoked(e)
	case *eventlog.OfferExpiredEvent:
		s.endOffer(s.offers[e.OfferID], &e.Header)
	case *eventlog.WorkerPutEvent:
		s.applyWorkerPut(e)
	case *eventlog.WorkerRegisteredEvent:
		s.applyWorkerRegistered(e)
	case *eventlog.WorkerUpdatedEvent:
		s.workers[e.WorkerID].touch(&e.Header)
	case *eventlog.WorkerDeregisteredEvent:
		s.applyWorkerDeregistered(e)
	case *eventlog.WorkerDrainedEvent:
		s.applyWorkerDrained(e)
	case *eventlog.WorkerDeletedEvent:
		s.applyWorkerDeleted(e)
	case *eventlog.QueuePutEvent:
		s.applyQueuePut(e)
	case *eventlog.DistributionPutEvent:
		s.applyDistributionPut(e)
	case *eventlog.ClassificationPutEvent:
		setPolicy(s.classifications, e.ID, e.Spec, &e.Header)
	case *eventlog.ExceptionPutEvent:
		s.applyExceptionPut(e)
	case *eventlog.PoolPutEvent:
		s.applyPoolPut(e)
	case *eventlog.DeletedEvent:
		s.applyDeleted(e)
	default: // about a job
		j := s.jobs[e.Subject()]
		j.touch(e.Head())
		s.applyJobEvent(j, e)
		s.measureJob(j)
		s.reindexJob(j)
	}
}

// emit numbers an event, applies it and adds it to the output of Execute.
func (s *State) emit(e eventlog.Event) {
	h := e.Head()
	h.Seq, h.At = s.seq+1, s.now
	s.apply(e)
	s.emitted = append(s.emitted, e)
}
