package surveybroker

import "weir"

// wantedOf counts the survey's backlog: respondents that it would contact now
// if there were room. These are due retries whose channel works, and starts
// that pacing wants if the first channel of an arm works. A survey whose
// backlog stays above zero while it contacts no respondent is stuck; the metric
// exists to show that.
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

// showWanted exports the backlog of each survey, after a round that read the
// surveys.
func (r *round) showWanted() {
	for _, k := range r.mem.surveys {
		r.metrics.wanted.WithLabelValues(k.survey.Name).Set(float64(k.wanted))
	}
}
