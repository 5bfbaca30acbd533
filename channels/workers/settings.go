package workers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/router/label"
	"weir/router/resource"
)

const (
	// maxMinutes is the 90 days that the router gives a job by itself (router.Settings.JobLife).
	usualChannel = "contact"
	maxMinutes   = 90 * 24 * 60 // max lifetime of a job
	maxName      = 128          // max bytes of an id or label
)

// settings holds a channel's parsed settings.
type settings struct {
	queue, policy, channel string
	mappings               []mapping
	require                []resource.WorkerSelector
	priority               int
	wait, work             time.Duration
	outcomes               map[string]weir.Outcome
	other                  weir.Outcome
	dispositions           map[string]string
}

// reader parses settings and collects the mistakes.
type reader struct {
	from  weir.Settings
	wrong []weir.FieldError
}

func (r *reader) add(key, code, format string, args ...any) {
	r.wrong = append(r.wrong, weir.FieldError{Pointer: "/" + key, Code: code, Detail: fmt.Sprintf(format, args...)})
}

func (r *reader) text(key string) string {
	v, _ := r.from[key].(string)
	return strings.TrimSpace(v)
}

// integer returns a number between bounds, or usual if it is not set.
func (r *reader) integer(key string, low, high, usual int) int {
	// The kind was checked before, so that another type means that the setting is absent.
	v, ok := weir.Number(r.from[key])
	switch {
	case !ok:
		return usual
	case v != math.Trunc(v) || v < float64(low) || v > float64(high):
		r.add(key, "range", "must be a whole number from %d to %d", low, high)
		return usual
	}
	return int(v)
}

func readSettings(from weir.Settings) (settings, []weir.FieldError) {
	r := &reader{from: from}
	s := settings{
		queue: r.text("queue"), policy: r.text("classification_policy"), channel: r.text("router_channel"),
		priority: r.integer("priority", -100, 100, 1),
		wait:     time.Duration(r.integer("wait_minutes", 1, maxMinutes, 0)) * time.Minute,
		work:     time.Duration(r.integer("work_minutes", 1, maxMinutes, 0)) * time.Minute,
	}
	// The router's own limit is 256 (package resource): no contact fails by the length of a name
	// in the settings.
	for _, key := range []string{"queue", "classification_policy", "router_channel", "selectors", "require"} {
		for part := range strings.SplitSeq(r.text(key), ",") {
			if len(part) > maxName {
				r.add(key, "length", "a name must have at most %d bytes", maxName)
			}
		}
	}
	if s.queue == "" && s.policy == "" {
		r.add("queue", "required", "give the queue that the jobs join, or a classification policy that finds it")
	}
	if s.channel == "" {
		s.channel = usualChannel
	}
	r.selectors(&s)
	r.outcomes(&s)
	r.dispositions(&s)
	return s, r.wrong
}

func (r *reader) selectors(s *settings) {
	if text := r.text("selectors"); text != "" {
		for part := range strings.SplitSeq(text, ",") {
			m, ok := parseMapping(strings.TrimSpace(part))
			if !ok {
				r.add("selectors", "format", "must be like region,lang=speaks_*,level>=level: labels of contacts, with the worker's label after =, >= or <=")
				break
			}
			s.mappings = append(s.mappings, m)
		}
	}
	if text := r.text("require"); text != "" {
		var err error
		if s.require, err = resource.ParseSelectors(text); err != nil {
			r.add("require", "format", "must be like cati,level>=2: labels alone, or with an operator (= != < <= > >=) and a value")
		}
	}
}

func (r *reader) outcomes(s *settings) {
	// The words of the outcomes are codes that mean themselves; a setting may override them.
	s.outcomes = map[string]weir.Outcome{}
	for _, o := range outcomes() {
		s.outcomes[string(o)] = o
	}
	r.codes("outcomes", func(code, word string) bool {
		s.outcomes[code] = weir.Outcome(word)
		return slices.Contains(outcomes(), s.outcomes[code])
	}, "must be like wrong_number=failed,callback=no_answer; outcomes are %s", outcomeWords())
	if s.other = weir.Outcome(r.text("other_outcome")); s.other == "" {
		s.other = weir.Completed
	}
	if !slices.Contains(outcomes(), s.other) {
		r.add("other_outcome", "value", "must be one of %s", outcomeWords())
	}
}

