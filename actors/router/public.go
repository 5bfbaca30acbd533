package router

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"weir/events"
	"weir/internal/plainjson"
	"weir/router/journal"
	"weir/router/label"
	"weir/router/resource"
)

// source is the source of the router's events.
const source = "router"

// Announce returns the API event for an event of the engine. Members that are
// published under two names appear under both.
// Microsoft's pages and its Event Grid schema differ in these names (offerTimeUtc, offeredOn),
// and clients were written for either.
func Announce(e journal.Event) (events.Event, error) {
	o := newObject()
	subject, ok := tellJob(&o, e)
	if !ok {
		return events.Event{}, fmt.Errorf("no public form of event kind %s", e.Kind())
	}
	return events.Event{Type: "Microsoft.Communication." + e.Kind(), Source: source, Subject: subject, At: e.Head().At, Data: o.end()}, nil
}

func tellJob(o *object, e journal.Event) (subject string, ok bool) {
	switch e := e.(type) {
	case *journal.JobReceivedEvent:
		subject = o.job(&e.JobHead, "", "")
		o.received(e)
	case *journal.JobClassifiedEvent:
		subject = o.job(&e.JobHead, "/queue/", e.QueueID)
		o.text("classificationPolicyId", e.ClassificationPolicyID)
		o.integer("priority", e.Priority)
		o.selectors("attachedWorkerSelectors", e.Attached)
		o.queue("queueInfo", &e.Queue)
		o.queue("queueDetails", &e.Queue)
	case *journal.JobClassificationFailedEvent:
		subject = o.job(&e.JobHead, "/classificationpolicy/", e.ClassificationPolicyID)
		o.text("classificationPolicyId", e.ClassificationPolicyID)
		o.failures(e.Errors)
	case *journal.JobQueuedEvent:
		subject = o.job(&e.JobHead, "/queue/", e.QueueID)
		o.wants(e.Priority, e.Requested, e.Attached)
	case *journal.JobExceptionTriggeredEvent:
		subject = o.job(&e.JobHead, "/exceptionrule/", e.RuleID)
		o.text("ruleKey", e.RuleID)
		o.text("exceptionRuleId", e.RuleID)
	case *journal.JobWorkerSelectorsExpiredEvent:
		subject = o.job(&e.JobHead, "/queue/", e.QueueID)
		o.selectors("requestedWorkerSelectorsExpired", e.Requested)
		o.selectors("expiredRequestedWorkerSelectors", e.Requested)
		o.selectors("attachedWorkerSelectorsExpired", e.Attached)
		o.selectors("expiredAttachedWorkerSelectors", e.Attached)
	case *journal.JobWaitingForActivationEvent:
		subject = o.job(&e.JobHead, "", "")
		o.wants(e.Priority, e.Requested, e.Attached)
		o.scheduled(e.ScheduledAt)
		o.truth("unavailableForMatching", true)
	case *journal.JobSchedulingFailedEvent:
		subject = o.job(&e.JobHead, "", "")
		o.wants(e.Priority, e.Requested, e.Attached)
		o.scheduled(e.ScheduledAt)
		o.text("failureReason", e.FailureReason)
	case *journal.JobDeletedEvent:
		subject = o.job(&e.JobHead, "", "")
	default:
		return tellEnd(o, e)
	}
	return subject, true
}

// tellEnd writes the events of jobs that leave their worker or end.
func tellEnd(o *object, e journal.Event) (subject string, ok bool) {
	switch e := e.(type) {
	case *journal.JobUnassignedEvent:
		subject = o.job(&e.JobHead, "/assignment/", e.AssignmentID)
		o.assignment(e.AssignmentID, e.WorkerID)
	case *journal.JobCompletedEvent:
		subject = o.job(&e.JobHead, "/assignment/", e.AssignmentID)
		o.assignment(e.AssignmentID, e.WorkerID)
	case *journal.JobClosedEvent:
		subject = o.job(&e.JobHead, "/assignment/", e.AssignmentID)
		o.assignment(e.AssignmentID, e.WorkerID)
		o.optional("dispositionCode", e.DispositionCode)
	case *journal.JobCancelledEvent:
		subject = o.job(&e.JobHead, "/disposition/", e.DispositionCode)
		o.optional("note", e.Note)
		o.text("dispositionCode", e.DispositionCode)
	default:
		return tellOffer(o, e)
	}
	return subject, true
}

