package surveys

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir"
	"weir/internal/validation"
	"weir/surveys/respondents"
)

// MaxBuckets is the max number of buckets of a survey.
const MaxBuckets = 1000

// Quotas are the buckets of a survey. A respondent belongs to at most one.
type Quotas []Bucket

// NoBucket is the bucket of a respondent that belongs to none. Such respondents
// are contacted, and count toward no quota.
const NoBucket = -1

// Of returns the bucket of a respondent with these attributes.
func (q Quotas) Of(attributes map[string]string) int {
	return slices.IndexFunc(q, func(b Bucket) bool { return holds(b, attributes) })
}

func holds(b Bucket, attributes map[string]string) bool {
	for name, match := range b.Where {
		if value, ok := attributes[name]; !ok || !matches(match, value) {
			return false
		}
	}
	return true
}

func matches(m Match, value string) bool {
	value = strings.TrimSpace(value)
	if m.In != nil {
		return slices.ContainsFunc(m.In, func(in string) bool { return strings.EqualFold(strings.TrimSpace(in), value) })
	}
	n, err := strconv.ParseFloat(value, 64)
	return err == nil && low(m) <= n && n <= high(m)
}

func low(m Match) float64 { return bound(m.From, math.Inf(-1)) }

func high(m Match) float64 { return bound(m.To, math.Inf(1)) }

func bound(n *float64, without float64) float64 {
	if n == nil {
		return without
	}
	return *n
}

// Full reports whether a bucket has reached its quota, given the counts of all
// buckets. Respondents of a full bucket need not be contacted.
func (q Quotas) Full(counts []int, bucket int) bool {
	return bucket >= 0 && bucket < len(q) && at(counts, bucket) >= q[bucket].Quota
}

// Reached reports whether every bucket is full. Without buckets it is false.
func (q Quotas) Reached(counts []int) bool {
	return len(q) > 0 && len(q.FullBuckets(counts)) == len(q)
}

// Sum returns the sum of all quotas.
func (q Quotas) Sum() int {
	sum := 0
	for _, b := range q {
		sum += b.Quota
	}
	return sum
}

// Done returns how many respondents count toward the quotas: a bucket's surplus
// over its quota does not compensate for another bucket.
func (q Quotas) Done(counts []int) int {
	done := 0
	for i, b := range q {
		done += min(at(counts, i), b.Quota)
	}
	return done
}

func at(counts []int, i int) int {
	if i < len(counts) {
		return counts[i]
	}
	return 0
}

// CheckCompared returns a warning for each attribute that the conditions of questions look at and
// respondents lack. having counts the respondents that have an attribute, of all that were checked.
func (pl *Plan) CheckCompared(having map[string]int, all int) []weir.FieldError {
	var m validation.Errors
	for _, name := range pl.compared {
		if n := having[name]; n < all {
			m.Add("/questions", "unknown", "conditions look at the attribute %q, which %d of %d respondents lack; for them it is empty", validation.Clip(name), all-n, all)
		}
	}
	return m
}

// CheckKnown returns a warning for each quota attribute that no respondent has yet: an
// application may report it as an answer. known lists the respondents' attributes.
func (q Quotas) CheckKnown(known []string) []weir.FieldError {
	var m validation.Errors
	for i, b := range q {
		for _, name := range slices.Sorted(maps.Keys(b.Where)) {
			if !slices.Contains(known, name) {
				m.Add(fmt.Sprintf("/quotas/%d/where/%s", i, validation.Token(name)), "unknown", "no respondent has the attribute %q yet (they have: %s); no respondent counts for this quota until an answer sets it", validation.Clip(name), joinNames(known))
			}
		}
	}
	return m
}

// check returns the validation failures of the quotas themselves.
func (q Quotas) check() []weir.FieldError {
	var m validation.Errors
	if len(q) > MaxBuckets {
		m.Add("", "length", "must have at most %d buckets", MaxBuckets)
		return m
	}
	good := make([]bool, len(q))
	for i, b := range q {
		before := len(m)
		checkBucket(b, "/"+strconv.Itoa(i), &m)
		good[i] = len(m) == before
	}
	if len(q) > 0 && len(m) == 0 && q.Sum() == 0 {
		m.Add("", "range", "at least one quota must be above 0")
	}
	for i, b := range q {
		for j, c := range q[:i] {
			if good[i] && good[j] && overlaps(b, c) {
				m.Add("/"+strconv.Itoa(i), "overlap", "overlaps bucket %d: a respondent could match both", j)
				break
			}
		}
	}
	return m
}

func checkBucket(b Bucket, at string, m *validation.Errors) {
	if b.Quota < 0 || b.Quota > math.MaxInt32 {
		m.Add(at+"/quota", "range", "must be from 0 to %d", math.MaxInt32)
	}
	if len(b.Where) == 0 {
		m.Add(at+"/where", "required", "must name at least one attribute")
	}
	for _, name := range slices.Sorted(maps.Keys(b.Where)) {
		match, at := b.Where[name], at+"/where/"+validation.Token(name)
		ranged := match.From != nil || match.To != nil
		switch {
		case !respondents.ValidName(name):
			m.Add(at, "format", "%s", respondents.NameRule)
		case match.In != nil && ranged:
			m.Add(at, "format", "must have either in, or from and to")
		case !ranged && len(match.In) == 0:
			m.Add(at, "required", "must have in with at least one text, or from, or to")
		case ranged && low(match) > high(match):
			m.Add(at, "range", "from must not be greater than to")
		}
	}
}

// overlaps reports whether a respondent could belong to both buckets, because no
// attribute distinguishes them.
func overlaps(b, c Bucket) bool {
	for name, match := range b.Where {
		if other, ok := c.Where[name]; ok && !meet(match, other) {
			return false
		}
	}
	return true
}

func meet(m, o Match) bool {
	if m.In != nil {
		return slices.ContainsFunc(m.In, func(in string) bool { return matches(o, in) })
	}
	if o.In != nil {
		return slices.ContainsFunc(o.In, func(in string) bool { return matches(m, in) })
	}
	return low(m) <= high(o) && low(o) <= high(m)
}

func joinNames(names []string) string {
	const maxNames = 20
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxNames:
		return strings.Join(names[:maxNames], ", ") + ", …"
	default:
		return strings.Join(names, ", ")
	}
}
