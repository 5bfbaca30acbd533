package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// The kinds of events. Events of the API have the names that the API gives
// them.

func (*JobReceivedEvent) Kind() string               { return "RouterJobReceived" }
func (*JobClassifiedEvent) Kind() string             { return "RouterJobClassified" }
func (*JobClassificationFailedEvent) Kind() string   { return "RouterJobClassificationFailed" }
func (*JobQueuedEvent) Kind() string                 { return "RouterJobQueued" }
func (*JobExceptionTriggeredEvent) Kind() string     { return "RouterJobExceptionTriggered" }
func (*JobWorkerSelectorsExpiredEvent) Kind() string { return "RouterJobWorkerSelectorsExpired" }
func (*JobUnassignedEvent) Kind() string             { return "RouterJobUnassigned" }
func (*JobCompletedEvent) Kind() string              { return "RouterJobCompleted" }
func (*JobClosedEvent) Kind() string                 { return "RouterJobClosed" }
func (*JobCancelledEvent) Kind() string              { return "RouterJobCancelled" }
func (*JobWaitingForActivationEvent) Kind() string   { return "RouterJobWaitingForActivation" }
func (*JobSchedulingFailedEvent) Kind() string       { return "RouterJobSchedulingFailed" }
func (*JobDeletedEvent) Kind() string                { return "RouterJobDeleted" }
func (*OfferIssuedEvent) Kind() string               { return "RouterWorkerOfferIssued" }
func (*OfferAcceptedEvent) Kind() string             { return "RouterWorkerOfferAccepted" }
func (*OfferDeclinedEvent) Kind() string             { return "RouterWorkerOfferDeclined" }
func (*OfferRevokedEvent) Kind() string              { return "RouterWorkerOfferRevoked" }
func (*OfferExpiredEvent) Kind() string              { return "RouterWorkerOfferExpired" }
func (*WorkerRegisteredEvent) Kind() string          { return "RouterWorkerRegistered" }
func (*WorkerUpdatedEvent) Kind() string             { return "RouterWorkerUpdated" }
func (*WorkerDeregisteredEvent) Kind() string        { return "RouterWorkerDeregistered" }
func (*WorkerDeletedEvent) Kind() string             { return "RouterWorkerDeleted" }

func (*JobUpdatedEvent) Kind() string         { return "jobUpdated" }
func (*JobRulesRequestedEvent) Kind() string  { return "jobRulesAsked" }
func (*JobScoresRequestedEvent) Kind() string { return "jobScoresAsked" }
func (*JobScoredEvent) Kind() string          { return "jobScored" }
func (*JobScheduledEvent) Kind() string       { return "jobScheduled" }
func (*JobCloseArrangedEvent) Kind() string   { return "jobCloseArranged" }
func (*JobForgottenEvent) Kind() string       { return "jobForgotten" }
func (*DeclineLapsedEvent) Kind() string      { return "declineLapsed" }
func (*WorkerPutEvent) Kind() string          { return "workerPut" }
func (*WorkerDrainedEvent) Kind() string      { return "workerDrained" }
func (*DeletedEvent) Kind() string            { return "deleted" }

// Kind returns the first word of the resource's kind and Put, such as distributionPut.
func (e *Put[T, P]) Kind() string {
	kind, _, _ := strings.Cut(string(P(&e.Spec).Kind()), " ")
	return kind + "Put"
}

// Public reports whether an event belongs to the API and must be announced.
// The names of the API begin with Router, the engine's own with a small letter.
func Public(e Event) bool { return e.Kind()[0] == 'R' }

// Examples returns an empty event of every kind.
func Examples() []Event {
	return []Event{
		&JobReceivedEvent{}, &JobClassifiedEvent{}, &JobClassificationFailedEvent{}, &JobQueuedEvent{},
		&JobExceptionTriggeredEvent{}, &JobWorkerSelectorsExpiredEvent{}, &JobUnassignedEvent{}, &JobCompletedEvent{},
		&JobClosedEvent{}, &JobCancelledEvent{}, &JobWaitingForActivationEvent{}, &JobSchedulingFailedEvent{},
		&JobDeletedEvent{}, &OfferIssuedEvent{}, &OfferAcceptedEvent{}, &OfferDeclinedEvent{}, &OfferRevokedEvent{},
		&OfferExpiredEvent{}, &WorkerRegisteredEvent{}, &WorkerUpdatedEvent{}, &WorkerDeregisteredEvent{},
		&WorkerDeletedEvent{}, &JobUpdatedEvent{}, &JobRulesRequestedEvent{}, &JobScoresRequestedEvent{}, &JobScoredEvent{},
		&JobScheduledEvent{}, &JobCloseArrangedEvent{}, &JobForgottenEvent{},
		&DeclineLapsedEvent{}, &WorkerPutEvent{}, &WorkerDrainedEvent{}, &QueuePutEvent{}, &DistributionPutEvent{},
		&ClassificationPutEvent{}, &ExceptionPutEvent{}, &PoolPutEvent{}, &DeletedEvent{},
	}
}

// Decoder decodes events.
type Decoder struct{ fresh map[string]func() Event }

// NewDecoder returns a Decoder. One is enough for a whole log.
func NewDecoder() *Decoder {
	d := &Decoder{fresh: map[string]func() Event{}}
	for _, e := range Examples() {
		d.fresh[e.Kind()] = func() Event { return reflect.New(reflect.TypeOf(e).Elem()).Interface().(Event) } //nolint:forcetypeassert // it is of e's type
	}
	return d
}

// Append appends events to a segment's data, one line each: its kind, a
// space, its JSON form.
func Append(data []byte, list ...Event) ([]byte, error) {
	for _, e := range list {
		var err error
		data = append(append(data, e.Kind()...), ' ')
		if data, err = appendEvent(data, e); err != nil {
			return nil, fmt.Errorf("event of kind %s: %w", e.Kind(), err)
		}
		data = append(data, '\n')
	}
	return data, nil
}

// Decode decodes what [Append] wrote.
func (d *Decoder) Decode(data []byte) ([]Event, error) {
	var list []Event
	for len(data) > 0 {
		line, rest, complete := bytes.Cut(data, []byte{'\n'})
		kind, text, ok := bytes.Cut(line, []byte{' '})
		if !complete || !ok {
			return nil, errors.New("a line of the journal is truncated")
		}
		// Kinds and members are never renamed, because journals of earlier releases hold them; hence
		// spellings such as jobRulesAsked.
		fresh, ok := d.fresh[string(kind)]
		if !ok {
			return nil, fmt.Errorf("unknown kind of event %q", kind)
		}
		e := fresh()
		if err := json.Unmarshal(text, e); err != nil {
			return nil, fmt.Errorf("event of kind %s: %w", kind, err)
		}
		list, data = append(list, e), rest
	}
	return list, nil
}
