package workers

import (
	"errors"
	"strconv"
	"time"

	"weir"
	"weir/channels"
	"weir/router"
	"weir/router/label"
	"weir/router/resource"
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

var (
	errLacks   = errors.New("the contact lacks a label that the channel needs")
	errNumber  = errors.New("a label of the contact must be a number")
	errMachine = errors.New("call instructions cannot be given to people")
)

// selector returns the selector for a contact; ok is false if there is none.
func (m mapping) selector(labels map[string]string) (s resource.WorkerSelector, ok bool, err error) {
	value := labels[m.label]
	switch {
	case value == "" && m.must:
		return s, false, errLacks
	case value == "":
		return s, false, nil
	case m.named:
		return resource.WorkerSelector{Key: m.key + value + m.suffix, Operator: label.Equal, Value: label.Bool(true)}, true, nil
	case m.op != label.Equal:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return s, false, errNumber
		}
		return resource.WorkerSelector{Key: m.key, Operator: m.op, Value: label.Number(n)}, true, nil
	}
	return resource.WorkerSelector{Key: m.key, Operator: label.Equal, Value: typed(value)}, true, nil
}

// job returns the job of an attempt.
func (s *settings) job(a channels.Attempt, now time.Time) (resource.JobSpec, error) {
	j := resource.JobSpec{
		ChannelID: s.channel, ChannelReference: reference(a.ID), QueueID: s.queue, ClassificationPolicyID: s.policy,
		Priority: new(s.priorityOf(a.Priority)), Labels: labelsOf(a.Labels),
		Tags:     label.Set{tagTo: label.Text(a.To), tagContact: label.Text(a.ID.Ref.String())},
		NotAfter: a.NotAfter, RequestedWorkerSelectors: append([]resource.WorkerSelector(nil), s.require...),
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
	// Both bounds hold: the earlier one ends the wait.
	if limit := now.Add(s.wait); s.wait > 0 && (j.NotAfter.IsZero() || limit.Before(j.NotAfter)) {
		j.NotAfter = limit
	}
	if a.Survey != "" {
		j.Tags[tagSurvey] = label.Text(a.Survey)
	}
	for _, text := range a.Messages {
		j.Notes = append(j.Notes, resource.Note{Message: text})
	}
	if c := a.Call; c != nil {
		if c.TwiML != "" {
			return j, errMachine
		}
		if c.CallbackURL != "" {
			j.Tags[tagLink] = label.Text(c.CallbackURL)
		}
		if c.CallFlowID != 0 {
			j.Tags[tagFlow] = label.Number(float64(c.CallFlowID))
		}
	}
	return j, nil
}

// The router takes -100 to 100. The steps of 10 leave room for jobs of other sources between
// them.
func (s *settings) priorityOf(p weir.Priority) int {
	more := map[weir.Priority]int{weir.High: 10, weir.Reply: 20}[p]
	return min(100, s.priority+more)
}

// reference returns the channel reference of an attempt's job.
func reference(a weir.AttemptRef) string { return referencePrefix + a.String() }

// ours reports whether a job was created for an attempt.
// Clients of the router choose ids of jobs, too, so that the id alone proves nothing.
func ours(j *router.Job, a weir.AttemptRef) bool { return j.ChannelReference == reference(a) }
