package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"weir/cmd/weirlab/bench/load"
)

// maxOthers is the max number of cores that other programs may use during a run that counts.
const maxOthers = 0.35

// series identifies the repetitions of a run.
type series struct {
	mode, peer  string
	n, channels int
	variant     string
	events      string // setting of the events of contacts
	queued      int    // beside
}

func seriesOf(f Figures) series {
	return series{f.Mode, f.Peer, f.N, f.Channels, f.Variant, f.Events, f.Queued}
}

// group holds the runs of a series.
type group struct {
	series
	runs    []Figures // the runs that count
	dropped int       // while other programs were busy
	failed  int       // at a gate
}

// groups sorts runs into groups, in the order of the first run of each. A run that
// failed at a gate has no figures. A run during which other programs were busy counts
// only if its group has no better one.
func groups(all []Figures) []*group {
	var list []*group
	for _, f := range all {
		of := seriesOf(f)
		i := slices.IndexFunc(list, func(g *group) bool {
			like := of
			if f.Mode == load.Loaded { // its number of contacts follows from the rate of another run
				like.n = g.n
			}
			return g.series == like
		})
		if i < 0 {
			i = len(list)
			list = append(list, &group{series: of})
		}
		if f.Error != "" {
			list[i].failed++
		} else {
			list[i].runs = append(list[i].runs, f)
		}
	}
	for _, g := range list {
		still := slices.DeleteFunc(slices.Clone(g.runs), func(f Figures) bool { return f.Others > maxOthers })
		if len(still) > 0 {
			g.dropped, g.runs = len(g.runs)-len(still), still
		}
	}
	return list
}

// median returns the median of a figure over the runs that count.
func (g *group) median(of func(Figures) float64) float64 {
	values := make([]float64, len(g.runs))
	for i, f := range g.runs {
		values[i] = of(f)
	}
	return middle(values)
}

// middle returns the median; of an even number of values, the mean of the middle two.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return summary(values).Center
}

// rate returns the throughput that a mode measures.
func rate(f Figures) float64 {
	switch f.Mode {
	case load.Drain, load.Standing, load.Turnaround:
		return f.DrainPS
	case load.Bulk:
		return f.EnqueuePS
	}
	return f.PerS
}

// sustained returns the throughput without the time that the last contact lasts at the
// provider.
func sustained(f Figures) float64 {
	if f.PerS == 0 || f.Delay == 0 {
		return f.PerS
	}
	n := float64(f.N)
	return n / (n/f.PerS - f.Delay)
}

func cpu(f Figures) float64 { return f.CPUClient }

func commits(f Figures) float64 { return f.Commits }

func statements(f Figures) float64 { return f.Statement }

func idleOwner(f Figures) float64 { return f.IdleOwnerStmts }

func idleStandby(f Figures) float64 { return f.IdleStandbyStmts }

// report prints the medians, and their ratios to the baseline of the same mode.
func report(out io.Writer, all []Figures) {
	list := groups(all)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "mode\tpeer\tN\truns\tenqueue/s\tdrain/s\tend to end/s\t÷ baseline\tCPU µs/contact\t÷ baseline\tstore µs\tp50 ms\tp99 ms\tcommits, statements/1,000\tkB/contact\tpeak MB\tstore MB\tmost active\t")
	dropped, failed := 0, 0
	for _, g := range list {
		dropped, failed = dropped+g.dropped, failed+g.failed
		if len(g.runs) > 0 {
			line(w, g, baselineOf(list, g))
		}
	}
	_ = w.Flush()
	special(out, list)
	if dropped > 0 {
		_, _ = fmt.Fprintf(out, "%d runs were dropped: other programs used more than %.2f cores\n", dropped, maxOthers)
	}
	if failed > 0 {
		_, _ = fmt.Fprintf(out, "%d runs have no figures: they did not pass their gates\n", failed)
	}
}

// baselineOf returns the baseline that a group is compared with: of its own mode, channels
// and variant; of its size if there is one.
func baselineOf(list []*group, g *group) *group {
	var found *group
	for _, f := range list {
		if f.peer == PeerBaseline && f.mode == g.mode && f.channels == g.channels && f.variant == g.variant && len(f.runs) > 0 && (found == nil || f.n == g.n) {
			found = f
		}
	}
	return found
}

