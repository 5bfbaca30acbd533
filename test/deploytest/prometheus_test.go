//go:build prometheus

package deploytest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// promtool runs promtool and returns its output.
func promtool(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestPrometheus_PromtoolFindsNoFaultWithTheRules(t *testing.T) {
	t.Parallel()
	at := filepath.Join(root, "deploy/prometheus")
	promtool(t, "", "check", "rules", at+"/recording.yml", at+"/alerts.yml")
	promtool(t, "", "test", "rules", at+"/tests/alerts_test.yml")
	promtool(t, "", "check", "config", filepath.Join(configured(t, "weir:8080"), "prometheus.yml"))
}

// The tests of the rules can fail: with an alert that always fires, they do.
func TestPrometheus_TestsOfRulesCanFail(t *testing.T) {
	t.Parallel()
	folder := configured(t, "weir:8080")
	text := contents(t, filepath.Join(folder, "alerts.yml"))
	broken := strings.Replace(text, "weir_db_down == 1", "weir_db_down >= 0", 1)
	if broken == text {
		t.Fatal("there is nothing to break")
	}
	write(t, filepath.Join(folder, "alerts.yml"), broken)
	tests := filepath.Join(folder, "tests/alerts_test.yml")
	head, rest, _ := strings.Cut(contents(t, tests), "\n  - name: ")
	for test := range strings.SplitSeq(rest, "\n  - name: ") {
		if strings.HasPrefix(test, "WeirStoreDown ") { // the tests of one alert; all of them take long
			head += "\n  - name: " + test
		}
	}
	write(t, tests, head+"\n")
	cmd := exec.CommandContext(t.Context(), "promtool", "test", "rules", tests)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "WeirStoreDown") {
		t.Errorf("%v: %s", err, out)
	}
}

// configured copies the configuration, shortens its intervals and sets the address of
// the Weir to scrape.
func configured(t *testing.T, addr string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(root, "deploy/prometheus"))); err != nil {
		t.Fatal(err)
	}
	file, secret := filepath.Join(folder, "prometheus.yml"), filepath.Join(folder, "token")
	write(t, secret, token)
	text := contents(t, file)
	for old, now := range map[string]string{"weir:8080": addr, "/run/secrets/weir_metrics_token": secret, "_interval: 15s": "_interval: 1s"} {
		if !strings.Contains(text, old) {
			t.Errorf("prometheus.yml has no %q", old)
		}
		text = strings.ReplaceAll(text, old, now)
	}
	write(t, file, text)
	return folder
}

func contents(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// observe runs a Prometheus that scrapes the rig, and returns its address.
func (r *rig) observe() string {
	r.Helper()
	l, err := (&net.ListenConfig{}).Listen(r.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close() // so that Prometheus can listen on it
	var said strings.Builder
	cmd := exec.CommandContext(context.WithoutCancel(r.Context()), "prometheus",
		"--config.file="+filepath.Join(configured(r.T, r.addr), "prometheus.yml"), "--storage.tsdb.path="+r.TempDir(), "--web.listen-address="+addr)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if r.Failed() {
			r.Log(said.String())
		}
	})
	r.until("Prometheus is ready", 30*time.Second, func() bool {
		c, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", addr)
		if err != nil {
			return false
		}
		_ = c.Close()
		_, status := r.get("GET", "http://"+addr+"/-/ready", nil)
		return status == 200
	})
	return "http://" + addr
}

// answer is a response of the Prometheus API.
type answer struct {
	Status, Error string
	Data          json.RawMessage
}

func (r *rig) prometheus(at, path string, query url.Values, into any) {
	r.Helper()
	text, status := r.get("GET", at+path+"?"+query.Encode(), nil)
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Status != "success" {
		r.Fatalf("%s %v: %d %s", path, query, status, text)
	}
	if err := json.Unmarshal(a.Data, into); err != nil {
		r.Fatal(err)
	}
}

// ask returns the number of series in the result of a query.
func (r *rig) ask(at, expr string) int {
	r.Helper()
	var v struct{ Result []json.RawMessage }
	r.prometheus(at, "/api/v1/query", url.Values{"query": {expr}}, &v)
	return len(v.Result)
}

// ordinary reports whether a query has data while everything works. Queries that show
// only values above zero, about function rules, and about several processes may have none.
func ordinary(expr string) bool {
	if slices.ContainsFunc(ofSeveral(), func(name string) bool { return strings.Contains(expr, name) }) {
		return false
	}
	return !strings.Contains(expr, "weir_router_function_calls_total") && !regexp.MustCompile(`> 0$`).MatchString(expr)
}

// A real Prometheus scrapes a working Weir with the shipped configuration and rules,
// and runs every query of the dashboard.
func TestPrometheus_SeesAWeirThatWorks(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.furnish()
	at := r.observe()
	d, filled := readDashboard(t), strings.NewReplacer("$instance", ".*", "$channel", ".*", "$__rate_interval", "10s")
	round, empty := 0, []string{""}
	defer func() {
		if t.Failed() {
			t.Logf("without data: %q", empty)
		}
	}()
	r.until("all queries have data", time.Minute, func() bool {
		round++
		r.traffic(round)
		empty = nil
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				if r.ask(at, filled.Replace(q.Expr)) == 0 && ordinary(q.Expr) {
					empty = append(empty, p.Title+": "+q.Expr)
				}
			}
		}
		return len(empty) == 0
	})
	for _, a := range d.Annotations.List {
		r.ask(at, a.Expr)
	}
	for _, v := range d.Templating.List {
		r.variable(at, v.Name, v.Definition)
	}
	r.rules(at)
	text, _ := r.get("GET", "http://"+r.addr+"/metrics", nil)
	for l := range strings.Lines(promtool(t, text, "check", "metrics")) {
		if strings.HasPrefix(l, "weir_") {
			t.Errorf("promtool: %s", l)
		}
	}
}

// variable checks that a variable of the dashboard has values.
func (r *rig) variable(at, name, definition string) {
	r.Helper()
	if name == "datasource" {
		return
	}
	m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(definition)
	if m == nil {
		r.Errorf("the variable %s is %q", name, definition)
		return
	}
	var values []string
	r.prometheus(at, "/api/v1/label/"+m[2]+"/values", url.Values{"match[]": {m[1]}}, &values)
	if len(values) == 0 {
		r.Errorf("the variable %s has no values", name)
	}
}

// rules checks that all rules are loaded and evaluated without an error, and that no
// critical alert fires while everything works.
func (r *rig) rules(at string) {
	r.Helper()
	var v struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Name, Type, Health, LastError, State string
				Labels                               map[string]string
			}
		}
	}
	want := len(namesOf(r.T)) + len(recorded(r.T))
	r.until("all rules were evaluated", 30*time.Second, func() bool {
		v.Groups = nil
		r.prometheus(at, "/api/v1/rules", nil, &v)
		n := 0
		for _, g := range v.Groups {
			for _, rule := range g.Rules {
				if rule.Health == "ok" {
					n++
				}
				if rule.LastError != "" {
					r.Fatalf("%s: %s", rule.Name, rule.LastError)
				}
			}
		}
		return n == want
	})
	for _, g := range v.Groups {
		for _, rule := range g.Rules {
			if rule.State == "firing" && rule.Labels["severity"] == "critical" {
				r.Errorf("%s fires although all is well", rule.Name)
			}
		}
	}
	for name := range recorded(r.T) {
		if !strings.Contains(name, "oldest_queued") { // no contact has to wait just now
			r.until(name+" has data", 30*time.Second, func() bool { return r.ask(at, fmt.Sprintf("{__name__=%q}", name)) > 0 })
		}
	}
}
