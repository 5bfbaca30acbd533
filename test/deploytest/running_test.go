package deploytest

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A working Weir exports every metric that rules and dashboard use, except metrics that
// appear only after a fault or on first use.
func TestWeir_ARunningWeirShowsWhatIsUsed(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.furnish()
	rare := append(ofSeveral(),
		"weir_router_function_calls_total", // appears with the first function rule
		"weir_dead_letters_contacts",       // only for channels that have dead letters
	)
	want := usedMetrics(t)
	round := 0
	var missing []string
	defer func() {
		if t.Failed() {
			t.Logf("missing: %q", missing)
		}
	}()
	r.until("all figures are there", 30*time.Second, func() bool {
		round++
		r.traffic(round)
		text, status := r.get("GET", "http://"+r.addr+"/metrics", nil)
		if status != 200 {
			t.Fatalf("/metrics: %d %s", status, text)
		}
		missing = nil
		for _, name := range want {
			if !slices.Contains(rare, name) && !strings.Contains(text, "\n"+name+"{") && !strings.Contains(text, "\n"+name+" ") {
				missing = append(missing, name)
			}
		}
		return len(missing) == 0
	})
}

// ofSeveral lists the metrics that appear only where several processes can use the database,
// which is SQLite here.
func ofSeveral() []string {
	return []string{"weir_forward_total", "weir_forward_seconds_bucket", "weir_hold_seconds_bucket", "weir_held_requests", "weir_peer_refused_total", "weir_peer_up"}
}

// usedMetrics returns the metrics that rules and dashboard use.
func usedMetrics(t *testing.T) (out []string) {
	t.Helper()
	var exprs []string
	for _, expr := range recorded(t) {
		exprs = append(exprs, expr)
	}
	for _, r := range alerts(t) {
		expr, _ := r["expr"].(string)
		exprs = append(exprs, expr)
	}
	for _, p := range readDashboard(t).Panels {
		for _, q := range p.Targets {
			exprs = append(exprs, q.Expr)
		}
	}
	for _, expr := range exprs {
		for name := range used(expr) {
			if !strings.Contains(name, ":") && name != "up" {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
