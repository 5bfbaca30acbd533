package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"weir/cmd/weirlab/bench/load"
)

// target is a line of the table of targets: one or more figures, each with a bound for
// each store.
type target struct {
	what  string
	parts []part
}

// part is a figure of a target. of returns its value from the medians of a session;
// false if it was not measured.
type part struct {
	format        string
	atMost        bool    // otherwise a min bound
	mysql, sqlite float64 // bounds; 0: there is no target yet
	of            func(m medians, store string) (float64, bool)
}

// targets returns the table of targets.
func targets() []target {
	return []target{
		{"live, enqueue in process: contacts/s ÷ baseline", []part{{"%.2f", false, 0.58, 0.58, toBaseline(load.Live, PeerInside)}}},
		{"… contacts that end after 2 s: contacts/s ÷ live", []part{{"%.2f", false, 0.95, 0.95, toLive("delay 2s", 0, sustained)}}},
		{"… 100 channels: contacts/s ÷ live", []part{{"%.2f", false, 0.90, 0.90, toLive("", 100, rate)}}},
		{"live over HTTP, batches of 100; one contact per request ÷ baseline", []part{
			{"%.2f", false, 0, 0, toBaseline(load.Live, PeerBatches)}, {"%.2f", false, 0, 0, toBaseline(load.Live, PeerSingle)},
		}},
		{"drain ÷ baseline", []part{{"%.2f", false, 0.62, 0.62, toBaseline(load.Drain, PeerInside)}}},
		{"CPU of Weir per contact ÷ baseline", []part{{"%.2f", true, 0, 0, cpuToBaseline}}},
		{"latency at 200/s over HTTP, p50; p99", []part{
			{"%.2f ms", true, 1.4, 1.1, of(load.Latency, PeerSingle, func(f Figures) float64 { return f.P50 })},
			{"%.2f ms", true, 4, 3, of(load.Latency, PeerSingle, func(f Figures) float64 { return f.P99 })},
		}},
		{"live beside 1,000,000 queued in a paused channel: CPU per contact ÷ live", []part{{"%.2f", true, 1.05, 1.05, besideBacklog}}},
		{"a freed slot: callback received → next contact at the provider, p50", []part{
			{"%.2f ms", true, 3, 3, of(load.Turnaround, PeerInside, func(f Figures) float64 { return f.P50 })},
		}},
		{"restart with 1,000,000 queued: first send; full rate; peak memory", []part{
			{"%.2f s", true, 1, 1, of(load.Restart, PeerSingle, func(f Figures) float64 { return f.FirstSend })},
			{"%.2f s", true, 3, 3, of(load.Restart, PeerSingle, func(f Figures) float64 { return f.FullRate })},
			{"%.0f MB", true, 150, 150, of(load.Restart, PeerSingle, func(f Figures) float64 { return f.RSSClient })},
		}},
		{"commits; statements at the store per 1,000 contacts, saturated", []part{
			{"%.0f", true, 40, 60, of(load.Live, PeerInside, commits)},
			{"%.0f", true, 200, 200, of(load.Live, PeerInside, statements)},
		}},
		{"… contacts that end after 2 s", []part{
			{"%.0f", true, 40, 60, ofVariant("delay 2s", 0, commits)}, {"%.0f", true, 200, 200, ofVariant("delay 2s", 0, statements)},
		}},
		{"… 100 channels", []part{{"%.0f", true, 40, 60, ofVariant("", 100, commits)}, {"%.0f", true, 200, 200, ofVariant("", 100, statements)}}},
		{"redo log (MariaDB), files (SQLite) per contact", []part{{"%.1f kB", true, 2.5, 5, of(load.Live, PeerInside, func(f Figures) float64 { return f.Written })}}},
		{"provider that answers after 400 ms, capacity 1,000: most in flight", []part{{"%.0f", false, 990, 990, ofVariant("answer 400ms", 1, func(f Figures) float64 { return float64(f.MaxActive) })}}},
		{"bulk enqueue over HTTP (batches of 1,000)", []part{{"%.0f/s", false, 60_000, 90_000, of(load.Bulk, PeerBulk, func(f Figures) float64 { return f.EnqueuePS })}}},
		{"idle, 1,000 channels: CPU; statements", []part{
			{"%.2f %% of a core", true, 0.5, 0.5, idleShare},
			{"%.1f/s", true, 2, 2, of(load.Idle, PeerSingle, func(f Figures) float64 { return f.IdleStmts })},
		}},
		{"enqueue in process at 0.7 of the rate of live, nothing waits: p50; p99", []part{
			{"%.2f ms", true, 8, 8, of(load.Loaded, PeerInside, func(f Figures) float64 { return f.P50 })},
			{"%.2f ms", true, 25, 25, of(load.Loaded, PeerInside, func(f Figures) float64 { return f.P99 })},
		}},
		{"live behind a queue that stands: contacts/s; CPU ÷ live", []part{
			{"%.0f/s", false, 0, 0, of(load.Standing, PeerInside, rate)},
			{"%.2f", true, 0, 0, func(m medians, store string) (float64, bool) {
				return ratio(m.find(load.Standing, PeerInside+" "+store), m.find(load.Live, PeerInside+" "+store), cpu)
			}},
		}},
		{"latency at 0.7 of the rate of live over HTTP, p50; p99", []part{
			{"%.2f ms", true, 0, 0, of(load.Loaded, PeerSingle, func(f Figures) float64 { return f.P50 })},
			{"%.2f ms", true, 0, 0, of(load.Loaded, PeerSingle, func(f Figures) float64 { return f.P99 })},
		}},
		{"contacts that end after 2 s: CPU of Weir ÷ live", []part{{"%.2f", true, 0, 0, toLive("delay 2s", 0, cpu)}}},
		{"provider that answers after 200 ms: CPU of Weir ÷ live; contacts/s", []part{
			{"%.2f", true, 0, 0, toLive("answer 200ms", 0, cpu)},
			{"%.0f/s", false, 0, 0, ofVariant("answer 200ms", 0, rate)},
		}},
		{"a survey from launch to done, respondents/s; with 10 streams of its events", []part{
			{"%.0f/s", false, 0, 0, of(load.Survey, PeerSingle, rate)},
			{"%.0f/s", false, 0, 0, func(m medians, store string) (float64, bool) {
				return figureOf(m.findVariant(load.Survey, PeerSingle+" "+store, "10 streams", 0), rate)
			}},
		}},
		{"router's engine, 10,000 workers, no job waits: matches/s; p99 of one", []part{
			{"%.0f/s", false, 0, 0, ofEngine("10000 workers, 0 waiting", rate)},
			{"%.3f ms", true, 0, 0, ofEngine("10000 workers, 0 waiting", func(f Figures) float64 { return f.P99 })},
		}},
		{"the same beside 10,000 jobs that no worker can take", []part{
			{"%.0f/s", false, 0, 0, ofEngine("10000 workers, 10000 waiting", rate)},
			{"%.3f ms", true, 0, 0, ofEngine("10000 workers, 10000 waiting", func(f Figures) float64 { return f.P99 })},
		}},
		{"calls through Verboice: CPU of Weir ÷ live", []part{{"%.2f", true, 0, 0, toLive("calls", 0, cpu)}}},
		{"1; 100; 1,000 channels: CPU of Weir ÷ live", []part{
			{"%.2f", true, 0, 0, toLive("", 1, cpu)}, {"%.2f", true, 0, 0, toLive("", 100, cpu)}, {"%.2f", true, 0, 0, toLive("", 1000, cpu)},
		}},
	}
}