func tellOffer(o *object, e journal.Event) (subject string, ok bool) {
	switch e := e.(type) {
	case *journal.OfferIssuedEvent:
		subject = o.offer(&e.OfferHead)
		o.instant("offerTimeUtc", "offeredOn", e.At)
		o.instant("expiryTimeUtc", "expiresOn", e.ExpiresAt)
		o.pair(&e.OfferData)
	case *journal.OfferAcceptedEvent:
		subject = o.offer(&e.OfferHead)
		o.text("assignmentId", e.AssignmentID)
		o.pair(&e.OfferData)
	case *journal.OfferDeclinedEvent:
		subject = o.offer(&e.OfferHead)
	case *journal.OfferRevokedEvent:
		subject = o.offer(&e.OfferHead)
	case *journal.OfferExpiredEvent:
		subject = o.offer(&e.OfferHead)
	default:
		return tellWorker(o, e)
	}
	return subject, true
}

func tellWorker(o *object, e journal.Event) (subject string, ok bool) {
	var id string
	switch e := e.(type) {
	case *journal.WorkerRegisteredEvent:
		id = e.WorkerID
		o.worker(id, &e.WorkerInfo)
	case *journal.WorkerUpdatedEvent:
		id = e.WorkerID
		o.worker(id, &e.WorkerInfo)
		array(o, "updatedWorkerProperties", e.Updated, func(name *string) { o.b = plainjson.AppendText(o.b, *name) })
	case *journal.WorkerDeregisteredEvent:
		id = e.WorkerID
		o.text("workerId", id)
	case *journal.WorkerDeletedEvent:
		id = e.WorkerID
		o.worker(id, &e.WorkerInfo)
	default:
		return "", false
	}
	return "worker/" + id, true
}

// job writes the members common to the events of jobs.
// The subjects are the ones in Microsoft's catalog of events.
func (o *object) job(h *journal.JobHead, part, id string) (subject string) {
	o.text("jobId", h.JobID)
	o.text("channelReference", h.ChannelReference)
	o.text("channelId", h.ChannelID)
	o.optional("queueId", h.QueueID)
	o.labels("labels", h.Labels)
	o.labels("tags", h.Tags)
	return "job/" + h.JobID + "/channel/" + h.ChannelID + part + id
}

func (o *object) received(e *journal.JobReceivedEvent) {
	s := &e.Spec
	o.text("jobStatus", capital(string(e.Status)))
	o.optional("classificationPolicyId", s.ClassificationPolicyID)
	if s.Priority != nil {
		o.integer("priority", *s.Priority)
	}
	o.selectors("requestedWorkerSelectors", s.RequestedWorkerSelectors)
	o.scheduled(s.MatchingMode.ScheduleAt)
	if !s.NotAfter.IsZero() {
		o.key("notAfter") // Weir's own
		o.b = appendTime(o.b, s.NotAfter)
	}
	o.truth("unavailableForMatching", s.MatchingMode.Kind == resource.Suspend || s.MatchingMode.Kind == resource.ScheduleAndSuspend)
}

func (o *object) wants(priority int, requested, attached []resource.WorkerSelector) {
	o.integer("priority", priority)
	o.selectors("requestedWorkerSelectors", requested)
	o.selectors("attachedWorkerSelectors", attached)
}

func (o *object) scheduled(at time.Time) { o.instant("scheduledTimeUtc", "scheduledOn", at) }

