package routing

import (
	"maps"
	"slices"
	"time"
	"weir/routing/eventlog"
	"weir/routing/resource"
)

// Figures are counts of jobs, workers and offers.
type Figures struct {
	Jobs           map[resource.JobStatus]int
	Workers        map[resource.WorkerState]int
	Offers         int       // open ones
	OldestQueuedAt time.Time // zero when no job is queued
}

// Figures returns the current counts. It does not walk the jobs.
func (s *State) Figures() Figures {
	f := Figures{Jobs: maps.Clone(s.counts), Workers: map[resource.WorkerState]int{}, Offers: len(s.offers)}
	for _, q := range s.queues {
		for p := range q.ranks {
			f.OldestQueuedAt = sooner(f.OldestQueuedAt, sooner(q.oldest(true, p), q.oldest(false, p)))
		}
	}
	for _, w := range s.workers {
		f.Workers[w.State]++
	}
	return f
}

// count keeps the number of jobs in each state.
func (s *State) count(j *job, now resource.JobStatus) {
	if j.counted == now {
		return
	}
	if j.counted != "" {
		if s.counts[j.counted]--; s.counts[j.counted] == 0 {
			delete(s.counts, j.counted)
		}
	}
	if j.counted = now; now != "" {
		s.counts[now]++
	}
}

// Settings returns the limits in force.
func (s *State) Settings() Settings { return s.settings }

// With returns a copy of the state under other limits. Events that the copy
// makes must be folded into a snapshot of the copy, not of the original.
func (s *State) With(settings Settings) (*State, error) {
	cut := s.Cut()
	cut.head.Settings = settings
	data, err := cut.Encode()
	if err != nil {
		return nil, err
	}
	return Restore(data)
}

// Owed returns the unanswered events that ask the caller for results, so that
// it can issue the requests again after a restart. Their time is that of the
// state; scores are requested for the workers that are eligible now.
func (s *State) Owed() []eventlog.Event {
	var out []eventlog.Event
	for _, id := range s.Asked() {
		j := s.jobs[id]
		head := s.jobHead(j)
		head.Header = eventlog.Header{Seq: j.Round, At: s.now}
		switch {
		case j.Asks == AskRules:
			out = append(out, &eventlog.JobRulesAskedEvent{JobHead: head, Rules: s.classes[j.ClassificationPolicyID].remoteRules()})
		case j.queue != nil:
			mode := j.queue.mode()
			e := &eventlog.JobScoresAskedEvent{JobHead: head, Options: mode.ScoringRuleOptions, Selectors: slices.Concat(j.RequestedWorkerSelectors, j.Attached)}
			if mode.ScoringRule != nil {
				e.Rule = *mode.ScoringRule
			}
			for pos := j.kin.query.next(0); pos >= 0; pos = j.kin.query.next(pos + 1) {
				if w := s.index.at[pos]; s.fits(j, w) {
					e.Workers = append(e.Workers, w.ID)
				}
			}
			slices.Sort(e.Workers)
			out = append(out, e)
		}
	}
	return out
}
