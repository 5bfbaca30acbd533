package surveys_test

import (
	"fmt"
	"slices"
	"time"

	"weir"
	"weir/surveys"
)

func (s *simulation) fail(format string, args ...any) {
	s.failures = append(s.failures, fmt.Sprintf("at %v: ", time.Now().UTC().Format(time.RFC3339))+fmt.Sprintf(format, args...))
}

// onDispatch checks each contact that a provider accepts. The caller holds the
// store's lock.
func (s *simulation) onDispatch(c weir.Contact) {
	id, now := surveys.RespondentID(c.Owner.ID), time.Now()
	s.messages[id] += len(c.Messages)
	if c.Owner.Serial == 0 {
		return
	}
	switch {
	case !s.plans[c.Owner.Group].Schedule.Contains(now):
		s.fail("%v is contacted outside its window", id)
	case s.ended[id]:
		s.fail("%v is contacted after its end", id)
	case s.open[id]:
		s.fail("%v is contacted twice at a time", id)
	}
	if at := s.paused[c.Owner.Group]; !at.IsZero() && now.Sub(at) > 5*time.Second {
		s.fail("%v of a paused survey is contacted", id)
	}
	s.open[id], s.contacted[id] = true, true
}

// onEnd counts attempts when they are done.
func (s *simulation) onEnd(c weir.Contact) {
	if c.Owner.Serial == 0 || c.SentAt.IsZero() {
		return
	}
	id := surveys.RespondentID(c.Owner.ID)
	s.open[id] = false
	if slices.Contains([]weir.Outcome{weir.Completed, weir.Busy, weir.NoAnswer}, c.Outcome) && !s.endUnreported[c.Key] {
		s.proven[id] = true
	}
	if c.Outcome == weir.Expired {
		return
	}
	mode := surveys.Mode(c.Labels["mode"])
	s.attempts[id] = s.attempts[id].Add(mode, 1)
	n := map[surveys.Mode]int{surveys.IVR: s.attempts[id].IVR, surveys.SMS: s.attempts[id].SMS}[mode]
	if most := s.plans[c.Owner.Group].Retries[mode].Attempts(); n > most {
		s.fail("%v was tried %d times by %s, at most %d", id, n, mode, most)
	}
}

// onMove observes what the survey broker writes.
func (s *simulation) onMove(m surveys.Move) {
	// Virtual time does not advance during a round, so the twins are compared
	// between rounds.
	if now := time.Now(); s.bothStarting && now != s.instant {
		s.instant = now
		if s.bothStarting = s.pending(s.twins[0]) > 0 && s.pending(s.twins[1]) > 0; s.bothStarting {
			s.enqueuedApart = [2]int{s.enqueued[s.twins[0]], s.enqueued[s.twins[1]]}
		}
	}
	if m.Was.Status.Final() && m.Is.Status != m.Was.Status {
		s.fail("%v was %s and becomes %s", m.Was.ID, m.Was.Status, m.Is.Status)
	}
	if !m.Is.CameTo(m.Was.FurthestStep()) {
		s.fail("%v had come to %q, and then to %q", m.Was.ID, m.Was.FurthestStep(), m.Is.FurthestStep())
	}
	if m.Is.Status.Final() {
		s.ended[m.Was.ID] = true
	}
	// Expired contacts are enqueued again without competing for room, and a
	// fallback uses another channel.
	if m.Enqueue != nil && m.Was.Progress.Contact == surveys.Idle && m.Is.Step == 0 {
		s.enqueued[m.Is.Survey]++
	}
}

func (s *simulation) pending(survey int64) (n int) {
	for g, k := range s.store.sums[survey].Respondents {
		if g.Status == surveys.Pending {
			n += k
		}
	}
	return n
}

// checkAll checks the final state.
func (s *simulation) checkAll() {
	for id, sv := range s.store.surveys {
		if sv.State != surveys.Done {
			s.fail("survey %s is %s: %v", sv.Name, sv.State, s.statusCounts(id))
		}
		total, finished := 0, map[surveys.RespondentID]int{}
		for g, n := range s.store.sums[id].Respondents {
			if total += n; !g.Status.Final() {
				s.fail("%d respondents of %s are %s", n, sv.Name, g.Status)
			}
		}
		for _, e := range s.store.log[id] {
			if e.Event == "finished" {
				finished[e.Respondent]++
			}
		}
		if total != len(s.store.members[id]) || len(finished) != total {
			s.fail("the sums of %s are of %d, its ends of %d, its respondents %d", sv.Name, total, len(finished), len(s.store.members[id]))
		}
		came := make([]int, len(surveys.Funnel()))
		for _, r := range s.respondents(id) {
			s.checkRespondent(&r, finished[r.ID])
			for i, step := range surveys.Funnel() {
				if r.CameTo(step) {
					came[i]++
				}
			}
		}
		funnel := s.store.sums[id].Funnel()
		if !slices.Equal(funnel, came) || !slices.IsSortedFunc(funnel, func(a, b int) int { return b - a }) || funnel[0] != total {
			s.fail("the funnel of %s is %d; of %d respondents, %d came to its steps", sv.Name, funnel, total, came)
		}
	}
	if len(s.store.outbox) > 0 {
		s.fail("%d outbox entries are left", len(s.store.outbox))
	}
	if a, b := s.enqueuedApart[0], s.enqueuedApart[1]; float64(max(a-b, b-a)) > 0.1*float64(max(a, b))+2 {
		s.fail("two equal surveys were given %d and %d", a, b)
	}
	for id, most := range s.channels.maxInFlight {
		if most > s.store.channels[id].Capacity {
			s.fail("channel %d had %d in flight", id, most)
		}
	}
}

func (s *simulation) checkRespondent(r *surveys.Respondent, ends int) {
	if ends != 1 || r.Finished.IsZero() {
		s.fail("%v came to its end %d times, the last at %v", r.ID, ends, r.Finished)
	}
	pl := s.plans[r.Survey]
	if r.Attempts.IVR > pl.Retries[surveys.IVR].Attempts() || r.Attempts.SMS > pl.Retries[surveys.SMS].Attempts() {
		s.fail("%v has made %+v", r.ID, r.Attempts)
	}
	// What is counted of a contact whose acceptance was not reported depends on its end.
	if sent := s.messages[r.ID]; r.Totals.Sent > sent || r.Totals.Sent < sent && !s.unreported[r.ID] || r.Totals.Received != s.received[r.Phone] {
		s.fail("%v was sent %d messages and sent %d, the totals are %+v", r.ID, sent, s.received[r.Phone], r.Totals)
	}
	// Whoever answered was contacted, by whatever way. An end proves it if the acceptance was not reported.
	came, contacted := r.CameTo(surveys.Contacted), s.contacted[r.ID] || r.CameTo(surveys.Started)
	if came && !contacted || !came && (s.proven[r.ID] || contacted && !s.unreported[r.ID]) {
		s.fail("%v, %s, was contacted: %t, and has come to %q", r.ID, r.Disposition, contacted, r.FurthestStep())
	}
	if made := pl.AttemptsMade(r.Progress); min(made.IVR, made.SMS) < 0 {
		s.fail("%v has made %+v", r.ID, made)
	}
}
