package journal

import (
	"time"

	"weir/router/label"
	"weir/router/resource"
)

// Event is a change of the state. Every change is an event; replaying the events
// in order rebuilds the state. Events that the API defines are announced once
// they are durable; see [Public].
type Event interface {
	Head() *Header
	Kind() string
	// Subject returns the id of the job that the event changes; empty if there is none.
	Subject() string
}

// Header is common to all events.
type Header struct {
	Seq uint64    `json:"seq"` // from 1, without gaps
	At  time.Time `json:"at"`
}

// Head returns the header.
func (h *Header) Head() *Header { return h }

// Subject returns the empty id: most events are about no job.
func (h *Header) Subject() string { return "" }

// JobHead is common to the events of jobs.
type JobHead struct {
	Header
	JobID            string    `json:"jobId"`
	ChannelReference string    `json:"channelReference,omitempty"`
	ChannelID        string    `json:"channelId"`
	QueueID          string    `json:"queueId,omitempty"`
	Labels           label.Set `json:"labels,omitempty"`
	Tags             label.Set `json:"tags,omitempty"`
}

// Subject returns the id of the job.
func (h *JobHead) Subject() string { return h.JobID }

// QueueInfo describes a queue inside an event.
type QueueInfo struct {
	ID     string    `json:"id"`
	Name   string    `json:"name,omitempty"`
	Labels label.Set `json:"labels,omitempty"`
}

// JobReceivedEvent reports that a job was created.
type JobReceivedEvent struct {
	JobHead
	Spec   resource.JobSpec   `json:"spec"`
	Status resource.JobStatus `json:"status"` // created, pendingClassification or pendingSchedule
}

// JobUpdatedEvent reports that a client or the action of an exception rule
// changed a job. Status is the state after the change.
type JobUpdatedEvent struct {
	JobHead
	Spec   resource.JobSpec   `json:"spec"`
	Status resource.JobStatus `json:"status"`
}

// JobRulesRequestedEvent asks the caller for the results of rules that only the
// caller can evaluate. Answer with router.SupplyRules; the round is the event's
// number.
type JobRulesRequestedEvent struct {
	JobHead
	Rules []RequestedRule `json:"rules"`
}

// RequestedRule is a rule to evaluate over the job's labels.
type RequestedRule struct {
	Path string        `json:"path"` // names the rule in its policy and its result in the answer
	Rule resource.Rule `json:"rule"`
}

// JobScoresRequestedEvent asks the caller to score workers for a job. Answer with
// router.SupplyScores; the round is the event's number.
type JobScoresRequestedEvent struct {
	JobHead
	Workers   []string                  `json:"workers"`
	Rule      resource.Rule             `json:"rule"`
	Options   *resource.ScoringOptions  `json:"options,omitempty"`
	Selectors []resource.WorkerSelector `json:"selectors,omitempty"`
}

// JobScoredEvent reports that the scores of a round have arrived. They apply to
// the offers that follow immediately and are not kept.
type JobScoredEvent struct {
	JobHead
}

// JobClassifiedEvent carries the result of a job's classification.
type JobClassifiedEvent struct {
	JobHead
	ClassificationPolicyID string                    `json:"classificationPolicyId"`
	Priority               int                       `json:"priority"`
	Attached               []resource.WorkerSelector `json:"attachedWorkerSelectors,omitempty"`
	Queue                  QueueInfo                 `json:"queueDetails"`
}

// JobClassificationFailedEvent reports that a job could not be classified.
type JobClassificationFailedEvent struct {
	JobHead
	ClassificationPolicyID string    `json:"classificationPolicyId"`
	Errors                 []Failure `json:"errors"`
}

// Failure is the reason why a classification failed.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Target  string `json:"target,omitempty"`
}

// JobQueuedEvent reports that a job joined a queue, for the first time or
// again.
type JobQueuedEvent struct {
	JobHead
	Priority  int                       `json:"priority"`
	Requested []resource.WorkerSelector `json:"requestedWorkerSelectors,omitempty"`
	Attached  []resource.WorkerSelector `json:"attachedWorkerSelectors,omitempty"`
}

