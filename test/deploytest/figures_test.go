package deploytest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	channelbroker "weir/actors/channels"
	"weir/actors/events"
	"weir/actors/router"
	"weir/actors/surveys"
	"weir/persistence"
	"weir/web"
	"weir/web/forward"
	"weir/web/peers"
)

// figures maps the names of metrics to the names of their labels.
type figures map[string][]string

// recorder is a registerer that records all registered metrics, including metrics
// without series.
type recorder struct{ known figures }

func (r recorder) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 1000)
	c.Describe(descs)
	close(descs)
	form := regexp.MustCompile(`fqName: "([^"]+)".*constLabels: \{([^}]*)\}.*variableLabels: \{([^}]*)\}`)
	for d := range descs {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			continue
		}
		labels := []string{"instance", "job", "namespace"} // added by Prometheus
		for _, l := range strings.Split(m[2]+","+m[3], ",") {
			name, _, _ := strings.Cut(l, "=")
			labels = append(labels, strings.TrimSpace(name))
		}
		r.known[m[1]] = labels
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			r.known[m[1]+suffix] = append(slices.Clone(labels), "le")
		}
	}
	return nil
}

func (r recorder) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		_ = r.Register(c)
	}
}

func (r recorder) Unregister(prometheus.Collector) bool { return false }

// registered returns the metrics of all parts of the program.
func registered(t *testing.T) figures {
	t.Helper()
	r := recorder{figures{}}
	channelbroker.NewMetrics(r)
	events.NewMetrics(r)
	router.NewMetrics(r)
	surveys.NewMetrics(r)
	persistence.NewMetrics(r)
	web.NewMetrics(r)
	forward.NewMetrics(r)
	peers.NewRefused(r)
	r.MustRegister(peers.Up{})
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.known["weir_build_info"] = []string{"version", "go_version", "instance", "job", "namespace"} // registered by the daemon itself
	r.known["weir_tls_certificate_expiry_timestamp_seconds"] = r.known["weir_build_info"][2:]
	for _, name := range []string{"weir_owner", "weir_owner_epoch", "weir_owner_changes_total", "weir_held_requests"} {
		r.known[name] = r.known["weir_build_info"][2:]
	}
	r.known["weir_takeover_seconds"] = append(slices.Clone(r.known["weir_owner"]), "phase")
	r.known["up"] = []string{"instance", "job", "namespace"}
	r.known["ALERTS"] = []string{"alertname", "alertstate", "severity"}
	if len(r.known) < 100 {
		t.Fatalf("only %d figures were found", len(r.known))
	}
	return r.known
}

// used returns the metric names in an expression, each with the labels by which it is
// selected.
func used(expr string) figures {
	out := figures{}
	quoted := regexp.MustCompile(`"[^"]*"`)
	expr = quoted.ReplaceAllString(expr, `""`)
	expr = regexp.MustCompile(`\b(by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)`).ReplaceAllString(expr, " ")
	expr = regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(expr, "")
	expr = regexp.MustCompile(`\b[0-9][0-9.a-z]*`).ReplaceAllString(expr, "")
	expr = regexp.MustCompile(`\boffset\b`).ReplaceAllString(expr, "")
	for _, m := range regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\(|\{[^}]*\})?`).FindAllStringSubmatch(expr, -1) {
		name, rest := m[1], m[2]
		if rest == "(" || slices.Contains([]string{"and", "or", "unless", "bool"}, name) {
			continue
		}
		labels := out[name]
		for _, l := range regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`).FindAllStringSubmatch(rest, -1) {
			labels = append(labels, l[1])
		}
		out[name] = labels
	}
	return out
}

// check reports metrics and labels that do not exist.
func (f figures) check(t *testing.T, where, expr string) {
	t.Helper()
	found := used(expr)
	if len(found) == 0 {
		t.Errorf("%s: no figure in %q", where, expr)
	}
	for name, labels := range found {
		have, ok := f[name]
		if !ok {
			t.Errorf("%s uses %s, which does not exist", where, name)
			continue
		}
		for _, l := range labels {
			if strings.Contains(name, ":") { // recorded: its expression is checked at the rule
				continue
			}
			if !slices.Contains(have, l) {
				t.Errorf("%s selects %s by %s; it has %q", where, name, l, have)
			}
		}
	}
}

func TestFigures_AreFoundInExpressions(t *testing.T) {
	t.Parallel()
	got := used(`sum by (a, b) (rate(x_total{c="d{", e!~"f"}[5m])) / on (g) max_over_time(h:i:j[1h] offset 5m) and k > 1e3 or time() - l`)
	want := figures{"x_total": {"c", "e"}, "h:i:j": nil, "k": nil, "l": nil}
	for name, labels := range want {
		if have, ok := got[name]; !ok || !slices.Equal(have, labels) {
			t.Errorf("%s: %v, %v", name, have, ok)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("taken for names: %v", got)
	}
}

// The runbooks and operations pages name only metrics that exist.
func TestFigures_PapersNameFiguresThatExist(t *testing.T) {
	t.Parallel()
	known := registered(t)
	for name := range recorded(t) {
		known[name] = nil
	}
	papers, err := filepath.Glob(filepath.Join(root, "docs/runbooks/*.md"))
	if err != nil || len(papers) == 0 {
		t.Fatal("no runbooks", err)
	}
	papers = append(papers, filepath.Join(root, "docs/operations.md"))
	name := regexp.MustCompile(`\b(?:[a-z]+:)?weir_[a-z0-9_]+(?::[a-z0-9_]+)?\*?|\bprocess_[a-z_]+`)
	for _, paper := range papers {
		text, err := os.ReadFile(paper)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllString(string(text), -1) {
			if start, all := strings.CutSuffix(m, "*"); all {
				if !slices.ContainsFunc(keys(known), func(k string) bool { return strings.HasPrefix(k, start) }) {
					t.Errorf("%s speaks of %s; no figure is named so", paper, m)
				}
				continue
			}
			if _, ok := known[m]; !ok {
				t.Errorf("%s speaks of %s, which does not exist", paper, m)
			}
		}
	}
}

func keys(f figures) []string {
	var out []string
	for k := range f {
		out = append(out, k)
	}
	return out
}
