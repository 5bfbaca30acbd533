package surveybroker

import "weir"

// wantedOf counts whom a survey would contact now if only there was room: those
// whose retry is due, and those whom pacing wants started, where a channel of
// theirs works. While it stays above zero and nobody is contacted, the survey is
// stuck; that is what the figure is for.
func (r *round) wantedOf(k *known, retries []item, traffic map[weir.ChannelID]*traffic) int {
	works := func(id weir.ChannelID) bool {
		t := traffic[id]
		return t != nil && t.why.IsZero()
	}
	n := 0
	for _, i := range retries {
		if works(i.over) {
			n++
		}
	}
	t := r.tallies[k.survey.ID]
	for _, arm := range k.plan.Arms {
		if works(r.named[k.plan.Channels[arm.Modes[0]]]) {
			return n + max(0, min(t.verdict.Start, t.Pending))
		}
	}
	return n
}

// showWanted tells the figures of a round that looked at the surveys.
func (r *round) showWanted() {
	for _, k := range r.mem.surveys {
		r.metrics.wanted.WithLabelValues(k.survey.Name).Set(float64(k.wanted))
	}
}
