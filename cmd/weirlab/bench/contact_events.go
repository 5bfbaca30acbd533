package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
	"weir/cmd/weirlab/machine"
)

// minEventRate is the least throughput with events of contacts ÷ without: while there is no
// interest in them, and while they are written. A webhook has none: its deliveries keep their
// pace whatever a contact costs, so that their share grows as contacts get cheaper. What it
// costs is compared with the version before.
func minEventRate() map[string]float64 {
	return map[string]float64{eventsAuto: 0.99, eventsOn: 0.90}
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
	rates, cpus, all := byTurn(s.done, eventsWithout, rate), byTurn(s.done, eventsWithout, cpu), byTurn(s.done, eventsWithout, allCPU)
	for _, g := range groups(s.done) {
		if list := rates[g.series]; len(list) > 0 {
			_, _ = fmt.Fprintf(s.o.Out, "%s, %s: contact events %s ÷ off, end to end %s, CPU %.3f, with the store's %.3f\n", g.mode, g.peer, g.events,
				described(list), middle(cpus[g.series]), middle(all[g.series]))
		}
	}
	return s.verdict(dear, "events of contacts cost little, and nothing without an interest", "events of contacts cost too much")
}

// eventsWithout returns the series with which one that has a setting of events is compared.
func eventsWithout(s series) (series, bool) {
	is := s.events
	s.events = eventsOff
	return s, is != "" && is != eventsOff
}

// costOfContactEvents lists the settings that cost too much.
func costOfContactEvents(all []Figures) (dear []string) {
	ratios := byTurn(all, eventsWithout, rate)
	for _, g := range groups(all) {
		least, bounded := minEventRate()[g.events]
		if g.mode != load.Live || !bounded {
			continue
		}
		what := fmt.Sprintf("%s: end to end with contact events %s ÷ off", g.peer, g.events)
		dear = appendIfBeyond(dear, what, ratios[g.series], atLeast(least))
	}
	return dear
}

// allCPU is the CPU of the program and of its store.
func allCPU(f Figures) float64 { return f.CPUClient + f.CPUServer }
