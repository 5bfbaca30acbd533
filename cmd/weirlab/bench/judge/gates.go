package judge

import "fmt"

// maxLate limits the share of contacts that more others than there are slots may
// overtake, where the order is not strict: one in maxLate. A request that the machine
// delays for some rounds of the other slots arrives late, although it was sent in its
// turn. Early arrival is not caused by such delays: all slots together cannot be
// delayed that much.
const maxLate = 10

// Faults lists the gates that a run did not pass; each invalidates its figures.
// kills is how often the broker was killed.
func (s Seen) Faults(e Expectation, kills int) []string {
	var list []string
	gate := func(broken bool, format string, args ...any) {
		if broken {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	gate(s.Distinct != e.N, "the provider saw %d of %d contacts", s.Distinct, e.N)
	gate(s.Strange > 0, "%d messages were none of the run's", s.Strange)
	gate(kills == 0 && s.Twice > 0, "%d contacts were sent twice", s.Twice)
	gate(kills > 0 && s.Twice > e.Channels*e.Capacity*kills, "%d contacts were sent twice in %d kills", s.Twice, kills)
	gate(s.MaxActive > e.Capacity, "%d were active on a channel of capacity %d", s.MaxActive, e.Capacity)
	gate(s.Early > 0, "%d contacts overtook more than %d others, one %d", s.Early, e.Capacity, s.MaxEarly)
	gate(s.Late > 0 && (e.Strict || s.Late*maxLate > e.N), "%d contacts were overtaken by more than %d others, one by %d", s.Late, e.Capacity, s.MaxLate)
	gate(kills == 0 && s.Refused > 0, "%d reports of an end were not accepted", s.Refused)
	return list
}

// RestartFaults lists the gates that a restart did not pass. Not every contact is sent
// in it: queued is how many the broker still has. The broker was stopped gracefully, so
// none may be sent twice; but the provider may have given up reporting an end while
// the broker was stopped.
func (s Seen) RestartFaults(e Expectation, queued int) []string {
	sent := e
	sent.N, s.Refused = s.Distinct, 0
	list := s.Faults(sent, 0)
	if s.Distinct+queued != e.N {
		list = append(list, fmt.Sprintf("of %d contacts the provider saw %d and the broker has %d", e.N, s.Distinct, queued))
	}
	return list
}
