package workers

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/routing"
)

// Tags of a job that instruct its worker.
const (
	tagTo      = "to"        // the address
	tagContact = "contact"   // id of the contact
	tagSurvey  = "survey"    // name of the survey, if there is one
	tagLink    = "link"      // URL to open, such as that of a form
	tagFlow    = "call_flow" // number of the call flow
)

// referencePrefix begins the channel reference of our jobs.
const referencePrefix = "weir:"

// mapping derives a selector from a label of the contact.
type mapping struct {
	label  string
	op     routing.Operator
	key    string // of the worker's label; with named, the part before the value
	suffix string // the part after the value
	named  bool   // the value is part of the name of a label that must be true
	must   bool   // the contact must have the label
}

// parseMapping parses label, label=key, label=pre*post, label>=key, label<=key,
// each followed by ! if the contact must have the label.
func parseMapping(part string) (m mapping, ok bool) {
	part, m.must = strings.CutSuffix(part, "!")
	m.op = routing.Equal
	label, key, given := strings.Cut(part, "=")
	switch {
	case !given:
		key = label
	case strings.HasSuffix(label, ">"):
		label, m.op = strings.TrimSuffix(label, ">"), routing.GreaterOrEqual
	case strings.HasSuffix(label, "<"):
		label, m.op = strings.TrimSuffix(label, "<"), routing.LessOrEqual
	}
	m.label, m.key = strings.TrimSpace(label), strings.TrimSpace(key)
	if before, after, named := strings.Cut(m.key, "*"); named {
		m.key, m.suffix, m.named = before, after, true
	}
	plain := !strings.ContainsAny(m.label, "<>=!*") && !strings.ContainsAny(m.key+m.suffix, "<>=!*")
	return m, plain && m.label != "" && (m.key != "" || m.named) && (!m.named || m.op == routing.Equal)
}

var (
	errLacks   = errors.New("the contact lacks a label that the channel needs")
	errNumber  = errors.New("a label of the contact is no number and has to be one")
	errMachine = errors.New("instructions for machines are not for people")
)

// selector returns the selector for a contact; ok is false if there is none.
func (m mapping) selector(labels map[string]string) (s routing.WorkerSelector, ok bool, err error) {
	value := labels[m.label]
	switch {
	case value == "" && m.must:
		return s, false, errLacks
	case value == "":
		return s, false, nil
	case m.named:
		return routing.WorkerSelector{Key: m.key + value + m.suffix, Operator: routing.Equal, Value: routing.Bool(true)}, true, nil
	case m.op != routing.Equal:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return s, false, errNumber
		}
		return routing.WorkerSelector{Key: m.key, Operator: m.op, Value: routing.Number(n)}, true, nil
	}
	return routing.WorkerSelector{Key: m.key, Operator: routing.Equal, Value: typed(value)}, true, nil
}

// job returns the job of an attempt.
func (s *settings) job(a channels.Attempt, now time.Time) (routing.JobSpec, error) {
	j := routing.JobSpec{
		ChannelID: s.channel, ChannelReference: reference(a.ID), QueueID: s.queue, ClassificationPolicyID: s.policy,
		Priority: new(s.priorityOf(a.Priority)), Labels: labelsOf(a.Labels),
		Tags:     routing.Labels{tagTo: routing.Text(a.To), tagContact: routing.Text(a.ID.Ref.String())},
		NotAfter: a.NotAfter, RequestedWorkerSelectors: append([]routing.WorkerSelector(nil), s.require...),
	}
	for _, m := range s.mappings {
		sel, ok, err := m.selector(a.Labels)
		if err != nil {
			return j, err
		}
		if ok {
			j.RequestedWorkerSelectors = append(j.RequestedWorkerSelectors, sel)
		}
	}
	if limit := now.Add(s.wait); s.wait > 0 && (j.NotAfter.IsZero() || limit.Before(j.NotAfter)) {
		j.NotAfter = limit
	}
	if a.Survey != "" {
		j.Tags[tagSurvey] = routing.Text(a.Survey)
	}
	for _, text := range a.Messages {
		j.Notes = append(j.Notes, routing.Note{Message: text})
	}
	if c := a.Call; c != nil {
		if c.TwiML != "" {
			return j, errMachine
		}
		if c.CallbackURL != "" {
			j.Tags[tagLink] = routing.Text(c.CallbackURL)
		}
		if c.CallFlowID != 0 {
			j.Tags[tagFlow] = routing.Number(float64(c.CallFlowID))
		}
	}
	return j, nil
}

func (s *settings) priorityOf(p weir.Priority) int {
	more := map[weir.Priority]int{weir.High: 10, weir.Reply: 20}[p]
	return min(100, s.priority+more)
}

// reference returns the channel reference of an attempt's job.
func reference(a weir.AttemptRef) string { return referencePrefix + a.String() }

// ours reports whether a job is the one that we created for an attempt.
func ours(j *routing.Job, a weir.AttemptRef) bool { return j.ChannelReference == reference(a) }
