package workers

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/routing"
	"weir/routing/label"
	"weir/routing/resource"
)

// Name is the name of the channel type.
const Name = "workers"

const (
	usualChannel = "contact"
	maxMinutes   = 90 * 24 * 60 // max lifetime of a job
	maxName      = 128          // max bytes of an id or label
)

// Type returns the channel type over a running router, for the table of types.
func Type(router routing.Engine) channels.Type {
	return channels.Type{
		Name: Name, Content: channels.Any,
		Summary: "people, through Weir's own router",
		Settings: []channels.Setting{
			{Key: "queue", Kind: channels.String, Help: "the router's queue that the jobs join; this or classification_policy"},
			{Key: "classification_policy", Kind: channels.String, Help: "policy that finds queue, priority and selectors by the labels of the contact"},
			{Key: "router_channel", Kind: channels.String, Help: "the router's channel of the jobs, which workers have among their channels (default contact)"},
			{Key: "selectors", Kind: channels.String, Help: "which labels of a contact choose the worker, joined by commas: region (the worker's region must be the same), lang=* (the worker must have the label that is named by the value), lang=speaks_*, level>=level, level<=level; with ! at the end the contact must have the label"},
			{Key: "require", Kind: channels.String, Help: "what every worker must have, whatever the contact: cati,level>=2"},
			{Key: "priority", Kind: channels.Integer, Help: "of the jobs of contacts of priority normal, -100 to 100 (default 1); high ones have 10 more, replies 20"},
			{Key: "wait_minutes", Kind: channels.Integer, Help: "how long a job waits for a worker before the contact ends as expired (default: until its window closes)"},
			{Key: "work_minutes", Kind: channels.Integer, Help: "how long a worker may have a job before the job is revoked and the contact ends as failed (default: as long as it lasts)"},
			{Key: "outcomes", Kind: channels.String, Help: "what disposition codes mean, joined by commas: wrong_number=failed,callback=no_answer; completed, busy, no_answer and failed mean themselves"},
			{Key: "dispositions", Kind: channels.String, Help: "the disposition of a survey's respondent for each disposition code, joined by commas: too_young=ineligible,later=call_back,done=none; dispositions are completed, refused, ineligible, partial, call_back and none. These codes, and callback, need no entry. A code may have an instant after @: callback@2026-11-24T15:00:00Z"},
			{Key: "other_outcome", Kind: channels.String, Help: "what any other disposition code means: completed (default), busy, no_answer, failed or canceled"},
		},
		Check: check,
		New:   func(c channels.Config) (channels.Driver, error) { return newDriver(c, router) },
	}
}

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
	v, ok := r.from[key].(float64)
	switch {
	case !ok:
		return usual
	case v != math.Trunc(v) || v < float64(low) || v > float64(high):
		r.add(key, "range", "must be a whole number from %d to %d", low, high)
		return usual
	}
	return int(v)
}

func check(s weir.Settings) []weir.FieldError {
	_, wrong := readSettings(s)
	return wrong
}

func readSettings(from weir.Settings) (settings, []weir.FieldError) {
	r := &reader{from: from}
	s := settings{
		queue: r.text("queue"), policy: r.text("classification_policy"), channel: r.text("router_channel"),
		priority: r.integer("priority", -100, 100, 1),
		wait:     time.Duration(r.integer("wait_minutes", 1, maxMinutes, 0)) * time.Minute,
		work:     time.Duration(r.integer("work_minutes", 1, maxMinutes, 0)) * time.Minute,
	}
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
	s.outcomes = map[string]weir.Outcome{}
	for _, o := range outcomes() {
		s.outcomes[string(o)] = o
	}
	if text := r.text("outcomes"); text != "" {
		for part := range strings.SplitSeq(text, ",") {
			code, word, _ := strings.Cut(part, "=")
			o := weir.Outcome(strings.TrimSpace(word))
			if code = normal(code); code == "" || !slices.Contains(outcomes(), o) {
				r.add("outcomes", "format", "must be like wrong_number=failed,callback=no_answer; outcomes are %s", outcomeWords())
				break
			}
			s.outcomes[code] = o
		}
	}
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

func outcomeWords() string {
	var words []string
	for _, o := range outcomes() {
		words = append(words, string(o))
	}
	return strings.Join(words, ", ")
}

func newDriver(c channels.Config, router routing.Engine) (channels.Driver, error) {
	if router == nil {
		return nil, errors.New("this program runs no router")
	}
	s, wrong := readSettings(c.Settings)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%s: %s", wrong[0].Pointer, wrong[0].Detail)
	}
	return &driver{settings: s, router: router}, nil
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
