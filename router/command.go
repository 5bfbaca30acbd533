package router

import (
	"time"

	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"

	"weir"
)

// If is a condition on a resource. The zero If always holds.
type If struct {
	Version         Version   // it has this version; 0 is no condition
	Unmatchable     bool      // the tag is not one of Weir's, so nothing matches
	UnmodifiedSince time.Time // it has not changed after this second
}

// check evaluates the condition on the version and the last change of a resource;
// version 0 means that it does not exist.
func (c If) check(version Version, changedAt time.Time) error {
	switch {
	case c.Version == 0 && !c.Unmatchable && c.UnmodifiedSince.IsZero():
		return nil
	case version == 0, c.Unmatchable, c.Version != 0 && c.Version != version:
	case !c.UnmodifiedSince.IsZero() && changedAt.Truncate(time.Second).After(c.UnmodifiedSince):
	default:
		return nil
	}
	return weir.Errorf(weir.CodePrecondition, "the resource has changed")
}

// Put creates a queue, a policy or a pool, or replaces the members that a client stated.
type Put[T any, P resource.SpecOf[T]] struct {
	ID   string
	Spec T
	If   If
}

// The commands that put a resource.
type (
	PutQueue          = Put[resource.QueueSpec, *resource.QueueSpec]
	PutDistribution   = Put[resource.DistributionSpec, *resource.DistributionSpec]
	PutClassification = Put[resource.ClassificationSpec, *resource.ClassificationSpec]
	PutException      = Put[resource.ExceptionSpec, *resource.ExceptionSpec]
	PutPool           = Put[resource.PoolSpec, *resource.PoolSpec]
)

// PutWorker creates or replaces a worker.
type PutWorker struct {
	ID   string
	Spec resource.WorkerSpec
	If   If
}

// DeleteWorker deletes a worker that has no jobs.
type DeleteWorker struct{ ID string }

// SetAvailable registers or deregisters many workers at once: the named ones,
// or all. Workers that already are in that state do not change. When
// registering all, workers that still have a job do not change either.
type SetAvailable struct {
	Available bool
	Workers   []string
}

// PutJob creates a job or replaces the members that a client stated. With
// NoWait a new job that finds no worker at once is canceled.
type PutJob struct {
	ID     string
	Spec   resource.JobSpec
	If     If
	NoWait bool
}

// CancelJob cancels a job.
type CancelJob struct{ ID, Note, DispositionCode string }

// ReclassifyJob classifies a job again.
type ReclassifyJob struct{ ID string }

// DeleteJob deletes a finished job.
type DeleteJob struct{ ID string }

// CompleteJob marks a job as completed; its worker still holds it for wrap-up.
type CompleteJob struct{ JobID, AssignmentID, Note string }

// CloseJob closes a completed job, at CloseAt if that is set.
type CloseJob struct {
	JobID, AssignmentID, DispositionCode, Note string

	CloseAt time.Time
}

// UnassignJob returns a job to its queue.
type UnassignJob struct {
	JobID, AssignmentID string
	SuspendMatching     bool
}

// AcceptOffer turns an offer into an assignment. Accepting it again changes
// nothing.
type AcceptOffer struct{ WorkerID, OfferID string }

// DeclineOffer declines an offer, until RetryOfferAt if that is set.
type DeclineOffer struct {
	WorkerID, OfferID string
	RetryOfferAt      time.Time
}

// Delete deletes a queue, a policy or a pool that nothing uses.
type Delete struct {
	Resource resource.Kind
	ID       string
}

// SupplyRules answers a [journal.JobRulesRequestedEvent]. Results are keyed by path. A
// Failure fails the classification. An answer for another round is a conflict.
type SupplyRules struct {
	JobID   string
	Round   uint64
	Results map[string]Result
	Failure *journal.Failure
}

// Result is the result of a rule: a value or, for rules that yield selectors,
// the selectors. Selectors may also be a JSON array in a text value.
type Result struct {
	Value   label.Value               `json:"value,omitzero"`
	Queues  []resource.QueueSelector  `json:"queueSelectors,omitempty"`
	Workers []resource.WorkerSelector `json:"workerSelectors,omitempty"`
}

// SupplyScores answers a [journal.JobScoresRequestedEvent]. A worker without a score has
// score 0.
type SupplyScores struct {
	JobID  string
	Round  uint64
	Scores map[string]float64
}

// Details of refusals, in the Code of a [weir.FieldError]. The first three are
// names that clients of the API know.
const (
	QueueUsesDistribution   = "QueueExistsWithDistributionPolicy"
	QueueUsesException      = "QueueExistsWithExceptionPolicy"
	JobUsesClassification   = "ActiveJobWithClassificationPolicyExist"
	JobInQueue              = "ActiveJobWithQueue"
	WorkerOnQueue           = "WorkerAssignedToQueue"
	ClassificationFallsBack = "ClassificationPolicyWithFallbackQueue"
	OfferTaken              = "OfferTaken" // another worker accepted the job
)

func notFound(kind, id string) error {
	return weir.Errorf(weir.CodeNotFound, "there is no %s %q", kind, id)
}

func conflict(format string, args ...any) error {
	return weir.Errorf(weir.CodeConflict, format, args...)
}

// decisions turn requests and due times into events. They only look at the entities, and every
// change is an event that they emit; it is applied when emit returns, so that the next step sees it.
type decisions struct {
	view *entities
	emit func(journal.Event)

	noWaitJob *job           // a new job with NoWait
	supplied  suppliedScores // by the running command
}

// Command is a request by a client or the shell to change the state.
type Command interface {
	// decide checks everything before it emits any event, so that a refused
	// command changes nothing.
	decide(ds *decisions) error
}
