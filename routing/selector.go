package routing

import (
	"slices"
	"time"
)

// Operator compares a label with a selector's value.
type Operator string

// The operators.
const (
	Equal          Operator = "equal"
	NotEqual       Operator = "notEqual"
	LessThan       Operator = "lessThan"
	LessOrEqual    Operator = "lessThanOrEqual"
	GreaterThan    Operator = "greaterThan"
	GreaterOrEqual Operator = "greaterThanOrEqual"
)

func (o Operator) valid() bool {
	switch o {
	case Equal, NotEqual, LessThan, LessOrEqual, GreaterThan, GreaterOrEqual:
		return true
	}
	return false
}

// Holds compares a label with a value. equal and notEqual compare kind and
// value; the others compare numbers and nothing else. A label that is missing
// (the zero Value) fails every operator but notEqual.
func (o Operator) Holds(label, want Value) bool {
	switch o {
	case Equal:
		return !label.IsZero() && label == want
	case NotEqual:
		return label.IsZero() || label != want
	case LessThan, LessOrEqual, GreaterThan, GreaterOrEqual:
		return label.kind == kindNumber && want.kind == kindNumber && o.orders(label.num, want.num)
	}
	return false
}

func (o Operator) orders(label, want float64) bool {
	switch o {
	case LessThan:
		return label < want
	case LessOrEqual:
		return label <= want
	case GreaterThan:
		return label > want
	case GreaterOrEqual:
		return label >= want
	case Equal, NotEqual:
	}
	return false
}

// SelectorStatus says whether a selector still restricts matching.
type SelectorStatus string

// The states of a selector.
const (
	SelectorActive  SelectorStatus = "active"
	SelectorExpired SelectorStatus = "expired"
)

// WorkerSelector is what a job asks of a worker's label.
type WorkerSelector struct {
	Key                 string         `json:"key"`
	Operator            Operator       `json:"labelOperator"`
	Value               Value          `json:"value,omitzero"`
	ExpiresAfterSeconds float64        `json:"expiresAfterSeconds,omitempty"`
	Expedite            bool           `json:"expedite,omitempty"`
	Status              SelectorStatus `json:"status,omitempty"`
	ExpiresAt           time.Time      `json:"expiresAt,omitzero"`
}

// QueueSelector is what a classification policy asks of a queue's label.
type QueueSelector struct {
	Key      string   `json:"key"`
	Operator Operator `json:"labelOperator"`
	Value    Value    `json:"value,omitzero"`
}

// asked is the part of a selector that a client states.
func (s WorkerSelector) asked() WorkerSelector {
	s.Status, s.ExpiresAt = "", time.Time{}
	return s
}

func (s WorkerSelector) active() bool { return s.Status != SelectorExpired }

func sameSelectors(a, b []WorkerSelector) bool {
	return slices.EqualFunc(a, b, func(x, y WorkerSelector) bool { return x.asked() == y.asked() })
}

// keepClocks gives the selectors of a client with the state that equal ones
// already have, so that sending a resource back does not wind up their clocks.
func keepClocks(now, before []WorkerSelector) []WorkerSelector {
	out := make([]WorkerSelector, len(now))
	for i, s := range now {
		out[i] = s.asked()
		out[i].Status = SelectorActive
		for _, b := range before {
			if b.asked() == s.asked() {
				out[i].Status, out[i].ExpiresAt = b.Status, b.ExpiresAt
			}
		}
	}
	return out
}

// wound gives selectors whose clocks run from now, unless they run already.
// It copies only when there is something to change.
func wound(in []WorkerSelector, now time.Time) []WorkerSelector {
	out := in
	for i, s := range in {
		if s.ExpiresAfterSeconds > 0 && s.ExpiresAt.IsZero() {
			if &out[0] == &in[0] {
				out = slices.Clone(in)
			}
			out[i].ExpiresAt = now.Add(seconds(s.ExpiresAfterSeconds))
		}
	}
	return out
}

// expire gives the selectors with those due marked, and the ones it marked.
func expire(in []WorkerSelector, now time.Time) (all, due []WorkerSelector) {
	all = in
	for i, s := range in {
		if s.active() && !s.ExpiresAt.IsZero() && !s.ExpiresAt.After(now) {
			if due == nil {
				all = slices.Clone(in)
			}
			all[i].Status = SelectorExpired
			due = append(due, all[i])
		}
	}
	return all, due
}

// seconds turns the API's fractional seconds into a duration, bounded so that
// adding it to an instant cannot overflow.
func seconds(f float64) time.Duration {
	const most = 100 * 365 * 24 * 3600
	if f > most {
		f = most
	}
	return time.Duration(f * float64(time.Second)).Truncate(time.Microsecond)
}
