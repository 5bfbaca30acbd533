package routing

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"weir"
)

// Limits of the API, and Weir's own limits where the API has none.
const (
	minPriority     = -100
	maxPriority     = 100
	defaultPriority = 1
	maxID           = 256       // bytes of an id
	maxItems        = 500       // labels, selectors, queues, channels, notes of one resource
	maxText         = 16 << 10  // bytes of a text
	maxSpec         = 128 << 10 // bytes of a resource as JSON: events repeat it
	maxNumber       = 1<<31 - 1 // of an int32
)

func (m *mistakes) id(pointer, id string) {
	if id == "" {
		m.add(pointer, "required", "it must not be empty")
	}
	m.text(pointer, id, maxID)
}

func (m *mistakes) text(pointer, text string, most int) {
	if len(text) > most {
		m.add(pointer, "length", "at most %d bytes", most)
	}
	if !utf8.ValidString(text) {
		m.add(pointer, "format", "it has to be UTF-8") // otherwise the store would return another text
	}
}

func (m *mistakes) between(pointer string, n, low, high int) {
	if n < low || n > high {
		m.add(pointer, "range", "between %d and %d", low, high)
	}
}

func (m *mistakes) count(pointer string, n int) { m.between(pointer, n, 0, maxItems) }

func (m *mistakes) seconds(pointer string, f float64) {
	if f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		m.add(pointer, "range", "0 or more seconds")
	}
}

func (m *mistakes) labels(pointer string, l Labels) {
	m.count(pointer, len(l))
	for k, v := range l {
		m.text(pointer, k, maxID)
		m.text(pointer+"/"+k, v.str, maxText)
		if v.IsZero() || !v.valid() {
			m.add(pointer+"/"+k, "type", "a string, a number or a boolean")
		}
	}
}

// validateWorker validates the specification of a worker. Queues that the worker
// already has may be missing, as in old journals: clients send back what they
// read.
func (s *State) validateWorker(id string, w *WorkerSpec) error {
	var m mistakes
	var has []string
	if old := s.workers[id]; old != nil {
		has = old.Queues
	}
	m.id("/id", id)
	m.labels("/labels", w.Labels)
	m.labels("/tags", w.Tags)
	m.between("/capacity", w.Capacity, 0, maxNumber)
	m.between("/maxConcurrentOffers", w.MaxConcurrentOffers, 0, maxNumber)
	m.count("/queues", len(w.Queues))
	for i, q := range w.Queues {
		at := fmt.Sprintf("/queues/%d", i)
		m.id(at, q)
		if q != "" && s.queues[q] == nil && !slices.Contains(has, q) {
			m.add(at, "not_found", "there is no queue %q", q)
		}
	}
	m.count("/channels", len(w.Channels))
	for i, c := range w.Channels {
		at := fmt.Sprintf("/channels/%d", i)
		m.id(at+"/channelId", c.ChannelID)
		m.between(at+"/capacityCostPerJob", c.CapacityCostPerJob, 1, maxNumber) // a cost of 0 would allow endless jobs
		m.between(at+"/maxNumberOfJobs", c.MaxNumberOfJobs, 0, maxNumber)
		if slices.ContainsFunc(w.Channels[:i], func(o Channel) bool { return o.ChannelID == c.ChannelID }) {
			m.add(at+"/channelId", "duplicate", "the channel is there twice")
		}
	}
	return m.err()
}

func checkSelector(m *mistakes, pointer, key string, op Operator, v Value) {
	m.id(pointer+"/key", key)
	if !op.valid() {
		m.add(pointer+"/labelOperator", "unknown", "there is no operator %q", op)
	}
	m.text(pointer+"/value", v.str, maxText)
	if !v.valid() {
		m.add(pointer+"/value", "type", "a string, a number or a boolean")
	}
}

func checkWorkerSelector(m *mistakes, pointer string, s *WorkerSelector) {
	checkSelector(m, pointer, s.Key, s.Operator, s.Value)
	m.seconds(pointer+"/expiresAfterSeconds", s.ExpiresAfterSeconds)
}

func (m *mistakes) workerSelectors(pointer string, list []WorkerSelector) {
	m.count(pointer, len(list))
	for i := range list {
		checkWorkerSelector(m, fmt.Sprintf("%s/%d", pointer, i), &list[i])
	}
}

func (m *mistakes) priority(pointer string, p *int) {
	if p != nil {
		m.between(pointer, *p, minPriority, maxPriority)
	}
}

// validateJob validates a job and fills in its defaults. before is nil for a
// new job.
func (s *State) validateJob(id string, j *JobSpec, before *job) error {
	var m mistakes
	m.id("/id", id)
	m.id("/channelId", j.ChannelID)
	m.text("/channelReference", j.ChannelReference, maxText)
	m.text("/dispositionCode", j.DispositionCode, maxText)
	m.labels("/labels", j.Labels)
	m.labels("/tags", j.Tags)
	m.priority("/priority", j.Priority)
	m.workerSelectors("/requestedWorkerSelectors", j.RequestedWorkerSelectors)
	if j.QueueID == "" && j.ClassificationPolicyID == "" {
		m.add("/queueId", "required", "a job needs a queue or a classification policy")
	}
	changed := before == nil || !before.Status.over()
	if q := s.queues[j.QueueID]; j.QueueID != "" && q == nil && changed {
		m.add("/queueId", "not_found", "there is no queue %q", j.QueueID)
	} else if q != nil && q.Closed == ClosedRefuse && before == nil {
		return conflict("queue %q is closed", j.QueueID)
	}
	if j.ClassificationPolicyID != "" && s.classes[j.ClassificationPolicyID] == nil && changed {
		m.add("/classificationPolicyId", "not_found", "there is no classification policy %q", j.ClassificationPolicyID)
	}
	s.validateMode(&m, &j.MatchingMode)
	j.NotAfter = j.NotAfter.UTC().Truncate(time.Microsecond)
	m.count("/notes", len(j.Notes))
	j.Notes = slices.Clone(j.Notes)
	for i := range j.Notes {
		n := &j.Notes[i]
		m.text(fmt.Sprintf("/notes/%d/message", i), n.Message, maxText)
		if n.AddedAt.IsZero() {
			n.AddedAt = s.now
		}
		n.AddedAt = n.AddedAt.UTC().Truncate(time.Microsecond)
	}
	sortedNotes(j.Notes)
	return m.err()
}

func (s *State) validateMode(m *mistakes, mode *MatchingMode) {
	switch mode.Kind {
	case "", QueueAndMatch:
		*mode = MatchingMode{Kind: QueueAndMatch}
	case Suspend:
		*mode = MatchingMode{Kind: Suspend}
	case ScheduleAndSuspend:
		mode.ScheduleAt = mode.ScheduleAt.UTC().Truncate(time.Microsecond)
		if mode.ScheduleAt.IsZero() {
			m.add("/matchingMode/scheduleAt", "required", "a scheduled job needs an instant")
		}
	default:
		m.add("/matchingMode/kind", "unknown", "there is no matching mode %q", mode.Kind)
	}
}

func invalid(pointer, code, format string, args ...any) error {
	var m mistakes
	m.add(pointer, code, format, args...)
	return m.err()
}

// inUse returns the error for deleting a policy that is in use, in the form
// that clients expect.
func inUse(detail, text string) error {
	var m mistakes
	m.add("", detail, "%s", text)
	return refused(weir.CodeInvalid, m)
}
