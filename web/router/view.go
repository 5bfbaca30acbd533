package router

import (
	"cmp"
	"time"

	"weir/router"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// instant is a time in the API's format: seven fractional digits and an offset.
type instant time.Time

const instantForm = `"2006-01-02T15:04:05.0000000-07:00"`

// MarshalJSON implements json.Marshaler.
func (t instant) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(make([]byte, 0, len(instantForm)), instantForm), nil
}

// IsZero is used by encoding/json for omitzero.
func (t instant) IsZero() bool { return time.Time(t).IsZero() }

// viewLabels returns labels, never null: clients iterate over them.
func viewLabels(l label.Set) label.Set {
	if l == nil {
		return label.Set{}
	}
	return l // the engine never modifies labels that it has returned
}

// viewEach returns the views of a list, never null.
func viewEach[T, V any](list []T, view func(*T) V) []V {
	out := make([]V, len(list))
	for i := range list {
		out[i] = view(&list[i])
	}
	return out
}

// statedSelectorView is a selector in a policy. It is not attached to a job, so it
// has no status and no expiry time.
type statedSelectorView struct {
	Key                 string      `json:"key"`
	LabelOperator       string      `json:"labelOperator"`
	Value               label.Value `json:"value,omitzero"`
	ExpiresAfterSeconds float64     `json:"expiresAfterSeconds,omitzero"`
	Expedite            bool        `json:"expedite"`
}

func viewStated(s *resource.WorkerSelector) statedSelectorView {
	return statedSelectorView{s.Key, string(s.Operator), s.Value, s.ExpiresAfterSeconds, s.Expedite}
}

type selectorView struct {
	statedSelectorView
	Status    string  `json:"status"`
	ExpiresAt instant `json:"expiresAt,omitzero"`
}

// viewSelectors returns the selectors of a job with their status. A selector without
// one is active.
func viewSelectors(list []resource.WorkerSelector) []selectorView {
	return viewEach(list, func(s *resource.WorkerSelector) selectorView {
		return selectorView{viewStated(s), string(cmp.Or(s.Status, resource.SelectorActive)), instant(s.ExpiresAt)}
	})
}

type offerView struct {
	OfferID      string  `json:"offerId"`
	JobID        string  `json:"jobId"`
	CapacityCost int     `json:"capacityCost"`
	OfferedAt    instant `json:"offeredAt"`
	ExpiresAt    instant `json:"expiresAt"`
}

type assignedView struct {
	AssignmentID string  `json:"assignmentId"`
	JobID        string  `json:"jobId"`
	CapacityCost int     `json:"capacityCost"`
	AssignedAt   instant `json:"assignedAt"`
}

type workerView struct {
	Etag                string             `json:"etag"`
	ID                  string             `json:"id"`
	State               string             `json:"state"`
	Queues              []string           `json:"queues"`
	Capacity            int                `json:"capacity"`
	Labels              label.Set          `json:"labels"`
	Tags                label.Set          `json:"tags"`
	Channels            []resource.Channel `json:"channels"`
	Offers              []offerView        `json:"offers"`
	AssignedJobs        []assignedView     `json:"assignedJobs"`
	LoadRatio           float64            `json:"loadRatio"`
	AvailableForOffers  bool               `json:"availableForOffers"`
	MaxConcurrentOffers int                `json:"maxConcurrentOffers,omitzero"`
}

// viewWorker returns a worker in the form of an api-version: the older one lacks
// maxConcurrentOffers.
func viewWorker(w *router.Worker, v version) workerView {
	out := workerView{
		Etag: etag(w.Version), ID: w.ID, State: string(w.State), Queues: append([]string{}, w.Queues...), Capacity: w.Capacity,
		Labels: viewLabels(w.Labels), Tags: viewLabels(w.Tags), Channels: append([]resource.Channel{}, w.Channels...),
		Offers: viewEach(w.Offers, func(o *router.Offer) offerView {
			return offerView{o.OfferID, o.JobID, o.CapacityCost, instant(o.OfferedAt), instant(o.ExpiresAt)}
		}),
		AssignedJobs: viewEach(w.AssignedJobs, func(a *router.AssignedJob) assignedView {
			return assignedView{a.AssignmentID, a.JobID, a.CapacityCost, instant(a.AssignedAt)}
		}),
		LoadRatio: w.LoadRatio, AvailableForOffers: w.AvailableForOffers,
	}
	if v != version2023 {
		out.MaxConcurrentOffers = w.MaxConcurrentOffers
	}
	return out
}

