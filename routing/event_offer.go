package routing

import "time"

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

func (h *OfferHead) about() string { return h.JobID }

// OfferData is what the events of a new offer and of an accepted one tell.
type OfferData struct {
	JobPriority  int    `json:"jobPriority"`
	JobLabels    Labels `json:"jobLabels,omitempty"`
	JobTags      Labels `json:"jobTags,omitempty"`
	WorkerLabels Labels `json:"workerLabels,omitempty"`
	WorkerTags   Labels `json:"workerTags,omitempty"`
}

// OfferIssuedEvent says that a job was offered to a worker.
type OfferIssuedEvent struct {
	OfferHead
	OfferData
	Cost      int       `json:"capacityCost"`
	ExpiresAt time.Time `json:"expiresOn"`
}

// OfferAcceptedEvent says that a worker took a job.
type OfferAcceptedEvent struct {
	OfferHead
	OfferData
	AssignmentID string `json:"assignmentId"`
}

// OfferDeclinedEvent says that a worker does not want a job, until RetryAt if
// that is set.
type OfferDeclinedEvent struct {
	OfferHead
	RetryAt time.Time `json:"retryOfferAt,omitzero"`
}

// OfferRevokedEvent says that an offer was taken back.
type OfferRevokedEvent struct {
	OfferHead
	Taken bool `json:"taken,omitempty"` // another worker accepted the job
}

// OfferExpiredEvent says that a worker did not answer in time.
type OfferExpiredEvent struct{ OfferHead }

// WorkerInfo is what the events of workers tell.
type WorkerInfo struct {
	TotalCapacity int         `json:"totalCapacity"`
	Queues        []QueueInfo `json:"queueAssignments"`
	Channels      []Channel   `json:"channelConfigurations"`
	Labels        Labels      `json:"labels,omitempty"`
	Tags          Labels      `json:"tags,omitempty"`
}

// WorkerPutEvent carries what a client states about a worker. A registration,
// deregistration or update that follows from it is an event of its own.
type WorkerPutEvent struct {
	Header
	WorkerID string     `json:"workerId"`
	Spec     WorkerSpec `json:"spec"`
}

// WorkerRegisteredEvent says that a worker became active.
type WorkerRegisteredEvent struct {
	Header
	WorkerID string `json:"workerId"`
	WorkerInfo
}

// WorkerUpdatedEvent says what else changed about a worker.
type WorkerUpdatedEvent struct {
	Header
	WorkerID string `json:"workerId"`
	WorkerInfo
	Updated []string `json:"updatedWorkerProperties"`
}

// WorkerDeregisteredEvent says that a worker is not active any more.
type WorkerDeregisteredEvent struct {
	Header
	WorkerID string `json:"workerId"`
}

// WorkerDrainedEvent says that a draining worker's last job was closed.
type WorkerDrainedEvent struct {
	Header
	WorkerID string `json:"workerId"`
}

// WorkerDeletedEvent says that a worker was deleted.
type WorkerDeletedEvent struct {
	Header
	WorkerID string `json:"workerId"`
	WorkerInfo
}

// QueuePutEvent carries a queue.
type QueuePutEvent struct {
	Header
	ID   string    `json:"id"`
	Spec QueueSpec `json:"spec"`
}

// DistributionPutEvent carries a distribution policy.
type DistributionPutEvent struct {
	Header
	ID   string           `json:"id"`
	Spec DistributionSpec `json:"spec"`
}

// ClassificationPutEvent carries a classification policy.
type ClassificationPutEvent struct {
	Header
	ID   string             `json:"id"`
	Spec ClassificationSpec `json:"spec"`
}

// ExceptionPutEvent carries an exception policy.
type ExceptionPutEvent struct {
	Header
	ID   string        `json:"id"`
	Spec ExceptionSpec `json:"spec"`
}

// PoolPutEvent carries a pool.
type PoolPutEvent struct {
	Header
	ID   string   `json:"id"`
	Spec PoolSpec `json:"spec"`
}

// Resource names a kind of resource.
type Resource string

// The kinds of resources.
const (
	ResourceWorker         Resource = "worker"
	ResourceJob            Resource = "job"
	ResourceQueue          Resource = "queue"
	ResourceDistribution   Resource = "distribution policy"
	ResourceClassification Resource = "classification policy"
	ResourceException      Resource = "exception policy"
	ResourcePool           Resource = "pool"
)

// DeletedEvent says that a queue, a policy or a pool was deleted.
type DeletedEvent struct {
	Header
	Resource Resource `json:"resource"`
	ID       string   `json:"id"`
}
