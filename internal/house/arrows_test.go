package main

import (
	"testing"
)

func graph(arrows ...string) (names []string, uses map[string]map[string]bool) {
	uses = map[string]map[string]bool{}
	for _, a := range arrows {
		for _, n := range []string{a[:1], a[1:]} {
			if uses[n] == nil {
				uses[n] = map[string]bool{}
				names = append(names, n)
			}
		}
		uses[a[:1]][a[1:]] = true
	}
	return names, uses
}

func TestOnlyArrowsOfCyclesClimb(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arrows []string
		climb  int
	}{
		{[]string{"ab", "bc", "ac", "dc"}, 0},
		{[]string{"ab", "ba"}, 1},
		{[]string{"ab", "bc", "ca"}, 1},
		{[]string{"ab", "bc", "ca", "cb"}, 1},
		{[]string{"ax", "bx", "cx", "xa", "yx", "xz"}, 1},
	} {
		names, uses := graph(c.arrows...)
		if a := climb("", names, uses); a.all != len(c.arrows) || len(a.climbing) != c.climb {
			t.Errorf("%v: %d of %d arrows climb: %v; want %d", c.arrows, len(a.climbing), a.all, a.climbing, c.climb)
		}
	}
}

func TestCommentsAreLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	if n := commented("// a\npackage b // c\n\n\t// d\n"); n != 2 {
		t.Errorf("%d lines of comment; want 2", n)
	}
}
