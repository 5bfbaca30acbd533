package routing

import (
	"encoding/json"
	"fmt"
	"reflect"
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

func (*JobUpdatedEvent) Kind() string        { return "jobUpdated" }
func (*JobRulesAskedEvent) Kind() string     { return "jobRulesAsked" }
func (*JobScoresAskedEvent) Kind() string    { return "jobScoresAsked" }
func (*JobScoredEvent) Kind() string         { return "jobScored" }
func (*JobScheduledEvent) Kind() string      { return "jobScheduled" }
func (*JobCloseArrangedEvent) Kind() string  { return "jobCloseArranged" }
func (*JobForgottenEvent) Kind() string      { return "jobForgotten" }
func (*DeclineLapsedEvent) Kind() string     { return "declineLapsed" }
func (*WorkerPutEvent) Kind() string         { return "workerPut" }
func (*WorkerDrainedEvent) Kind() string     { return "workerDrained" }
func (*QueuePutEvent) Kind() string          { return "queuePut" }
func (*DistributionPutEvent) Kind() string   { return "distributionPut" }
func (*ClassificationPutEvent) Kind() string { return "classificationPut" }
func (*ExceptionPutEvent) Kind() string      { return "exceptionPut" }
func (*PoolPutEvent) Kind() string           { return "poolPut" }
func (*DeletedEvent) Kind() string           { return "deleted" }

// Public reports whether an event belongs to the API and must be announced.
func Public(e Event) bool { return e.Kind()[0] == 'R' }

// Examples returns an empty event of every kind.
func Examples() []Event {
	return []Event{
		&JobReceivedEvent{}, &JobClassifiedEvent{}, &JobClassificationFailedEvent{}, &JobQueuedEvent{},
		&JobExceptionTriggeredEvent{}, &JobWorkerSelectorsExpiredEvent{}, &JobUnassignedEvent{}, &JobCompletedEvent{},
		&JobClosedEvent{}, &JobCancelledEvent{}, &JobWaitingForActivationEvent{}, &JobSchedulingFailedEvent{},
		&JobDeletedEvent{}, &OfferIssuedEvent{}, &OfferAcceptedEvent{}, &OfferDeclinedEvent{}, &OfferRevokedEvent{},
		&OfferExpiredEvent{}, &WorkerRegisteredEvent{}, &WorkerUpdatedEvent{}, &WorkerDeregisteredEvent{},
		&WorkerDeletedEvent{}, &JobUpdatedEvent{}, &JobRulesAskedEvent{}, &JobScoresAskedEvent{}, &JobScoredEvent{},
		&JobScheduledEvent{}, &JobCloseArrangedEvent{}, &JobForgottenEvent{},
		&DeclineLapsedEvent{}, &WorkerPutEvent{}, &WorkerDrainedEvent{}, &QueuePutEvent{}, &DistributionPutEvent{},
		&ClassificationPutEvent{}, &ExceptionPutEvent{}, &PoolPutEvent{}, &DeletedEvent{},
	}
}

// EncodeEvent returns the kind and the JSON form of an event for a log, which
// stores both.
func EncodeEvent(e Event) (kind string, data []byte, err error) {
	data, err = json.Marshal(e)
	return e.Kind(), data, err
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

// Decode decodes the result of [EncodeEvent].
func (d *Decoder) Decode(kind string, data []byte) (Event, error) {
	fresh, ok := d.fresh[kind]
	if !ok {
		return nil, fmt.Errorf("there is no kind of event %q", kind)
	}
	e := fresh()
	if err := json.Unmarshal(data, e); err != nil {
		return nil, fmt.Errorf("event of kind %s: %w", kind, err)
	}
	return e, nil
}
