package bench

import (
	"fmt"
	"math"

	"golang.org/x/perf/benchmath"
)

// confidence is that of intervals: of twenty, one may miss the true median by chance.
const confidence = 0.95

// minTurns is how many turns an interval with that confidence needs: of six values all are on
// one side of the true median in one of 32 cases.
const minTurns = 6

// summary returns the median of values and its confidence interval. It assumes nothing about
// their distribution; of fewer than minTurns values, the interval has no bounds.
func summary(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), confidence)
}

// described is the text of a median and its interval.
func described(values []float64) string {
	s := summary(values)
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return fmt.Sprintf("%.3f (median of %d turns; %d are needed for an interval)", s.Center, len(values), minTurns)
	}
	return fmt.Sprintf("%.3f (%.3f to %.3f, median of %d turns)", s.Center, s.Lo, s.Hi, len(values))
}

// limit is how far a ratio may be from 1, which is no difference.
type limit struct {
	bound float64
	most  bool
}

func atMost(bound float64) limit  { return limit{bound, true} }
func atLeast(bound float64) limit { return limit{bound, false} }

// appendIfBeyond adds a text to a list if the median of ratios is beyond a limit. It says
// so as well if that may be chance, that is, if no difference is within the interval: a
// machine that is too noisy to tell has shown nothing.
func appendIfBeyond(list []string, what string, ratios []float64, l limit) []string {
	if len(ratios) == 0 {
		return list
	}
	s, word := summary(ratios), "at least"
	beyond, chance := s.Center < l.bound, s.Hi >= 1
	if l.most {
		beyond, chance, word = s.Center > l.bound, s.Lo <= 1, "at most"
	}
	if !beyond {
		return list
	}
	text := fmt.Sprintf("%s is %s; %s %.2f", what, described(ratios), word, l.bound)
	if chance {
		text += "; that may be chance: more turns or a quieter machine would tell"
	}
	return append(list, text)
}

// byTurn returns a figure of each run ÷ that of the run of its turn with which it is
// compared, in the order of the turns: a machine that gets slower meanwhile changes both.
// base returns the series of the other run; false for runs that are compared with none.
func byTurn(all []Figures, base func(series) (series, bool), of func(Figures) float64) map[series][]float64 {
	runs := map[series][]Figures{}
	for _, f := range all {
		if f.Error == "" {
			runs[seriesOf(f)] = append(runs[seriesOf(f)], f)
		}
	}
	ratios := map[series][]float64{}
	for s, list := range runs {
		other, ok := base(s)
		if !ok {
			continue
		}
		for turn := range min(len(list), len(runs[other])) {
			if with := of(runs[other][turn]); with != 0 {
				ratios[s] = append(ratios[s], of(list[turn])/with)
			}
		}
	}
	return ratios
}