func (o *object) assignment(id, worker string) {
	o.text("assignmentId", id)
	o.text("workerId", worker)
}

// offer writes the members common to the events of offers.
func (o *object) offer(h *journal.OfferHead) (subject string) {
	o.text("workerId", h.WorkerID)
	o.text("jobId", h.JobID)
	o.text("channelReference", h.ChannelReference)
	o.text("channelId", h.ChannelID)
	o.text("queueId", h.QueueID)
	o.text("offerId", h.OfferID)
	return "worker/" + h.WorkerID + "/job/" + h.JobID
}

func (o *object) pair(d *journal.OfferData) {
	o.integer("jobPriority", d.JobPriority)
	o.labels("jobLabels", d.JobLabels)
	o.labels("jobTags", d.JobTags)
	o.labels("workerLabels", d.WorkerLabels)
	o.labels("workerTags", d.WorkerTags)
}

func (o *object) worker(id string, w *journal.WorkerInfo) {
	o.text("workerId", id)
	o.integer("totalCapacity", w.TotalCapacity)
	list(o, "queueAssignments", w.Queues, func(q *object, info *journal.QueueInfo) { q.queueInfo(info) })
	list(o, "channelConfigurations", w.Channels, func(c *object, channel *resource.Channel) {
		c.text("channelId", channel.ChannelID)
		c.integer("capacityCostPerJob", channel.CapacityCostPerJob)
		if channel.MaxNumberOfJobs > 0 {
			c.integer("maxNumberOfJobs", channel.MaxNumberOfJobs)
		}
	})
	o.labels("labels", w.Labels)
	o.labels("tags", w.Tags)
}

func (o *object) queue(k string, q *journal.QueueInfo) {
	o.key(k)
	o.b = append(o.b, '{')
	o.queueInfo(q)
	o.b = append(o.b, '}')
}

func (o *object) queueInfo(q *journal.QueueInfo) {
	o.text("id", q.ID)
	o.optional("name", q.Name)
	o.labels("labels", q.Labels)
}

func (o *object) failures(errs []journal.Failure) {
	list(o, "errors", errs, func(f *object, failure *journal.Failure) {
		f.text("code", failure.Code)
		f.text("message", failure.Message)
		f.text("target", failure.Target)
		f.key("innererror")
		f.b = append(f.b, "null"...)
		f.key("details")
		f.b = append(f.b, "[]"...)
	})
}

func (o *object) selectors(k string, selectors []resource.WorkerSelector) {
	list(o, k, selectors, func(s *object, selector *resource.WorkerSelector) {
		s.text("key", selector.Key)
		// Events name the members of a selector differently than the API: ttlSeconds, state and
		// expirationTime.
		s.text("labelOperator", capital(string(selector.Operator)))
		s.key("value")
		s.b = appendValue(s.b, selector.Value)
		if selector.ExpiresAfterSeconds > 0 {
			s.key("ttlSeconds")
			s.b = appendValue(s.b, label.Number(selector.ExpiresAfterSeconds))
		}
		s.text("state", capital(string(cmp.Or(selector.Status, resource.SelectorActive))))
		if !selector.ExpiresAt.IsZero() {
			s.key("expirationTime")
			s.b = appendTime(s.b, selector.ExpiresAt)
		}
	})
}

// list writes an array of objects.
func list[T any](o *object, k string, items []T, write func(*object, *T)) {
	array(o, k, items, func(item *T) {
		o.b = append(o.b, '{')
		write(o, item)
		o.b = append(o.b, '}')
	})
}

func array[T any](o *object, k string, items []T, write func(*T)) {
	o.key(k)
	o.b = append(o.b, '[')
	for i := range items {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		write(&items[i])
	}
	o.b = append(o.b, ']')
}

// capital converts the name of a state or an operator to its form in events.
// The Event Grid schema capitalizes them, the API does not.
func capital(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
