package bench

import (
	"context"
	"errors"
	"fmt"

	"weir/cmd/weirlab/bench/load"
)

// Bounds of how much worse a version may be than the one before it.
const (
	maxCPU  = 1.15 // CPU per contact
	minRate = 0.80 // contacts per second ÷ baseline
	// maxComparisons is the max number of comparisons; the second one follows if the
	// first result is bad, because a machine has slow moments.
	maxComparisons = 2
)

// compare measures this program and an earlier one alternately, each as users run
// it, and fails if this one is worse.
func (s *session) compare(ctx context.Context) error {
	var worse []string
	for range maxComparisons {
		if err := s.all(ctx, comparison(s.o)); err != nil {
			return err
		}
		if err := s.gates(); err != nil {
			s.conclude()
			return err
		}
		if worse = regressions(s.done); len(worse) == 0 {
			break
		}
		s.progress.say("%v: measured again", worse)
	}
	s.conclude()
	for _, text := range worse {
		_, _ = fmt.Fprintln(s.o.Out, "FAIL:", text)
	}
	if len(worse) > 0 {
		return errors.New("this version is slower than the one before it")
	}
	_, _ = fmt.Fprintln(s.o.Out, "PASS: not slower than the version before it")
	return nil
}

// comparison returns the runs of both programs and the baseline.
func comparison(o Options) []step {
	var steps []step
	for range o.Repeat {
		steps = append(steps, o.steps(load.Live, PeerBaseline)...)
		steps = append(steps, o.steps(load.Live, peerBefore)...)
		steps = append(steps, o.steps(load.Live, PeerSingle)...)
	}
	return steps
}

// regressions lists the figures in which the program is worse than the earlier one.
func regressions(all []Figures) []string {
	m := medians(groups(all))
	var worse []string
	base := m.find(load.Live, PeerBaseline)
	for _, g := range m {
		if g.mode != load.Live || len(g.peer) < len(peerBefore) || g.peer[:len(peerBefore)] != peerBefore {
			continue
		}
		now := m.find(load.Live, PeerSingle+g.peer[len(peerBefore):])
		more, ok := ratio(now, g, cpu)
		was, ok1 := ratio(g, base, rate)
		is, ok2 := ratio(now, base, rate)
		switch {
		case !ok || !ok1 || !ok2:
			worse = append(worse, "there is nothing to compare")
			continue
		case more > maxCPU:
			worse = append(worse, fmt.Sprintf("%s: CPU per contact is %.2f times that of the version before; at most %.2f", now.peer, more, maxCPU))
		}
		if is/was < minRate {
			worse = append(worse, fmt.Sprintf("%s: end to end ÷ baseline is %.2f, before it was %.2f; at least %.2f of that", now.peer, is, was, minRate))
		}
	}
	return worse
}
