package bench

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
)

// minEventRate is the least throughput with events of contacts ÷ without: while there is no
// interest in them, while they are written, and while a webhook gets the ends.
func minEventRate() map[string]float64 {
	return map[string]float64{eventsAuto: 0.99, eventsOn: 0.90, eventsWebhook: 0.90}
}

// environment returns the setting as a process has it.
func environment(w load.Workload) []string {
	if w.ContactEvents == "" {
		return nil
	}
	setting := w.ContactEvents
	if setting == eventsWebhook {
		setting = eventsAuto
	}
	return []string{"WEIR_CONTACT_EVENTS=" + setting}
}

// maxHookLag is how long the last event may take to a webhook after the last contact.
const maxHookLag = time.Minute

// addWebhook creates the webhook of a workload that has one.
func (s *httpSubject) addWebhook(ctx context.Context, p provider.Client, w load.Workload) error {
	if w.ContactEvents != eventsWebhook {
		return nil
	}
	return s.do(ctx, http.MethodPost, "/v1/webhooks", map[string]any{"url": p.URL + provider.HookPath, "types": []string{"weir.contact.done"}}, nil)
}

// awaitHooks waits until the webhook got the end of each contact, and records how long
// that took after the last contact.
func (m measurement) awaitHooks(ctx context.Context, f *Figures) error {
	if m.w.ContactEvents != eventsWebhook {
		return nil
	}
	for begun := time.Now(); ; {
		seen, err := m.p.Seen(ctx)
		if err != nil {
			return err
		}
		f.HookLag = time.Since(begun).Seconds()
		switch {
		case seen.Hooks == m.w.N:
			return nil
		case seen.Hooks > m.w.N || f.HookLag > maxHookLag.Seconds() || !machine.Sleep(ctx, 20*time.Millisecond):
			return fmt.Errorf("the webhook got %d events of %d contacts", seen.Hooks, m.w.N)
		}
	}
}

// compareContactEvents measures all settings alternately, and fails if one costs too much.
func (s *session) compareContactEvents(ctx context.Context) error {
	dear, err := s.untilGood(ctx, plan(s.o), costOfContactEvents)
	if err != nil {
		return err
	}
	rates, cpus, all := byTurn(s.done, rate), byTurn(s.done, cpu), byTurn(s.done, allCPU)
	for _, g := range groups(s.done) {
		if list := rates[g.series]; len(list) > 0 {
			_, _ = fmt.Fprintf(s.o.Out, "%s, %s: contact events %s ÷ off, median of %d turns: end to end %.3f ± %.3f, CPU %.3f, with the store's %.3f\n", g.mode, g.peer, g.events,
				len(list), middle(list), standardError(list), middle(cpus[g.series]), middle(all[g.series]))
		}
	}
	return s.verdict(dear, "events of contacts cost little, and nothing without an interest", "events of contacts cost too much")
}

// costOfContactEvents lists the settings that cost too much, by more than two standard errors:
// beside other work, turns of one program differ by a fifth.
func costOfContactEvents(all []Figures) (dear []string) {
	ratios := byTurn(all, rate)
	for _, g := range groups(all) {
		list := ratios[g.series]
		if least := minEventRate()[g.events]; g.mode == load.Live && len(list) > 0 && middle(list)+2*standardError(list) < least {
			dear = append(dear, fmt.Sprintf("%s: end to end with contact events %s ÷ off is %.3f ± %.3f; at least %.2f", g.peer, g.events, middle(list), standardError(list), least))
		}
	}
	return dear
}

// standardError is that of the mean of values: the more there are, the smaller it is.
func standardError(values []float64) float64 {
	n, sum, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += (v - sum/n) * (v - sum/n)
	}
	return math.Sqrt(squares / n / max(1, n-1))
}

// byTurn returns a figure of each run with events ÷ that of the run without them before it.
// These two are of the same turn: a machine that gets slower meanwhile changes both.
func byTurn(all []Figures, of func(Figures) float64) map[series][]float64 {
	off, ratios := map[series]Figures{}, map[series][]float64{}
	for _, f := range all {
		like := seriesOf(f)
		if like.events = eventsOff; f.Error != "" || f.Events == "" {
			continue
		}
		if before, ok := off[like]; ok && f.Events != eventsOff {
			ratios[seriesOf(f)] = append(ratios[seriesOf(f)], of(f)/of(before))
		}
		if f.Events == eventsOff {
			off[like] = f
		}
	}
	return ratios
}

// allCPU is the CPU of the program and of its store.
func allCPU(f Figures) float64 { return f.CPUClient + f.CPUServer }