type assignmentView struct {
	AssignmentID string  `json:"assignmentId"`
	WorkerID     string  `json:"workerId"`
	AssignedAt   instant `json:"assignedAt"`
	CompletedAt  instant `json:"completedAt,omitzero"`
	ClosedAt     instant `json:"closedAt,omitzero"`
}

type noteView struct {
	Message string  `json:"message"`
	AddedAt instant `json:"addedAt"`
}

type matchingView struct {
	Kind       string  `json:"kind"`
	ScheduleAt instant `json:"scheduleAt,omitzero"`
}

type jobView struct {
	Etag                     string                    `json:"etag"`
	ID                       string                    `json:"id"`
	ChannelReference         string                    `json:"channelReference,omitzero"`
	Status                   string                    `json:"status"`
	EnqueuedAt               instant                   `json:"enqueuedAt,omitzero"`
	ChannelID                string                    `json:"channelId"`
	ClassificationPolicyID   string                    `json:"classificationPolicyId,omitzero"`
	QueueID                  string                    `json:"queueId,omitzero"`
	Priority                 int                       `json:"priority"`
	DispositionCode          string                    `json:"dispositionCode,omitzero"`
	RequestedWorkerSelectors []selectorView            `json:"requestedWorkerSelectors"`
	AttachedWorkerSelectors  []selectorView            `json:"attachedWorkerSelectors"`
	Labels                   label.Set                 `json:"labels"`
	Assignments              map[string]assignmentView `json:"assignments"`
	Tags                     label.Set                 `json:"tags"`
	Notes                    []noteView                `json:"notes"`
	ScheduledAt              instant                   `json:"scheduledAt,omitzero"`
	MatchingMode             matchingView              `json:"matchingMode"`
	NotAfter                 instant                   `json:"notAfter,omitzero"` // extension of Weir
}

func viewJob(j *router.Job) jobView {
	out := jobView{
		Etag: etag(j.Version), ID: j.ID, ChannelReference: j.ChannelReference, Status: string(j.Status), EnqueuedAt: instant(j.EnqueuedAt),
		ChannelID: j.ChannelID, ClassificationPolicyID: j.ClassificationPolicyID, QueueID: j.QueueID, Priority: *j.Priority,
		DispositionCode: j.DispositionCode, RequestedWorkerSelectors: viewSelectors(j.RequestedWorkerSelectors),
		AttachedWorkerSelectors: viewSelectors(j.AttachedWorkerSelectors), Labels: viewLabels(j.Labels), Tags: viewLabels(j.Tags),
		Assignments:  make(map[string]assignmentView, len(j.Assignments)),
		Notes:        viewEach(j.Notes, func(n *resource.Note) noteView { return noteView{n.Message, instant(n.AddedAt)} }),
		ScheduledAt:  instant(j.ScheduledAt),
		MatchingMode: matchingView{string(j.MatchingMode.Kind), instant(j.MatchingMode.ScheduleAt)},
		NotAfter:     instant(j.NotAfter),
	}
	for id, a := range j.Assignments {
		out.Assignments[id] = assignmentView{a.AssignmentID, a.WorkerID, instant(a.AssignedAt), instant(a.CompletedAt), instant(a.ClosedAt)}
	}
	return out
}

// asCreated returns the view that clients expect from the PATCH that creates a job:
// only created, or about to be classified or scheduled, although the engine has
// already done all of that.
func (v jobView) asCreated(e *journal.JobReceivedEvent) jobView {
	v.Status, v.QueueID = string(e.Status), e.Spec.QueueID
	v.EnqueuedAt, v.ScheduledAt = instant{}, instant{}
	v.AttachedWorkerSelectors, v.Assignments = []selectorView{}, map[string]assignmentView{}
	v.Priority = 1
	if e.Spec.Priority != nil {
		v.Priority = *e.Spec.Priority
	}
	return v
}

type acceptedView struct {
	AssignmentID string `json:"assignmentId"`
	JobID        string `json:"jobId"`
	WorkerID     string `json:"workerId"`
}

type unassignedView struct {
	JobID             string `json:"jobId"`
	UnassignmentCount int    `json:"unassignmentCount"`
}
