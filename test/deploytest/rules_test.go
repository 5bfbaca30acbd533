package deploytest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rulesIn returns the rules of a Prometheus rule file.
func rulesIn(t *testing.T, name string) (out []object) {
	t.Helper()
	for _, g := range items(readYAML(t, name)["groups"]) {
		out = append(out, items(g["rules"])...)
	}
	if len(out) == 0 {
		t.Fatalf("%s has no rules", name)
	}
	return out
}

func alerts(t *testing.T) []object { return rulesIn(t, "deploy/prometheus/alerts.yml") }

// recorded returns the recording rules by name.
func recorded(t *testing.T) map[string]string {
	out := map[string]string{}
	for _, r := range rulesIn(t, "deploy/prometheus/recording.yml") {
		name, _ := r["record"].(string)
		out[name], _ = r["expr"].(string)
	}
	return out
}

func namesOf(t *testing.T) (out []string) {
	for _, r := range alerts(t) {
		name, _ := r["alert"].(string)
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func TestRules_AlertsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, r := range alerts(t) {
		name, _ := r["alert"].(string)
		severity, _ := dig(r, "labels", "severity").(string)
		summary, _ := dig(r, "annotations", "summary").(string)
		description, _ := dig(r, "annotations", "description").(string)
		if !regexp.MustCompile(`^Weir[A-Z][A-Za-z]+$`).MatchString(name) {
			t.Errorf("%s is no name of an alert", name)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, severity) {
			t.Errorf("%s: severity %q", name, severity)
		}
		if summary == "" || strings.HasSuffix(summary, ".") || len(summary) > 100 {
			t.Errorf("%s: the summary %q is not a short line", name, summary)
		}
		if !strings.HasSuffix(description, ".") {
			t.Errorf("%s: the description %q is not a sentence", name, description)
		}
		if got, want := dig(r, "annotations", "runbook_url"), `{{ or $externalLabels.runbooks "docs/runbooks" }}/`+name+".md"; got != want {
			t.Errorf("%s: runbook_url %v, want %s", name, got, want)
		}
	}
}

// Every alert has a page, every page has an alert, and the list has all of them.
func TestRules_EveryAlertHasARunbook(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "docs/runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, f := range files {
		name := strings.TrimSuffix(path.Base(filepath.ToSlash(f)), ".md")
		if name == "README" {
			continue
		}
		pages = append(pages, name)
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, head := range []string{"# " + name + "\n", "\n## What it means\n", "\n## How to see it\n", "\n## What to do\n", "\n## When to worry\n"} {
			i := strings.Index(string(text)[at:], head)
			if i < 0 {
				t.Errorf("%s lacks %q in its place", f, strings.TrimSpace(head))
				continue
			}
			at += i + len(head) - 1
		}
	}
	if diff := cmp.Diff(namesOf(t), pages); diff != "" {
		t.Errorf("alerts (-) and pages (+): %s", diff)
	}
	list, err := os.ReadFile(filepath.Join(root, "docs/runbooks/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alerts(t) {
		name, _ := r["alert"].(string)
		severity, _ := dig(r, "labels", "severity").(string)
		if row := "| [" + name + "](" + name + ".md) | " + severity + " |"; !strings.Contains(string(list), row) {
			t.Errorf("docs/runbooks/README.md lacks %s", row)
		}
	}
}

// Every alert has a test in which it fires and one in which it stays silent.
func TestRules_EveryAlertIsTested(t *testing.T) {
	t.Parallel()
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range items(readYAML(t, "deploy/prometheus/tests/alerts_test.yml")["tests"]) {
		for _, e := range items(test["promql_expr_test"]) {
			expr, _ := e["expr"].(string)
			m := regexp.MustCompile(`alertname="(\w+)", alertstate="firing"`).FindStringSubmatch(expr)
			if m == nil {
				t.Errorf("%v asks for no alert", expr)
				continue
			}
			if got, _ := e["exp_samples"].([]any); len(got) > 0 {
				fires[m[1]] = true
			} else {
				silent[m[1]] = true
			}
		}
	}
	for _, name := range namesOf(t) {
		if !fires[name] || !silent[name] {
			t.Errorf("%s: seen to fire %v, seen to stay silent %v", name, fires[name], silent[name])
		}
	}
}

func TestRules_UseFiguresThatExist(t *testing.T) {
	t.Parallel()
	known := registered(t)
	for name, expr := range recorded(t) {
		known.check(t, name, expr)
		if strings.Count(name, ":") != 2 {
			t.Errorf("%s is not level:metric:operations", name)
		}
	}
	for name := range recorded(t) {
		known[name] = nil
	}
	for _, r := range alerts(t) {
		name, _ := r["alert"].(string)
		expr, _ := r["expr"].(string)
		known.check(t, name, expr)
	}
}