// medians are the groups of a session.
type medians []*group

// find returns the group of a mode and peer with the most contacts, of the standard
// workload.
func (m medians) find(mode, peer string) *group { return m.findVariant(mode, peer, "", 0) }

// findVariant returns the group of a variant with a number of channels; 0: any, first
// of those with the most contacts.
func (m medians) findVariant(mode, peer, variant string, channels int) *group {
	var found *group
	for _, g := range m {
		if g.mode == mode && g.peer == peer && g.variant == variant && (channels == 0 || g.channels == channels) && len(g.runs) > 0 && (found == nil || g.n > found.n) {
			found = g
		}
	}
	return found
}

// of returns the function that finds the median of a figure.
func of(mode, peer string, figure func(Figures) float64) func(medians, string) (float64, bool) {
	return func(m medians, store string) (float64, bool) {
		return figureOf(m.find(mode, peer+" "+store), figure)
	}
}

// figureOf returns the median of a figure; false: nothing was measured.
func figureOf(g *group, figure func(Figures) float64) (float64, bool) {
	if g == nil {
		return 0, false
	}
	return g.median(figure), true
}

// ofVariant returns the function that finds the median of a figure of live with contacts
// of a variant, on a number of channels; 0: any.
func ofVariant(variant string, channels int, figure func(Figures) float64) func(medians, string) (float64, bool) {
	return func(m medians, store string) (float64, bool) {
		return figureOf(m.findVariant(load.Live, PeerInside+" "+store, variant, channels), figure)
	}
}

// ofEngine returns the function that finds the median of a figure of matching.
func ofEngine(variant string, figure func(Figures) float64) func(medians, string) (float64, bool) {
	return func(m medians, _ string) (float64, bool) {
		return figureOf(m.findVariant(load.Matching, peerEngine, variant, 0), figure)
	}
}

