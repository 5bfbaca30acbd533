package routing

import (
	"time"

	"weir"
)

// If is a condition on a resource. The zero If always holds.
type If struct {
	Any             bool      // it exists (If-Match: *)
	Version         Version   // its version is this one; 0 is no condition
	Unmatchable     bool      // the tag is none of ours, so nothing matches
	UnmodifiedSince time.Time // it has not changed after this second
}

// check compares with the stamp of what exists; nil when nothing does.
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

// PutWorker creates a worker or replaces what a client stated about it.
type PutWorker struct {
	ID   string
	Spec WorkerSpec
	If   If
}

// DeleteWorker deletes a worker that has no jobs.
type DeleteWorker struct{ ID string }

// SetAvailable registers or deregisters many workers at once: those named, or
// all. Workers that are so already do not change, nor do, when registering,
// those that still have a job, unless they are named.
type SetAvailable struct {
	Available bool
	Workers   []string
}

// RemoveLabel takes a label away from every worker.
type RemoveLabel struct{ Key string }

// PutJob creates a job or replaces what a client stated about it. With NoWait
// a new job that finds no worker at once is cancelled.
type PutJob struct {
	ID     string
	Spec   JobSpec
	If     If
	NoWait bool
}

// CancelJob ends a job.
type CancelJob struct{ ID, Note, DispositionCode string }

// ReclassifyJob classifies a job anew.
type ReclassifyJob struct{ ID string }

// DeleteJob deletes a job that is over.
type DeleteJob struct{ ID string }

// CompleteJob says that a worker is done with a job and wraps it up.
type CompleteJob struct{ JobID, AssignmentID, Note string }

// CloseJob ends a completed job, at CloseAt if that is set.
type CloseJob struct {
	JobID, AssignmentID, DispositionCode, Note string

	CloseAt time.Time
}

// UnassignJob gives a job back to its queue.
type UnassignJob struct {
	JobID, AssignmentID string
	SuspendMatching     bool
}

// AcceptOffer makes an offer an assignment. Accepting it again changes nothing.
type AcceptOffer struct{ WorkerID, OfferID string }

// DeclineOffer refuses an offer, until RetryOfferAt if that is set.
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

// SupplyRules answers a [JobRulesAskedEvent]. Results are by path. A failure
// fails the classification. An answer to another round is a conflict.
type SupplyRules struct {
	JobID   string
	Round   uint64
	Results map[string]Result
	Failure *Failure
}

// Result is what a rule yielded: a value, or for a rule of selectors those.
// Selectors may also come as a JSON array in a text.
type Result struct {
	Value   Value            `json:"value,omitzero"`
	Queues  []QueueSelector  `json:"queueSelectors,omitempty"`
	Workers []WorkerSelector `json:"workerSelectors,omitempty"`
}

// SupplyScores answers a [JobScoresAskedEvent]. A worker without a score has 0.
type SupplyScores struct {
	JobID  string
	Round  uint64
	Scores map[string]float64
}
