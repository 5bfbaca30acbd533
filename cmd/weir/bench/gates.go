package bench

import "fmt"

// mostLate says which part of the contacts may be overtaken by more others than
// there are slots where the order is not strict: one in so many. A request that
// the machine holds up for some rounds of the other slots comes late, though it
// was sent in its turn. To come early is no accident: all slots together cannot
// be held up that much.
const mostLate = 10

// faults are the gates that a run did not pass; each makes its figures worth
// nothing. kills is how often the broker was killed.
func (f seenByProvider) faults(e expectation, kills int) []string {
	var list []string
	gate := func(broken bool, format string, args ...any) {
		if broken {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	gate(f.Distinct != e.N, "the provider saw %d of %d contacts", f.Distinct, e.N)
	gate(f.Strange > 0, "%d messages were none of the run's", f.Strange)
	gate(kills == 0 && f.Twice > 0, "%d contacts were sent twice", f.Twice)
	gate(kills > 0 && f.Twice > e.Channels*e.Capacity*kills, "%d contacts were sent twice in %d kills", f.Twice, kills)
	gate(f.MaxActive > e.Capacity, "%d were active on a channel of capacity %d", f.MaxActive, e.Capacity)
	gate(f.early > 0, "%d contacts overtook more than %d others, one %d", f.early, e.Capacity, f.mostEarly)
	gate(f.late > 0 && (e.Strict || f.late*mostLate > e.N), "%d contacts were overtaken by more than %d others, one by %d", f.late, e.Capacity, f.mostLate)
	gate(kills == 0 && f.Unheard > 0, "%d ends were not taken", f.Unheard)
	return list
}

// restartFaults are the gates of a restart, in which not every contact is sent:
// queued is how many the broker still has. It was stopped in order, so that none
// may be sent twice; but the provider may have given up to report an end while
// it was away.
func (f seenByProvider) restartFaults(e expectation, queued int) []string {
	sent := e
	sent.N, f.Unheard = f.Distinct, 0
	list := f.faults(sent, 0)
	if f.Distinct+queued != e.N {
		list = append(list, fmt.Sprintf("of %d contacts the provider saw %d and the broker has %d", e.N, f.Distinct, queued))
	}
	return list
}
