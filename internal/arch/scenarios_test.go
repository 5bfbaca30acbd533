package arch_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scenarios parses docs/scenarios.md: table rows that begin with a number and
// name tests as `folder.TestName` or `TestName`, with or without a subtest.
func scenarios(text string) map[int][]string {
	out := map[int][]string{}
	row := regexp.MustCompile(`(?m)^\|\s*(\d+)\s*\|(.*)$`)
	name := regexp.MustCompile(`(?:[\w/]+\.)?(?:Test|Fuzz)[A-Z]\w*`)
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		out[n] = append(out[n], name.FindAllString(m[2], -1)...)
	}
	return out
}

// tests lists every test of the module by its folder.
func tests(tr tree) map[string][]string {
	out := map[string][]string{}
	for _, f := range tr.files {
		for _, fn := range functions(f) {
			// Conformance suites hold their tests in ordinary packages.
			if fn.Recv == nil && (strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Fuzz")) {
				out[f.folder] = append(out[f.folder], fn.Name.Name)
			}
		}
	}
	return out
}

// exists reports whether a test named in a row exists.
func exists(all map[string][]string, named string) bool {
	folder, name := "", named
	if i := strings.LastIndex(named, "."); i >= 0 {
		folder, name = named[:i], named[i+1:]
	}
	for f, names := range all {
		if (folder == "" || f == folder || strings.HasSuffix(f, "/"+folder)) && slices.Contains(names, name) {
			return true
		}
	}
	return false
}

func TestScenarios_AreRead(t *testing.T) {
	t.Parallel()
	got := scenarios("# Head\n| number | tests |\n|---|---|\n| 1 | a call, `actors.TestA`, `TestB/sub` |\n| 12 | nothing yet |\n")
	want := map[int][]string{1: {"actors.TestA", "TestB"}, 12: nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	all := map[string][]string{"actors": {"TestA"}, "channels/verboice": {"TestB"}}
	for name, want := range map[string]bool{"actors.TestA": true, "TestB": true, "verboice.TestB": true, "actors.TestB": false, "TestC": false} {
		if exists(all, name) != want {
			t.Errorf("%s exists: %v, want %v", name, !want, want)
		}
	}
}

// promised returns the numbers of the scenarios that must have a test.
func promised() []int {
	var out []int
	for n := 1; n <= 87; n++ {
		out = append(out, n)
	}
	return out
}

// docs/scenarios.md maps each scenario to its tests, and those tests exist.
func TestScenarios_EveryScenarioHasATestThatExists(t *testing.T) {
	t.Parallel()
	rows := scenarios(read(t, "docs/scenarios.md"))
	all := tests(load(t))
	for _, n := range promised() {
		if len(rows[n]) == 0 {
			t.Errorf("docs/scenarios.md names no test for scenario %d", n)
		}
	}
	for n, named := range rows {
		if len(named) == 0 {
			t.Errorf("docs/scenarios.md: scenario %d names no test", n)
		}
		for _, name := range named {
			if !exists(all, name) {
				t.Errorf("docs/scenarios.md: scenario %d names %s, which does not exist", n, name)
			}
		}
	}
}
