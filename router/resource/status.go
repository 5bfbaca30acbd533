package resource

// WorkerState is the state of a worker.
type WorkerState string

// The states of a worker.
const (
	WorkerActive   WorkerState = "active"
	WorkerDraining WorkerState = "draining"
	WorkerInactive WorkerState = "inactive"
)

// JobStatus is the state of a job.
type JobStatus string

// The states of a job.
const (
	JobCreated               JobStatus = "created"
	JobPendingClassification JobStatus = "pendingClassification"
	JobPendingSchedule       JobStatus = "pendingSchedule"
	JobScheduled             JobStatus = "scheduled"
	JobScheduleFailed        JobStatus = "scheduleFailed"
	JobWaitingForActivation  JobStatus = "waitingForActivation"
	JobQueued                JobStatus = "queued"
	JobAssigned              JobStatus = "assigned"
	JobCompleted             JobStatus = "completed"
	JobClosed                JobStatus = "closed"
	JobCancelled             JobStatus = "cancelled"
	JobClassificationFailed  JobStatus = "classificationFailed"
)

// Finished reports whether the job is finished for good.
func (s JobStatus) Finished() bool {
	return s == JobClosed || s == JobCancelled || s == JobScheduleFailed
}

// Active reports whether the API counts the job as active.
func (s JobStatus) Active() bool { return s != JobClosed && s != JobCancelled }

// HasSchedule reports whether the job waits for something other than a worker.
func (s JobStatus) HasSchedule() bool {
	return s == JobPendingSchedule || s == JobScheduled || s == JobWaitingForActivation
}

// Kind names a kind of resource.
type Kind string

// The kinds of resources.
const (
	Worker         Kind = "worker"
	Job            Kind = "job"
	Queue          Kind = "queue"
	Distribution   Kind = "distribution policy"
	Classification Kind = "classification policy"
	Exception      Kind = "exception policy"
	Pool           Kind = "pool"
)

// Spec is what clients state about a queue, a policy or a pool: the kinds of resources
// that are no more than that.
type Spec interface {
	Kind() Kind
	// Validate checks the specification and fills in its defaults.
	Validate(id string, known Known) error
}

// SpecOf is the constraint of generic code about such resources.
type SpecOf[T any] interface {
	*T
	Spec
}

// Kind implements [Spec].
func (*QueueSpec) Kind() Kind { return Queue }

// Kind implements [Spec].
func (*DistributionSpec) Kind() Kind { return Distribution }

// Kind implements [Spec].
func (*ClassificationSpec) Kind() Kind { return Classification }

// Kind implements [Spec].
func (*ExceptionSpec) Kind() Kind { return Exception }

// Kind implements [Spec].
func (*PoolSpec) Kind() Kind { return Pool }
