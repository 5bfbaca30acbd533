package simulation

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"sync"
)

// RuleHelp is the help text on rules for command lines.
const RuleHelp = `A rule has the form what[=value][@operation][:when]. When is one of
  0.2    one in five, chosen by the seed
  *17    addresses that end in 17
  #3     the third request; also #3-7 and #3-
  /10    every tenth request
and always if it is left out. The first rule that applies counts.`

// Rule is an outcome or fault together with its condition. Its text form is
//
//	what[=value][@operation][:when]
//
// with these forms of when:
//
//	0.2      to one in five, by the script's seed
//	*17      to addresses that end in 17
//	#3       to the third request
//	#3-7     to the third to the seventh; "#3-" to all from the third on
//	/10      to every tenth request
//	(none)   always
//
// The last colon ends the value; a value that holds a colon itself needs a when,
// such as 1. Requests are counted for each operation from 1. Examples: "busy:0.2",
// "status=503@send:#1-20", "late=2s@send:*7", "drop:0.1".
type Rule struct {
	What      string // outcome or fault
	Value     string // a status or a duration, depending on What
	Operation string // only for this operation; empty: any
	When      string // as written
	match     matcher
}

// matcher reports whether a rule applies: chance is uniform over [0,1), n counts
// from 1.
type matcher func(chance float64, subject string, n int64) bool

// ParseRule parses the text form of a rule.
func ParseRule(s string) (Rule, error) {
	head, when := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		head, when = s[:i], s[i+1:]
		if when == "" {
			return Rule{}, fmt.Errorf("rule %q: want a when after the colon", s)
		}
	}
	head, operation, _ := strings.Cut(head, "@")
	what, value, _ := strings.Cut(head, "=")
	r := Rule{What: what, Value: value, Operation: operation, When: when}
	if what == "" {
		return Rule{}, fmt.Errorf("rule %q: want what[=value][@operation][:when]", s)
	}
	m, err := parseWhen(when)
	if err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", s, err)
	}
	r.match = m
	return r, nil
}

// ParseRules parses several rules. Each argument may hold more than one,
// separated by commas.
func ParseRules(texts ...string) ([]Rule, error) {
	var rules []Rule
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			r, err := ParseRule(part)
			if err != nil {
				return nil, err
			}
			rules = append(rules, r)
		}
	}
	return rules, nil
}

// String returns the text form.
func (r Rule) String() string {
	var b strings.Builder
	b.WriteString(r.What)
	if r.Value != "" {
		b.WriteString("=" + r.Value)
	}
	if r.Operation != "" {
		b.WriteString("@" + r.Operation)
	}
	if r.When != "" {
		b.WriteString(":" + r.When)
	}
	return b.String()
}

func parseWhen(s string) (matcher, error) {
	switch {
	case s == "":
		return func(float64, string, int64) bool { return true }, nil
	case s[0] == '*':
		return func(_ float64, subject string, _ int64) bool { return strings.HasSuffix(subject, s[1:]) }, nil
	case s[0] == '#':
		return parseRange(s[1:])
	case s[0] == '/':
		every, err := strconv.ParseInt(s[1:], 10, 64)
		if err != nil || every < 1 {
			return nil, fmt.Errorf("%q: want / and a number from 1 on", s)
		}
		return func(_ float64, _ string, n int64) bool { return n%every == 0 }, nil
	}
	p, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(p) || p < 0 || p > 1 {
		return nil, fmt.Errorf("%q: want a probability from 0 to 1, *suffix, #number, #from-to or /every", s)
	}
	return func(chance float64, _ string, _ int64) bool { return chance < p }, nil
}

func parseRange(s string) (matcher, error) {
	low, high, isRange := strings.Cut(s, "-")
	from, err := strconv.ParseInt(low, 10, 64)
	to := from
	if isRange && high == "" {
		to = math.MaxInt64
	} else if isRange && err == nil {
		to, err = strconv.ParseInt(high, 10, 64)
	}
	if err != nil || from < 1 || to < from {
		return nil, fmt.Errorf("%q: want #number, #from-to or #from-, from 1 on", "#"+s)
	}
	return func(_ float64, _ string, n int64) bool { return n >= from && n <= to }, nil
}

// Script is a list of rules; the first that applies counts. It is safe for
// concurrent use and may be changed at any time.
type Script struct {
	seed     uint64
	mu       sync.Mutex
	rules    []Rule
	requests map[string]int64 // by operation
	subjects map[string]int64 // by operation and subject
}

// NewScript returns a script.
func NewScript(seed uint64, rules ...Rule) *Script {
	s := &Script{seed: seed}
	s.Set(rules)
	return s
}

// Set replaces the rules and restarts the counts.
func (s *Script) Set(rules []Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = rules
	s.requests, s.subjects = map[string]int64{}, map[string]int64{}
}

// Forget forgets how often each subject was seen: chance begins anew for it.
func (s *Script) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.subjects)
}

// Rules returns the rules in their text form.
func (s *Script) Rules() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := make([]string, len(s.rules))
	for i, r := range s.rules {
		texts[i] = r.String()
	}
	return texts
}

// Pick returns the rule for a request about a subject (an address, an id). Each
// call counts as one request of the operation.
func (s *Script) Pick(operation, subject string) (Rule, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rules) == 0 {
		return Rule{}, false
	}
	s.requests[operation]++
	again := operation + "\x00" + subject
	s.subjects[again]++
	for i, r := range s.rules {
		if r.Operation != "" && r.Operation != operation {
			continue
		}
		chance := s.chance(i, again, s.subjects[again])
		if r.match(chance, subject, s.requests[operation]) {
			return r, true
		}
	}
	return Rule{}, false
}

// chance depends only on the seed, the rule and how often the subject was seen,
// never on the order in which concurrent requests arrive.
func (s *Script) chance(rule int, subject string, n int64) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d/%d/%s", s.seed, rule, n, subject)
	x := h.Sum64() // FNV's high bits are poor for short texts: mix them
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return float64((x^x>>33)>>11) / (1 << 53)
}
