package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"weir/cmd/weirlab/bench/load"
)

// overHTTPSuffix marks a program that other programs enqueue into over HTTP.
const overHTTPSuffix = "+http"

// ComparePeers reads the figures of Weir and of other programs, a line of JSON for each
// run, and prints their medians with Weir's as ratios to them: each program beside the
// Weir that is used in the same way, by function calls or over HTTP.
func ComparePeers(in io.Reader, out io.Writer) error {
	all, err := readFigures(in)
	if err != nil {
		return err
	}
	m := medians(groups(all))
	for _, mode := range []string{load.Live, load.Drain, load.Latency} {
		m.comparePeers(out, mode)
	}
	m.peerTargets(out)
	return nil
}

// Programs of the folder that targets name.
const (
	peerMemory = "memory" // a baseline without a store
	peerSketch = "actor-" // a sketch of a broker with the store that follows
)

// peerTargets prints the targets that compare with other programs.
func (m medians) peerTargets(out io.Writer) {
	toMemory := func(mode, peer, suffix string) func(medians, string) (float64, bool) {
		return func(m medians, store string) (float64, bool) {
			return ratio(m.find(mode, peer+" "+store), m.find(mode, peerMemory+suffix), rate)
		}
	}
	printVerdicts(out, []target{
		{"live, enqueue in process: contacts/s ÷ memory", []part{{"%.2f", false, 0.58, 0.58, toMemory(load.Live, PeerInside, "")}}},
		{"live over HTTP, one contact per request: contacts/s ÷ memory over HTTP", []part{{"%.2f", false, 0.65, 0.65, toMemory(load.Live, PeerSingle, overHTTPSuffix)}}},
		{"drain: contacts/s ÷ memory", []part{{"%.2f", false, 0.62, 0.62, toMemory(load.Drain, PeerInside, "")}}},
		{"live: CPU of program and server ÷ the sketch's", []part{{"%.2f", true, 1.5, 1.3, toSketch}}},
		{"live: contacts/s ÷ the fastest other queue's; CPU ÷ the cheapest's", []part{{"%.2f", false, 2, 2, toQueues(rate, true)}, {"%.2f", true, 1, 1, toQueues(allCPU, false)}}},
	}, m)
}

// toSketch returns the CPU as a ratio to that of the sketch with the same kind of store.
func toSketch(m medians, store string) (float64, bool) {
	for _, g := range m {
		if g.mode == load.Live && strings.HasPrefix(g.peer, peerSketch+store) && !strings.HasSuffix(g.peer, overHTTPSuffix) && len(g.runs) > 0 {
			return ratio(m.find(load.Live, PeerInside+" "+store), g, allCPU)
		}
	}
	return 0, false
}

// toQueues returns the function that compares with the job queues: the one with the
// highest or the lowest figure.
func toQueues(figure func(Figures) float64, highest bool) func(medians, string) (float64, bool) {
	return func(m medians, store string) (float64, bool) {
		var best *group
		for _, g := range m {
			switch name, _, _ := strings.Cut(g.peer, " "); {
			case g.mode != load.Live || len(g.runs) == 0 || strings.HasSuffix(g.peer, overHTTPSuffix):
			case slices.Contains(append(peers(), peerMemory), name) || strings.HasPrefix(name, peerSketch):
			case best == nil || (g.median(figure) > best.median(figure)) == highest:
				best = g
			}
		}
		return ratio(m.find(load.Live, PeerInside+" "+store), best, figure)
	}
}

// readFigures reads the runs that contacts are enqueued one by one in.
func readFigures(in io.Reader) ([]Figures, error) {
	var all []Figures
	for d := json.NewDecoder(in); ; {
		var f Figures
		switch err := d.Decode(&f); {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, errors.New("there are no figures to compare")
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("read the figures: %w", err)
		case f.Batch <= 1:
			all = append(all, f)
		}
	}
}

// comparePeers prints a mode. Throughput is compared by contacts per second, latency by
// the median.
func (m medians) comparePeers(out io.Writer, mode string) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	figure, unit := rate, "contacts/s"
	if mode == load.Latency {
		figure, unit = func(f Figures) float64 { return f.P50 }, "p50 ms"
	}
	_, _ = fmt.Fprintf(w, "%s\truns\t%s\tCPU µs\tp99 ms\tWeir SQLite ÷ it\tCPU ÷ it\tWeir MariaDB ÷ it\tCPU ÷ it\t\n", mode, unit)
	for _, g := range m {
		if g.mode != mode || len(g.runs) == 0 {
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.*f\t%.0f\t%.2f\t", g.peer, len(g.runs), map[bool]int{true: 2}[mode == load.Latency], g.median(figure), g.median(allCPU)*100, g.median(func(f Figures) float64 { return f.P99 }))
		for _, store := range []string{"sqlite", "mysql"} {
			weir := m.find(mode, likePeer(g.peer)+" "+store)
			for _, figure := range []func(Figures) float64{figure, allCPU} {
				if r, ok := ratio(weir, g, figure); ok {
					_, _ = fmt.Fprintf(w, "%.2f\t", r)
				} else {
					_, _ = fmt.Fprint(w, "–\t")
				}
			}
		}
		_, _ = fmt.Fprintln(w)
	}
	_ = w.Flush()
	_, _ = fmt.Fprintln(out)
}

// likePeer returns the peer of Weir that is used like a program.
func likePeer(peer string) string {
	if strings.HasSuffix(peer, overHTTPSuffix) || strings.HasPrefix(peer, PeerSingle+" ") {
		return PeerSingle
	}
	return PeerInside
}
