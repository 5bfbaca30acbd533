package bench

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"weir/cmd/weirlab/bench/load"
)

// severalTargets returns the targets of several processes on one database server.
func severalTargets() []target {
	p50 := func(f Figures) float64 { return f.P50 }
	p99 := func(f Figures) float64 { return f.P99 }
	return []target{
		{"a callback at a standby: freed slot → next contact at the provider, p50, minus the owner's", []part{{"%.2f ms", true, 5, 0, aboveOwner(load.Turnaround, p50)}}},
		{"accepted at a standby → at the provider, p50; p99, minus the owner's", []part{
			{"%.2f ms", true, 5, 0, aboveOwner(load.Latency, p50)}, {"%.2f ms", true, 20, 0, aboveOwner(load.Latency, p99)},
		}},
		{"one channel of 20 slots, calls of 30 ms, in turn over two processes: contacts/s ÷ one process", []part{{"%.2f", false, 0.95, 0, toOne(load.Live, narrowVariant, 1, 2, rate, rate)}}},
		{"12 channels, the same rate offered to three: contacts/s; CPU of the owner per contact ÷ one process", []part{
			{"%.2f", false, 1, 0, toOne(load.Loaded, wideVariant, wideChannels, processes, rate, rate)},
			{"%.2f", true, 1.08, 0, toOne(load.Loaded, wideVariant, wideChannels, processes, func(f Figures) float64 { return f.CPUOwner }, cpu)},
		}},
		{"… saturated: contacts/s ÷ one process", []part{{"%.2f", false, 0.8, 0, toOne(load.Live, wideVariant, wideChannels, processes, rate, rate)}}},
		{"idle, 1,000 channels, three processes: statements of the owner; of a standby; CPU of the owner", []part{
			{"%.1f/s", true, 2, 0, ofIdle(idleOwner)},
			{"%.1f/s", true, 1.5, 0, ofIdle(idleStandby)},
			{"%.2f %% of a core", true, 0.5, 0, ofIdle(func(f Figures) float64 { return f.IdleOwnerCPU / 60 * 100 })},
		}},
		{"the router at a standby, a job created, p50, minus the owner's", []part{{"%.2f ms", true, 3, 0, aboveOwner(load.Router, p50)}}},
	}
}

// elsewhere is a target that another command measures.
type elsewhere struct{ what, bound, by, test string }

// severalElsewhere returns the targets of several processes that this command does not
// measure. A name of a test is one of test/crashtest.
func severalElsewhere() []elsewhere {
	return []elsewhere{
		{"one process: CPU and statements per 1,000 contacts; contacts/s ÷ before", "≤ 1; ≥ 1", "make test-bench", ""},
		{"first dispatch elsewhere after kill -9", "≤ 7 s", "make test-crash", "TestCluster_KeepsItsGuaranteesWhicheverProcessDies"},
		{"… after SIGTERM", "≤ 1 s", "make test-crash", "TestCluster_KeepsItsGuaranteesWhicheverProcessDies"},
		{"rolling restart of three under load: requests and callbacks refused", "0", "make test-crash", "TestRollingRestart_IsNoticedByNobody"},
	}
}

const (
	narrowVariant = "calls, delay 30ms"
	wideVariant   = "delay 50ms"
)

// among returns the variant of several processes.
func among(variant string, number int, at string) string {
	w := load.Workload{Delay: load.StandardDelay, Processes: number, At: at}
	if variant == "" {
		return w.Variant()
	}
	return variant + ", " + w.Variant()
}

// aboveOwner returns the function that finds by how much a figure is greater at a standby
// than at the owner.
func aboveOwner(mode string, figure func(Figures) float64) func(medians, string) (float64, bool) {
	return func(m medians, store string) (float64, bool) {
		owner, a := figureOf(m.findVariant(mode, PeerSingle+" "+store, among("", processes, load.Owner), 0), figure)
		standby, b := figureOf(m.findVariant(mode, PeerSingle+" "+store, among("", processes, load.Standby), 0), figure)
		return standby - owner, a && b
	}
}

// toOne returns the function that compares a figure of several processes with one of a
// single process, to the two decimals that are shown.
func toOne(mode, variant string, channels, number int, several, one func(Figures) float64) func(medians, string) (float64, bool) {
	return func(m medians, store string) (float64, bool) {
		a, ok := figureOf(m.findVariant(mode, PeerSingle+" "+store, among(variant, number, ""), channels), several)
		b, there := figureOf(m.findVariant(mode, PeerSingle+" "+store, variant, channels), one)
		if !ok || !there || a == 0 || b == 0 {
			return 0, false
		}
		return math.Round(a/b*100) / 100, true
	}
}

// ofIdle returns the function that finds a figure of idle with several processes.
func ofIdle(figure func(Figures) float64) func(medians, string) (float64, bool) {
	return func(m medians, store string) (float64, bool) {
		return figureOf(m.findVariant(load.Idle, PeerSingle+" "+store, among("", processes, ""), 0), figure)
	}
}

// printSeveral prints the targets of several processes and results.
func printSeveral(out io.Writer, all []Figures) {
	m := medians(groups(all))
	_, _ = fmt.Fprintf(out, "\nSeveral processes of Weir on one MySQL or MariaDB; each run in turn with the one that it is compared with.\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\ttarget\treached\tmet")
	for _, t := range severalTargets() {
		v := t.judge(m, "mysql")
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.what, v.target, v.reached, v.met)
	}
	for _, e := range severalElsewhere() {
		by := e.by
		if e.test != "" {
			by += ", " + e.test
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t\n", e.what, e.bound, by)
	}
	_ = w.Flush()
}