func line(w io.Writer, g, base *group) {
	mode, toBase, cpuToBase := g.mode, "", ""
	if g.channels != 10 && (g.mode == load.Live || g.mode == load.Loaded) {
		mode = fmt.Sprintf("%s, %d channels", mode, g.channels)
	}
	if g.variant != "" {
		mode += ", " + g.variant
	}
	if g.events != "" {
		mode += ", contact events " + g.events
	}
	if base != nil {
		toBase = fmt.Sprintf("%.2f", g.median(rate)/base.median(rate))
		cpuToBase = fmt.Sprintf("%.2f", g.median(cpu)/base.median(cpu))
	}
	_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%.0f\t%.0f\t%.0f\t%s\t%.1f\t%s\t%.1f\t%.2f\t%.2f\t%.0f, %.0f\t%.1f\t%.0f\t%.0f\t%d\t\n", mode, g.peer, g.n, len(g.runs),
		g.median(func(f Figures) float64 { return f.EnqueuePS }), g.median(func(f Figures) float64 { return f.DrainPS }),
		g.median(func(f Figures) float64 { return f.PerS }), toBase, g.median(cpu)*100, cpuToBase,
		g.median(func(f Figures) float64 { return f.CPUServer })*100,
		g.median(func(f Figures) float64 { return f.P50 }), g.median(func(f Figures) float64 { return f.P99 }),
		g.median(commits), g.median(statements), g.median(func(f Figures) float64 { return f.Written }),
		g.median(func(f Figures) float64 { return f.RSSClient }), g.median(func(f Figures) float64 { return f.RSSServer }),
		slices.MaxFunc(g.runs, func(a, b Figures) int { return a.MaxActive - b.MaxActive }).MaxActive)
}

// special prints the figures that only some modes measure.
func special(out io.Writer, list []*group) {
	m := func(g *group, of func(Figures) float64) string {
		return strconv.FormatFloat(g.median(of), 'f', 2, 64)
	}
	for _, g := range list {
		if len(g.runs) == 0 {
			continue
		}
		switch g.mode {
		case load.Restart:
			_, _ = fmt.Fprintf(out, "restart, %s, %d queued: first send after %s s, full rate (%s/s) after %s s\n", g.peer, g.n,
				m(g, func(f Figures) float64 { return f.FirstSend }), m(g, rate), m(g, func(f Figures) float64 { return f.FullRate }))
		case load.Idle:
			_, _ = fmt.Fprintf(out, "idle, %s, %d channels: %s CPU seconds a minute (store: %s), %s statements a second\n", g.peer, g.channels,
				m(g, func(f Figures) float64 { return f.IdleCPU }), m(g, func(f Figures) float64 { return f.IdleStore }), m(g, func(f Figures) float64 { return f.IdleStmts }))
			if g.median(idleOwner) > 0 {
				_, _ = fmt.Fprintf(out, "… by the processes' own counts: the owner %s statements a second and %s CPU seconds a minute, a standby %s statements\n",
					m(g, idleOwner), m(g, func(f Figures) float64 { return f.IdleOwnerCPU }), m(g, idleStandby))
			}
		case load.Matching:
			_, _ = fmt.Fprintf(out, "matching, %s: %.4f ms at the median, %.4f ms at the 99th percentile\n", g.variant,
				g.median(func(f Figures) float64 { return f.P50 }), g.median(func(f Figures) float64 { return f.P99 }))
		case load.Crash:
			_, _ = fmt.Fprintf(out, "crash, %s, %d kills: %s lost, %s sent twice\n", g.peer, kills,
				m(g, func(f Figures) float64 { return float64(f.Lost) }), m(g, func(f Figures) float64 { return float64(f.Duplicate) }))
		}
	}
}

func ratio(a, b *group, figure func(Figures) float64) (float64, bool) {
	if a == nil || b == nil || len(a.runs) == 0 || len(b.runs) == 0 || b.median(figure) == 0 {
		return 0, false
	}
	return a.median(figure) / b.median(figure), true
}
