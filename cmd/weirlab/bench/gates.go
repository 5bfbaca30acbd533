package bench

import "fmt"

// mostLate limits the share of contacts that more others than there are slots may
// overtake, where the order is not strict: one in mostLate. A request that the machine
// delays for some rounds of the other slots arrives late, although it was sent in its
// turn. Early arrival is not caused by such delays: all slots together cannot be
// delayed that much.
const mostLate = 10

// faults lists the gates that a run did not pass; each invalidates its figures.
// kills is how often the broker was killed.
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

// restartFaults lists the gates that a restart did not pass. Not every contact is sent
// in it: queued is how many the broker still has. The broker was stopped gracefully, so
// none may be sent twice; but the provider may have given up reporting an end while
// the broker was stopped.
func (f seenByProvider) restartFaults(e expectation, queued int) []string {
	sent := e
	sent.N, f.Unheard = f.Distinct, 0
	list := f.faults(sent, 0)
	if f.Distinct+queued != e.N {
		list = append(list, fmt.Sprintf("of %d contacts the provider saw %d and the broker has %d", e.N, f.Distinct, queued))
	}
	return list
}
