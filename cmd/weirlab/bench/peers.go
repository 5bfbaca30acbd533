package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	return nil
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
		_, _ = fmt.Fprintf(w, "%s\t%d\t%.*f\t%.0f\t%.2f\t", g.peer, len(g.runs), map[bool]int{true: 2}[mode == load.Latency], g.median(figure), g.median(wholeCPU)*100, g.median(func(f Figures) float64 { return f.P99 }))
		for _, store := range []string{"sqlite", "mysql"} {
			weir := m.find(mode, likePeer(g.peer)+" "+store)
			for _, figure := range []func(Figures) float64{figure, wholeCPU} {
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

// wholeCPU is the CPU of the program and of its store.
func wholeCPU(f Figures) float64 { return f.CPUClient + f.CPUServer }
