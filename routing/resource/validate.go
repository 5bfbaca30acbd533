package resource

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"weir/internal/validation"
	"weir/routing/label"

	"weir"
)

// Limits of the API, and Weir's own limits where the API has none.
const (
	MinPriority     = -100
	MaxPriority     = 100
	DefaultPriority = 1

	maxID     = 256       // bytes of an id
	maxItems  = 500       // labels, selectors, queues, channels, notes of one resource
	maxText   = 16 << 10  // bytes of a text
	maxSpec   = 128 << 10 // bytes of a resource as JSON: events repeat it
	maxNumber = 1<<31 - 1 // of an int32
)

// Known reports whether a resource exists.
type Known func(kind Kind, id string) bool

// fieldErrors collects the validation errors of a specification.
type fieldErrors struct{ validation.Errors }

// Invalid returns a validation error about one field.
func Invalid(pointer, code, format string, args ...any) error {
	var f fieldErrors
	f.Add(pointer, code, format, args...)
	return f.err()
}

func (f fieldErrors) err() error {
	if len(f.Errors) == 0 {
		return nil
	}
	return &weir.Error{Code: weir.CodeInvalid, Message: "one or more validation errors occurred", Fields: f.Errors}
}

func (f *fieldErrors) id(pointer, id string) {
	if id == "" {
		f.Add(pointer, "required", "must not be empty")
	}
	f.text(pointer, id, maxID)
}

func (f *fieldErrors) text(pointer, text string, limit int) {
	if len(text) > limit {
		f.Add(pointer, "length", "must have at most %d bytes", limit)
	}
	if !utf8.ValidString(text) {
		f.Add(pointer, "format", "must be valid UTF-8") // otherwise the store would return another text
	}
}

func (f *fieldErrors) between(pointer string, n, low, high int) {
	if n < low || n > high {
		f.Add(pointer, "range", "must be between %d and %d", low, high)
	}
}

func (f *fieldErrors) count(pointer string, n int) { f.between(pointer, n, 0, maxItems) }

func (f *fieldErrors) seconds(pointer string, n float64) {
	if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
		f.Add(pointer, "range", "must be 0 or more seconds")
	}
}

func (f *fieldErrors) priority(pointer string, p *int) {
	if p != nil {
		f.between(pointer, *p, MinPriority, MaxPriority)
	}
}

// exists checks a reference to another resource; an empty one is allowed.
func (f *fieldErrors) exists(known Known, pointer string, kind Kind, id string) {
	if id != "" && !known(kind, id) {
		f.Add(pointer, "not_found", "there is no %s %q", kind, id)
	}
}

func (f *fieldErrors) labels(pointer string, l label.Set) {
	f.count(pointer, len(l))
	for k, v := range l {
		f.text(pointer, k, maxID)
		f.value(pointer+"/"+k, v)
		if v.IsZero() {
			f.Add(pointer+"/"+k, "type", mustBeValue)
		}
	}
}

const mustBeValue = "must be a string, a number or a boolean"

func (f *fieldErrors) value(pointer string, v label.Value) {
	text, _ := v.Text()
	f.text(pointer, text, maxText)
	if !v.Valid() {
		f.Add(pointer, "type", mustBeValue)
	}
}

func (f *fieldErrors) selector(pointer, key string, op label.Operator, v label.Value) {
	f.id(pointer+"/key", key)
	if !op.Valid() {
		f.Add(pointer+"/labelOperator", "unknown", "unknown operator %q", op)
	}
	f.value(pointer+"/value", v)
}

func (f *fieldErrors) workerSelectors(pointer string, list []WorkerSelector) {
	f.count(pointer, len(list))
	for i, s := range list {
		f.workerSelector(fmt.Sprintf("%s/%d", pointer, i), s)
	}
}

func (f *fieldErrors) workerSelector(pointer string, s WorkerSelector) {
	f.selector(pointer, s.Key, s.Operator, s.Value)
	f.seconds(pointer+"/expiresAfterSeconds", s.ExpiresAfterSeconds)
}

