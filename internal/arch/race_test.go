package arch_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A test that does less while the race detector watches runs without it, too: scripts/test-on-server names it.
func TestRace_WhatLeavesTheDetectorRunsWithoutIt(t *testing.T) {
	t.Parallel()
	script := read(t, "scripts/test-on-server")
	words := func(name string) []string {
		m := regexp.MustCompile(`(?m)^` + name + `='([^']+)'`).FindStringSubmatch(script)
		if m == nil {
			t.Fatalf("scripts/test-on-server has no %s", name)
		}
		return regexp.MustCompile(`[\s|]+`).Split(m[1], -1)
	}
	raced, named, folders := words("raced"), words("bulk"), words("bulky")
	var found []string
	for _, f := range load(t).files {
		for _, fn := range functions(f) {
			leaves := below(fn, func(n ast.Node) bool {
				s, ok := n.(ast.Expr)
				return ok && (selector(s, "race", "Skip") || selector(s, "race", "Enabled"))
			})
			if len(leaves) == 0 || !f.test {
				continue
			}
			name := fn.Name.Name
			if found = append(found, name); !strings.HasPrefix(name, "Test") || !slices.Contains(named, name) {
				t.Errorf("%s: %s is not among the tests of bulk in scripts/test-on-server", f.path, name)
			}
			for what, list := range map[string][]string{"raced": raced, "bulky": folders} {
				if !slices.Contains(list, module+"/"+f.folder) {
					t.Errorf("%s: the package is not among those of %s in scripts/test-on-server", f.path, what)
				}
			}
		}
	}
	for _, name := range named {
		if !slices.Contains(found, name) {
			t.Errorf("scripts/test-on-server names %s, which does not leave the detector", name)
		}
	}
}
