package main

import (
	"testing"
)

// notYet returns the figures that have not met their targets yet, as they are. A figure
// that has may not miss it again, and none of these may get worse.
func notYet() map[string]float64 {
	return map[string]float64{
		"production lines of weir": 83_600,
		"… that may change":        15,
	}
}

func TestTheTreeKeepsItsFigures(t *testing.T) {
	t.Parallel()
	tr, err := load(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tr.figures()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		bound, listed := notYet()[r.name]
		switch {
		case r.met && listed:
			t.Errorf("%s: %s meets its target %s; remove it from the list", r.name, r.measured, r.target)
		case !r.met && listed && r.value > bound:
			t.Errorf("%s: %s; it was %g, and the target is %s; make house HOUSE=-v lists what counts", r.name, r.measured, bound, r.target)
		case !r.met && !listed && r.name != "comments ÷ lines": // the share of comments is advice
			t.Errorf("%s: %s; the target is %s; make house HOUSE=-v lists what counts", r.name, r.measured, r.target)
		}
	}
}
