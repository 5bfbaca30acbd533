package resource

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/router/label"
)

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
	Operator            label.Operator `json:"labelOperator" enum:"equal,notEqual,lessThan,lessThanOrEqual,greaterThan,greaterThanOrEqual"`
	Value               label.Value    `json:"value,omitzero"`
	ExpiresAfterSeconds float64        `json:"expiresAfterSeconds,omitempty"`
	Expedite            bool           `json:"expedite,omitempty" shown:"always"`
	Status              SelectorStatus `json:"status,omitempty" readOnly:"true"`
	ExpiresAt           time.Time      `json:"expiresAt,omitzero" readOnly:"true"`
}

// QueueSelector is a condition of a classification policy on a queue's label.
type QueueSelector struct {
	Key      string         `json:"key"`
	Operator label.Operator `json:"labelOperator" enum:"equal,notEqual,lessThan,lessThanOrEqual,greaterThan,greaterThanOrEqual"`
	Value    label.Value    `json:"value,omitzero"`
}

// Stated returns the part of a selector that a client states.
func (s WorkerSelector) Stated() WorkerSelector {
	s.Status, s.ExpiresAt = "", time.Time{}
	return s
}

// Active reports whether the selector still restricts matching.
func (s WorkerSelector) Active() bool { return s.Status != SelectorExpired }

// EqualSelectors reports whether two lists are equal in what clients state.
func EqualSelectors(a, b []WorkerSelector) bool {
	return slices.EqualFunc(a, b, func(x, y WorkerSelector) bool { return x.Stated() == y.Stated() })
}

// KeepExpiry returns a client's selectors with the status and expiry of equal
// existing ones, so that sending a resource back does not restart their clocks.
func KeepExpiry(now, before []WorkerSelector) []WorkerSelector {
	out := make([]WorkerSelector, len(now))
	for i, s := range now {
		out[i] = s.Stated()
		out[i].Status = SelectorActive
		for _, b := range before {
			if b.Stated() == s.Stated() {
				out[i].Status, out[i].ExpiresAt = b.Status, b.ExpiresAt
			}
		}
	}
	return out
}

// StartExpiry returns the selectors with expiry clocks started at now, unless they
// already run. It copies only if something changes.
func StartExpiry(in []WorkerSelector, now time.Time) []WorkerSelector {
	out := in
	for i, s := range in {
		if s.ExpiresAfterSeconds > 0 && s.ExpiresAt.IsZero() {
			if &out[0] == &in[0] {
				out = slices.Clone(in)
			}
			out[i].ExpiresAt = now.Add(Seconds(s.ExpiresAfterSeconds))
		}
	}
	return out
}

// Expire returns all selectors with the due ones marked expired, and the ones
// it marked.
func Expire(in []WorkerSelector, now time.Time) (all, due []WorkerSelector) {
	all = in
	for i, s := range in {
		if s.Active() && !s.ExpiresAt.IsZero() && !s.ExpiresAt.After(now) {
			if due == nil {
				all = slices.Clone(in)
			}
			all[i].Status = SelectorExpired
			due = append(due, all[i])
		}
	}
	return all, due
}

// Seconds converts the API's fractional seconds into a duration, bounded so
// that adding it to an instant cannot overflow.
func Seconds(f float64) time.Duration {
	const limit = 100 * 365 * 24 * 3600
	return time.Duration(min(f, limit) * float64(time.Second)).Truncate(time.Microsecond)
}

// ParseSelectors parses worker selectors as people write them: parts joined by
// commas. A part is a label alone (it must be true), or a label, an operator
// (=, !=, <, <=, >, >=) and a value. true and false are truth values; a value
// that parses as a number is a number; any other value, or one in double
// quotes, is a text.
func ParseSelectors(text string) ([]WorkerSelector, error) {
	var out []WorkerSelector
	for part := range strings.SplitSeq(text, ",") {
		s, ok := parseSelector(strings.TrimSpace(part))
		if !ok {
			return nil, Invalid("", "format", "a selector is a label, or a label, an operator (= != < <= > >=) and a value")
		}
		out = append(out, s)
	}
	return out, nil
}

func parseSelector(part string) (WorkerSelector, bool) {
	i := strings.IndexAny(part, "=!<>")
	if i < 0 {
		return WorkerSelector{Key: part, Operator: label.Equal, Value: label.Bool(true)}, part != ""
	}
	key, rest := strings.TrimSpace(part[:i]), part[i:]
	for _, o := range []struct {
		sign string
		op   label.Operator
	}{{"!=", label.NotEqual}, {"<=", label.LessOrEqual}, {">=", label.GreaterOrEqual}, {"=", label.Equal}, {"<", label.LessThan}, {">", label.GreaterThan}} {
		if value, found := strings.CutPrefix(rest, o.sign); found {
			v := label.ParseValue(strings.TrimSpace(value))
			_, number := v.Number()
			orders := o.op != label.Equal && o.op != label.NotEqual
			return WorkerSelector{Key: key, Operator: o.op, Value: v}, key != "" && !v.IsZero() && (number || !orders)
		}
	}
	return WorkerSelector{}, false
}

// Validate checks a selector that a rule computed.
func (s WorkerSelector) Validate() error {
	var f fieldErrors
	f.workerSelector("", s)
	return f.err()
}

// Validate checks a selector that a rule computed.
func (s QueueSelector) Validate() error {
	var f fieldErrors
	f.selector("", s.Key, s.Operator, s.Value)
	return f.err()
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