// JobScheduledEvent reports that a job's schedule was set.
type JobScheduledEvent struct {
	JobHead
	ScheduledAt time.Time `json:"scheduledOn"`
}

// JobExceptionTriggeredEvent reports that a rule of an exception policy fired.
type JobExceptionTriggeredEvent struct {
	JobHead
	RuleID string `json:"exceptionRuleId"`
}

// JobWorkerSelectorsExpiredEvent reports that selectors have expired and no
// longer restrict matching.
type JobWorkerSelectorsExpiredEvent struct {
	JobHead
	Requested []resource.WorkerSelector `json:"expiredRequestedWorkerSelectors,omitempty"`
	Attached  []resource.WorkerSelector `json:"expiredAttachedWorkerSelectors,omitempty"`
}

// JobUnassignedEvent reports that an assigned job was returned to its queue.
type JobUnassignedEvent struct {
	JobHead
	AssignmentID string `json:"assignmentId"`
	WorkerID     string `json:"workerId"`
	Suspended    bool   `json:"suspended,omitempty"`
}

// JobCompletedEvent reports that a worker completed a job; wrap-up follows.
type JobCompletedEvent struct {
	JobHead
	AssignmentID string `json:"assignmentId"`
	WorkerID     string `json:"workerId"`
	Note         string `json:"note,omitempty"`
}

// JobCloseArrangedEvent reports that a job will be closed at an instant.
type JobCloseArrangedEvent struct {
	JobHead
	AssignmentID    string    `json:"assignmentId"`
	WorkerID        string    `json:"workerId"`
	DispositionCode string    `json:"dispositionCode,omitempty"`
	CloseAt         time.Time `json:"closeAt"`
	Note            string    `json:"note,omitempty"`
}

// JobClosedEvent reports that a job is finished and its worker free.
type JobClosedEvent struct {
	JobHead
	AssignmentID    string `json:"assignmentId"`
	WorkerID        string `json:"workerId"`
	DispositionCode string `json:"dispositionCode,omitempty"`
	Note            string `json:"note,omitempty"`
}

// JobCancelledEvent reports that a job was canceled.
type JobCancelledEvent struct {
	JobHead
	Note            string `json:"note,omitempty"`
	DispositionCode string `json:"dispositionCode"`
}

// JobWaitingForActivationEvent reports that a job's scheduled time has come.
type JobWaitingForActivationEvent struct {
	JobHead
	Priority    int                       `json:"priority"`
	Requested   []resource.WorkerSelector `json:"requestedWorkerSelectors,omitempty"`
	Attached    []resource.WorkerSelector `json:"attachedWorkerSelectors,omitempty"`
	ScheduledAt time.Time                 `json:"scheduledOn"`
}

// JobSchedulingFailedEvent reports that a job expired before its schedule.
type JobSchedulingFailedEvent struct {
	JobHead
	Priority      int                       `json:"priority"`
	Requested     []resource.WorkerSelector `json:"requestedWorkerSelectors,omitempty"`
	Attached      []resource.WorkerSelector `json:"attachedWorkerSelectors,omitempty"`
	ScheduledAt   time.Time                 `json:"scheduledOn"`
	FailureReason string                    `json:"failureReason"`
}

// JobDeletedEvent reports that a client deleted a job.
type JobDeletedEvent struct{ JobHead }

// JobForgottenEvent reports that a finished job was dropped because of its age.
type JobForgottenEvent struct {
	Header
	JobID string `json:"jobId"`
}

// DeclineLapsedEvent reports that a time-limited decline has ended: the worker
// may be offered the job again.
type DeclineLapsedEvent struct {
	Header
	JobID    string `json:"jobId"`
	WorkerID string `json:"workerId"`
}

// Subject returns the id of the job.
func (e *JobForgottenEvent) Subject() string { return e.JobID }

// Subject returns the id of the job.
func (e *DeclineLapsedEvent) Subject() string { return e.JobID }