// outcomes returns the outcomes that a disposition code can map to.
func outcomes() []weir.Outcome {
	return []weir.Outcome{weir.Completed, weir.Busy, weir.NoAnswer, weir.Failed, weir.Canceled}
}

func outcomeTexts() []string {
	var words []string
	for _, o := range outcomes() {
		words = append(words, string(o))
	}
	return words
}

func outcomeWords() string { return strings.Join(outcomeTexts(), ", ") }

// Dispositions that a code can map to: those of package surveys that an
// interviewer can set, and two more.
const (
	completed     = "completed"
	refused       = "refused"
	ineligible    = "ineligible"
	partial       = "partial"
	callBack      = "call_back" // the respondent is to be called again
	noDisposition = "none"      // the code does not conclude anything
)

// conclusions returns all dispositions.
func conclusions() []string {
	return []string{completed, refused, ineligible, partial, callBack, noDisposition}
}

// dispositions parses the setting that maps codes to dispositions.
func (r *reader) dispositions(s *settings) {
	s.dispositions = map[string]string{"callback": callBack}
	for _, d := range conclusions() {
		s.dispositions[d] = d
	}
	r.codes("dispositions", func(code, word string) bool {
		s.dispositions[code] = normal(word)
		// A worker may write an instant after the code and @, so that the code itself has none.
		return !strings.Contains(code, "@") && slices.Contains(conclusions(), s.dispositions[code])
	}, "must be like too_young=ineligible,later=call_back; dispositions are %s", strings.Join(conclusions(), ", "))
}

// codes parses a setting that maps codes to words: code=word,code=word. take takes a pair, and
// reports whether it is right; format and args describe the mistake if it is not.
func (r *reader) codes(key string, take func(code, word string) bool, format string, args ...any) {
	if r.text(key) == "" {
		return
	}
	for part := range strings.SplitSeq(r.text(key), ",") {
		code, word, _ := strings.Cut(part, "=")
		if code = normal(code); code == "" || !take(code, strings.TrimSpace(word)) {
			r.add(key, "format", format, args...)
			return
		}
	}
}

// mapping derives a selector from a label of the contact.
type mapping struct {
	label  string
	op     label.Operator
	key    string // of the worker's label; with named, the part before the value
	suffix string // the part after the value
	named  bool   // the value is part of the name of a label that must be true
	must   bool   // the contact must have the label
}

// parseMapping parses label, label=key, label=pre*post, label>=key, label<=key,
// each followed by ! if the contact must have the label.
func parseMapping(part string) (m mapping, ok bool) {
	part, m.must = strings.CutSuffix(part, "!")
	m.op = label.Equal
	name, key, given := strings.Cut(part, "=")
	switch {
	case !given:
		key = name
	case strings.HasSuffix(name, ">"):
		name, m.op = strings.TrimSuffix(name, ">"), label.GreaterOrEqual
	case strings.HasSuffix(name, "<"):
		name, m.op = strings.TrimSuffix(name, "<"), label.LessOrEqual
	}
	m.label, m.key = strings.TrimSpace(name), strings.TrimSpace(key)
	if before, after, named := strings.Cut(m.key, "*"); named {
		m.key, m.suffix, m.named = before, after, true
	}
	plain := !strings.ContainsAny(m.label, "<>=!*") && !strings.ContainsAny(m.key+m.suffix, "<>=!*")
	return m, plain && m.label != "" && (m.key != "" || m.named) && (!m.named || m.op == label.Equal)
}

// typed converts the value of a contact's label, which is a text, to the type that
// a worker's label would have: true and false are booleans, and a number in its
// usual notation is a number; 007 stays a text.
func typed(text string) label.Value {
	v := label.ParseValue(text)
	if n, ok := v.Number(); ok && label.Number(n).String() != text {
		return label.Text(text)
	}
	if strings.HasPrefix(text, `"`) {
		return label.Text(text)
	}
	return v
}

// labelsOf converts a contact's labels to those of a job.
func labelsOf(labels map[string]string) label.Set {
	out := label.Set{}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if v := typed(labels[k]); !v.IsZero() {
			out[k] = v
		}
	}
	return out
}

// normal normalizes a disposition code for lookup: case, blanks and hyphens do
// not matter.
func normal(code string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(code)))
}
