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
// value; the other operators compare numbers only. A missing label (the zero
// Value) fails every operator except notEqual.
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

// SelectorStatus is whether a selector still restricts matching.
type SelectorStatus string

// The states of a selector.
const (
	SelectorActive  SelectorStatus = "active"
	SelectorExpired SelectorStatus = "expired"
)

// WorkerSelector is a condition of a job on a worker's label.
type WorkerSelector struct {
	Key                 string         `json:"key"`
	Operator            Operator       `json:"labelOperator"`
	Value               Value          `json:"value,omitzero"`
	ExpiresAfterSeconds float64        `json:"expiresAfterSeconds,omitempty"`
	Expedite            bool           `json:"expedite,omitempty"`
	Status              SelectorStatus `json:"status,omitempty"`
	ExpiresAt           time.Time      `json:"expiresAt,omitzero"`
}

// QueueSelector is a condition of a classification policy on a queue's label.
type QueueSelector struct {
	Key      string   `json:"key"`
	Operator Operator `json:"labelOperator"`
	Value    Value    `json:"value,omitzero"`
}

// asked returns the part of a selector that a client states.
func (s WorkerSelector) asked() WorkerSelector {
	s.Status, s.ExpiresAt = "", time.Time{}
	return s
}

func (s WorkerSelector) active() bool { return s.Status != SelectorExpired }

func sameSelectors(a, b []WorkerSelector) bool {
	return slices.EqualFunc(a, b, func(x, y WorkerSelector) bool { return x.asked() == y.asked() })
}

// keepClocks returns a client's selectors with the status and expiry of equal
// existing ones, so that sending a resource back does not restart their clocks.
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

// wound returns the selectors with expiry clocks started at now, unless they
// already run. It copies only if something changes.
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

// expire returns all selectors with the due ones marked expired, and the ones
// it marked.
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

// seconds converts the API's fractional seconds into a duration, bounded so
// that adding it to an instant cannot overflow.
func seconds(f float64) time.Duration {
	const most = 100 * 365 * 24 * 3600
	if f > most {
		f = most
	}
	return time.Duration(f * float64(time.Second)).Truncate(time.Microsecond)
}
