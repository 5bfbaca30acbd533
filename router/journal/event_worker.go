package journal

import (
	"time"

	"weir/router/label"
	"weir/router/resource"
)

// OfferHead is common to the events of offers.
type OfferHead struct {
	Header
	WorkerID         string `json:"workerId"`
	JobID            string `json:"jobId"`
	ChannelReference string `json:"channelReference,omitempty"`
	ChannelID        string `json:"channelId"`
	QueueID          string `json:"queueId"`
	OfferID          string `json:"offerId"`
}

// Subject returns the id of the job.
func (h *OfferHead) Subject() string { return h.JobID }

// OfferData is common to the events of a new offer and of an accepted one.
type OfferData struct {
	JobPriority  int       `json:"jobPriority"`
	JobLabels    label.Set `json:"jobLabels,omitempty"`
	JobTags      label.Set `json:"jobTags,omitempty"`
	WorkerLabels label.Set `json:"workerLabels,omitempty"`
	WorkerTags   label.Set `json:"workerTags,omitempty"`
}

// OfferIssuedEvent reports that a job was offered to a worker.
type OfferIssuedEvent struct {
	OfferHead
	OfferData
	Cost      int       `json:"capacityCost"`
	ExpiresAt time.Time `json:"expiresOn"`
}

// OfferAcceptedEvent reports that a worker accepted a job.
type OfferAcceptedEvent struct {
	OfferHead
	OfferData
	AssignmentID string `json:"assignmentId"`
}

// OfferDeclinedEvent reports that a worker declined a job, until RetryAt if
// that is set.
type OfferDeclinedEvent struct {
	OfferHead
	RetryAt time.Time `json:"retryOfferAt,omitzero"`
}

// OfferRevokedEvent reports that an offer was revoked.
type OfferRevokedEvent struct {
	OfferHead
	Taken bool `json:"taken,omitempty"` // another worker accepted the job
}

// OfferExpiredEvent reports that a worker did not answer in time.
type OfferExpiredEvent struct{ OfferHead }

// WorkerInfo is common to the events of workers.
type WorkerInfo struct {
	TotalCapacity int                `json:"totalCapacity"`
	Queues        []QueueInfo        `json:"queueAssignments"`
	Channels      []resource.Channel `json:"channelConfigurations"`
	Labels        label.Set          `json:"labels,omitempty"`
	Tags          label.Set          `json:"tags,omitempty"`
}

// WorkerPutEvent carries the specification that a client stated for a worker. A
// registration, deregistration or update that follows from it is a separate
// event.
type WorkerPutEvent struct {
	Header
	WorkerID string              `json:"workerId"`
	Spec     resource.WorkerSpec `json:"spec"`
}

// WorkerRegisteredEvent reports that a worker became active.
type WorkerRegisteredEvent struct {
	Header
	WorkerID string `json:"workerId"`
	WorkerInfo
}

// WorkerUpdatedEvent reports the other changes of a worker.
type WorkerUpdatedEvent struct {
	Header
	WorkerID string `json:"workerId"`
	WorkerInfo
	Updated []string `json:"updatedWorkerProperties"`
}

// WorkerDeregisteredEvent reports that a worker is no longer active.
type WorkerDeregisteredEvent struct {
	Header
	WorkerID string `json:"workerId"`
}

// WorkerDrainedEvent reports that a draining worker's last job was closed.
type WorkerDrainedEvent struct {
	Header
	WorkerID string `json:"workerId"`
}

// WorkerDeletedEvent reports that a worker was deleted.
type WorkerDeletedEvent struct {
	Header
	WorkerID string `json:"workerId"`
	WorkerInfo
}

// Put carries the specification of a queue, a policy or a pool.
type Put[T any, P resource.SpecOf[T]] struct {
	Header
	ID   string `json:"id"`
	Spec T      `json:"spec"`
}

// The events that carry a specification.
type (
	QueuePutEvent          = Put[resource.QueueSpec, *resource.QueueSpec]
	DistributionPutEvent   = Put[resource.DistributionSpec, *resource.DistributionSpec]
	ClassificationPutEvent = Put[resource.ClassificationSpec, *resource.ClassificationSpec]
	ExceptionPutEvent      = Put[resource.ExceptionSpec, *resource.ExceptionSpec]
	PoolPutEvent           = Put[resource.PoolSpec, *resource.PoolSpec]
)

// Resource returns what the event stores.
func (e *Put[T, P]) Resource() (id string, spec resource.Spec) { return e.ID, P(&e.Spec) }

// DeletedEvent reports that a queue, a policy or a pool was deleted.
type DeletedEvent struct {
	Header
	Resource resource.Kind `json:"resource"`
	ID       string        `json:"id"`
}
