package routing

import (
	"time"

	"weir"
)

// If is a condition on a resource. The zero If always holds.
type If struct {
	Any             bool      // the resource exists (If-Match: *)
	Version         Version   // it has this version; 0 is no condition
	Unmatchable     bool      // the tag is not one of Weir's, so nothing matches
	UnmodifiedSince time.Time // it has not changed after this second
}

// check evaluates the condition against the stamp of an existing resource; st
// is nil if there is none.
func (c If) check(st *stamp) error {
	wants := c.Any || c.Version != 0 || c.Unmatchable || !c.UnmodifiedSince.IsZero()
	switch {
	case !wants:
		return nil
	case st == nil, c.Unmatchable, c.Version != 0 && c.Version != st.Version:
	case !c.UnmodifiedSince.IsZero() && st.ChangedAt.Truncate(time.Second).After(c.UnmodifiedSince):
	default:
		return nil
	}
	return weir.Errorf(weir.CodePrecondition, "it has changed")
}

// PutWorker creates a worker or replaces the members that a client stated.
type PutWorker struct {
	ID   string
	Spec WorkerSpec
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

// RemoveLabel removes a label from every worker.
type RemoveLabel struct{ Key string }

// PutJob creates a job or replaces the members that a client stated. With
// NoWait a new job that finds no worker at once is canceled.
type PutJob struct {
	ID     string
	Spec   JobSpec
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

// PutQueue creates or replaces a queue.
type PutQueue struct {
	ID   string
	Spec QueueSpec
	If   If
}

// PutDistribution creates or replaces a distribution policy.
type PutDistribution struct {
	ID   string
	Spec DistributionSpec
	If   If
}

// PutClassification creates or replaces a classification policy.
type PutClassification struct {
	ID   string
	Spec ClassificationSpec
	If   If
}

// PutException creates or replaces an exception policy.
type PutException struct {
	ID   string
	Spec ExceptionSpec
	If   If
}

// PutPool creates or replaces a pool.
type PutPool struct {
	ID   string
	Spec PoolSpec
	If   If
}

// Delete deletes a queue, a policy or a pool that nothing uses.
type Delete struct {
	Resource Resource
	ID       string
}

// SupplyRules answers a [JobRulesAskedEvent]. Results are keyed by path. A
// Failure fails the classification. An answer for another round is a conflict.
type SupplyRules struct {
	JobID   string
	Round   uint64
	Results map[string]Result
	Failure *Failure
}

// Result is the result of a rule: a value or, for rules that yield selectors,
// the selectors. Selectors may also be a JSON array in a text value.
type Result struct {
	Value   Value            `json:"value,omitzero"`
	Queues  []QueueSelector  `json:"queueSelectors,omitempty"`
	Workers []WorkerSelector `json:"workerSelectors,omitempty"`
}

// SupplyScores answers a [JobScoresAskedEvent]. A worker without a score has
// score 0.
type SupplyScores struct {
	JobID  string
	Round  uint64
	Scores map[string]float64
}