// toLive returns the function that compares a variant, or another number of channels,
// with the standard live run of as many contacts.
func toLive(variant string, channels int, figure func(Figures) float64) func(medians, string) (float64, bool) {
	return func(m medians, store string) (float64, bool) {
		peer := PeerInside + " " + store
		standard := m.find(load.Live, peer)
		g := m.findVariant(load.Live, peer, variant, channels)
		if g == nil || standard == nil || g == standard {
			return 0, false
		}
		for _, like := range m {
			if like.mode == load.Live && like.peer == peer && like.variant == "" && like.channels == standard.channels && like.n == g.n {
				return ratio(g, like, figure)
			}
		}
		return 0, false
	}
}

// toBaseline returns the function that finds the throughput as a ratio to the baseline's.
func toBaseline(mode, peer string) func(medians, string) (float64, bool) {
	return func(m medians, store string) (float64, bool) {
		return ratio(m.find(mode, peer+" "+store), m.find(mode, PeerBaseline), rate)
	}
}

func cpuToBaseline(m medians, store string) (float64, bool) {
	return ratio(m.find(load.Live, PeerInside+" "+store), m.find(load.Live, PeerBaseline), cpu)
}

// besideBacklog compares with a live run of as many contacts.
func besideBacklog(m medians, store string) (float64, bool) {
	beside := m.find(load.Backlog, PeerInside+" "+store)
	if beside == nil {
		return 0, false
	}
	for _, g := range m {
		if g.mode == load.Live && g.peer == beside.peer && g.n == beside.n && g.variant == beside.variant && g.channels == beside.channels {
			return ratio(beside, g, cpu)
		}
	}
	return 0, false
}

// idleShare converts the CPU seconds of a minute to hundredths of a core.
func idleShare(m medians, store string) (float64, bool) {
	seconds, ok := of(load.Idle, PeerSingle, func(f Figures) float64 { return f.IdleCPU })(m, store)
	return seconds / 60 * 100, ok
}

// verdict is a line of the table of targets for one store.
type verdict struct {
	target, reached string
	met             string // "yes", "no", "–" if something was not measured; empty: there is no target
}

// judge compares the target with the results of a session.
func (t target) judge(m medians, store string) verdict {
	v := verdict{met: "yes"}
	var bounds, reached []string
	bounded := false
	for _, p := range t.parts {
		sign, bound := "≥ ", p.sqlite
		if p.atMost {
			sign = "≤ "
		}
		if store == "mysql" {
			bound = p.mysql
		}
		_, unit, _ := strings.Cut(strings.ReplaceAll(p.format, "%%", "%"), "f")
		if bound == 0 {
			bounds = append(bounds, "none")
		} else {
			bounded = true
			bounds = append(bounds, sign+fmt.Sprintf("%g", bound)+unit)
		}
		value, ok := p.of(m, store)
		switch {
		case !ok:
			reached, v.met = append(reached, "–"), "–"
			continue
		case bound != 0 && (p.atMost && value > bound || !p.atMost && value < bound):
			if v.met == "yes" {
				v.met = "no"
			}
		}
		reached = append(reached, fmt.Sprintf(p.format, value))
	}
	if !bounded && v.met == "yes" {
		v.met = ""
	}
	v.target, v.reached = strings.Join(bounds, "; "), strings.Join(reached, "; ")
	return v
}

// sizes describes how large the runs behind the table were.
func sizes(m medians) string {
	largest := func(mode string) (n int) {
		for _, g := range m {
			if g.mode == mode {
				n = max(n, g.n)
			}
		}
		return n
	}
	return fmt.Sprintf("live and drain N=%d and %d, latency N=%d, turnaround N=%d, backlog N=%d beside %d, restart with %d queued, idle with %d channels",
		largest(load.Live), largest(load.Drain), largest(load.Latency), largest(load.Turnaround), largest(load.Backlog), largest(load.Bulk), largest(load.Restart), largest(load.Idle))
}

// printTargets prints the table of targets and results.
func printTargets(out io.Writer, all []Figures) {
	m := medians(groups(all))
	_, _ = fmt.Fprintf(out, "\nMedians of the runs above; %s.\n", sizes(m))
	printVerdicts(out, targets(), m)
	failed := 0
	for _, g := range m {
		failed += g.failed
	}
	if failed == 0 {
		_, _ = fmt.Fprintf(out, "Every gate was passed in all %d runs.\n", len(all))
	}
}

// printVerdicts prints targets and what was reached.
func printVerdicts(out io.Writer, list []target, m medians) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\tMySQL/MariaDB: target\treached\tmet\tSQLite FULL: target\treached\tmet")
	for _, t := range list {
		mysql, sqlite := t.judge(m, "mysql"), t.judge(m, "sqlite")
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.what, mysql.target, mysql.reached, mysql.met, sqlite.target, sqlite.reached, sqlite.met)
	}
	_ = w.Flush()
}