func (f *fieldErrors) queueSelectors(pointer string, list []QueueSelector) {
	f.count(pointer, len(list))
	for i, s := range list {
		f.selector(fmt.Sprintf("%s/%d", pointer, i), s.Key, s.Operator, s.Value)
	}
}

// Validate checks the specification of a worker. Queues that the worker already
// has may be missing, as in old journals: clients send back what they read.
func (w *WorkerSpec) Validate(id string, known Known, has []string) error {
	var f fieldErrors
	f.id("/id", id)
	f.labels("/labels", w.Labels)
	f.labels("/tags", w.Tags)
	f.between("/capacity", w.Capacity, 0, maxNumber)
	f.between("/maxConcurrentOffers", w.MaxConcurrentOffers, 0, maxNumber)
	f.count("/queues", len(w.Queues))
	for i, q := range w.Queues {
		at := fmt.Sprintf("/queues/%d", i)
		f.id(at, q)
		if !slices.Contains(has, q) {
			f.exists(known, at, Queue, q)
		}
	}
	f.count("/channels", len(w.Channels))
	for i, c := range w.Channels {
		at := fmt.Sprintf("/channels/%d", i)
		f.id(at+"/channelId", c.ChannelID)
		f.between(at+"/capacityCostPerJob", c.CapacityCostPerJob, 1, maxNumber) // a cost of 0 would allow endless jobs
		f.between(at+"/maxNumberOfJobs", c.MaxNumberOfJobs, 0, maxNumber)
		if slices.ContainsFunc(w.Channels[:i], func(o Channel) bool { return o.ChannelID == c.ChannelID }) {
			f.Add(at+"/channelId", "duplicate", "duplicate channel")
		}
	}
	return f.err()
}

// Validate checks a job and fills in its defaults. A finished job may refer to
// resources that no longer exist.
func (j *JobSpec) Validate(id string, known Known, finished bool, now time.Time) error {
	var f fieldErrors
	f.id("/id", id)
	f.id("/channelId", j.ChannelID)
	f.text("/channelReference", j.ChannelReference, maxText)
	f.text("/dispositionCode", j.DispositionCode, maxText)
	f.labels("/labels", j.Labels)
	f.labels("/tags", j.Tags)
	f.priority("/priority", j.Priority)
	f.workerSelectors("/requestedWorkerSelectors", j.RequestedWorkerSelectors)
	if j.QueueID == "" && j.ClassificationPolicyID == "" {
		f.Add("/queueId", "required", "a job needs a queue or a classification policy")
	}
	if !finished {
		f.exists(known, "/queueId", Queue, j.QueueID)
		f.exists(known, "/classificationPolicyId", Classification, j.ClassificationPolicyID)
	}
	f.mode(&j.MatchingMode)
	j.NotAfter = j.NotAfter.UTC().Truncate(time.Microsecond)
	f.count("/notes", len(j.Notes))
	j.Notes = slices.Clone(j.Notes)
	for i := range j.Notes {
		n := &j.Notes[i]
		f.text(fmt.Sprintf("/notes/%d/message", i), n.Message, maxText)
		if n.AddedAt.IsZero() {
			n.AddedAt = now
		}
		n.AddedAt = n.AddedAt.UTC().Truncate(time.Microsecond)
	}
	SortNotes(j.Notes)
	return f.err()
}

// mode checks a matching mode and drops the members that its kind does not have.
func (f *fieldErrors) mode(mode *MatchingMode) {
	switch mode.Kind {
	case "", QueueAndMatch:
		*mode = MatchingMode{Kind: QueueAndMatch}
	case Suspend:
		*mode = MatchingMode{Kind: Suspend}
	case ScheduleAndSuspend:
		mode.ScheduleAt = mode.ScheduleAt.UTC().Truncate(time.Microsecond)
		if mode.ScheduleAt.IsZero() {
			f.Add("/matchingMode/scheduleAt", "required", "a scheduled job needs an instant")
		}
	default:
		f.Add("/matchingMode/kind", "unknown", "unknown matching mode %q", mode.Kind)
	}
}

// SortNotes sorts notes by time, in place.
func SortNotes(notes []Note) {
	slices.SortStableFunc(notes, func(a, b Note) int { return a.AddedAt.Compare(b.AddedAt) })
}
