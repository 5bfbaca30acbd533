package bench

import (
	"strings"
	"testing"

	"weir/cmd/weirlab/bench/load"
)

// Each setting is compared with live without events on the same store, and with its own bound.
func TestContactEvents_EachSettingHasItsOwnBound(t *testing.T) {
	t.Parallel()
	run := func(mode, peer, events string, per float64) Figures {
		return Figures{Mode: mode, Peer: peer, Events: events, N: 10, PerS: per, DrainPS: per}
	}
	turns := func(ratios ...float64) (list []Figures) {
		for _, ratio := range ratios {
			list = append(list, run(load.Live, "a", "off", 100), run(load.Live, "a", "on", 100*ratio))
		}
		return list
	}
	for name, test := range map[string]struct {
		runs []Figures
		want int
	}{
		"cheap":                    {[]Figures{run(load.Live, "a", "off", 100), run(load.Live, "a", "auto", 99), run(load.Live, "a", "on", 90)}, 0},
		"auto costs":               {[]Figures{run(load.Live, "a", "off", 100), run(load.Live, "a", "auto", 98.9)}, 1},
		"on costs too much":        {[]Figures{run(load.Live, "a", "off", 100), run(load.Live, "a", "on", 89.9)}, 1},
		"a webhook has no bound":   {[]Figures{run(load.Live, "a", "off", 100), run(load.Live, "a", "webhook", 89.9)}, 0},
		"another store is no base": {[]Figures{run(load.Live, "b", "off", 200), run(load.Live, "a", "off", 100), run(load.Live, "a", "on", 95), run(load.Live, "b", "on", 100)}, 1},
		"a machine that gets slower": {[]Figures{
			run(load.Live, "a", "off", 200), run(load.Live, "a", "auto", 199), run(load.Live, "a", "off", 100), run(load.Live, "a", "auto", 85),
			run(load.Live, "a", "off", 50), run(load.Live, "a", "auto", 51),
		}, 0},
		"a cost on a machine that gets faster": {[]Figures{
			run(load.Live, "a", "off", 50), run(load.Live, "a", "on", 44), run(load.Live, "a", "off", 100), run(load.Live, "a", "on", 85),
			run(load.Live, "a", "off", 200), run(load.Live, "a", "on", 170),
		}, 1},
		"less in one turn of three": {turns(0.945, 0.793, 1.052), 0},
		"only live is judged":       {[]Figures{run(load.Drain, "a", "off", 100), run(load.Drain, "a", "on", 50)}, 0},
		"nothing to compare":        {[]Figures{run(load.Live, "a", "on", 1)}, 0},
	} {
		if dear := costOfContactEvents(test.runs); len(dear) != test.want {
			t.Errorf("%s: %q", name, dear)
		}
	}
	for name, test := range map[string]struct {
		runs   []Figures
		chance bool
	}{
		"less in every turn":             {turns(0.845, 0.793, 0.856, 0.952, 0.761, 0.851, 0.693, 0.819), false},
		"too few turns":                  {turns(0.845, 0.793, 0.852), true},
		"turns that differ in both ways": {turns(0.778, 1.089, 0.802, 1.062, 0.828, 0.75), true},
	} {
		dear := costOfContactEvents(test.runs)
		if len(dear) != 1 || strings.Contains(dear[0], "chance") != test.chance {
			t.Errorf("%s: %q", name, dear)
		}
	}
	o := Defaults()
	o.ContactEvents = []string{"off", "sometimes"}
	if o.check() == nil {
		t.Error("an unknown setting is taken")
	}
	o.ContactEvents = []string{"off", "on"}
	if steps := o.steps(load.Live, PeerInside); len(steps) != 2 || steps[1].ContactEvents != "on" || len(o.steps(load.Live, PeerBaseline)) != 1 {
		t.Errorf("steps: %+v", steps)
	}
}
