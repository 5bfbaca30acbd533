package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/weirlab/bench/load"
)

func TestRunsThatDoNotCountAreLeftOut(t *testing.T) {
	t.Parallel()
	run := func(per, others float64, fault string) Figures {
		return Figures{Mode: load.Live, Peer: PeerBaseline, N: 1, PerS: per, Others: others, Error: fault}
	}
	for name, test := range map[string]struct {
		runs            []Figures
		median          float64
		dropped, failed int
	}{
		"all count":           {[]Figures{run(1, 0, ""), run(3, 0.35, ""), run(2, 0, "")}, 2, 0, 0},
		"an even number":      {[]Figures{run(1, 0, ""), run(3, 0, "")}, 2, 0, 0},
		"busy ones are out":   {[]Figures{run(1, 0.36, ""), run(3, 0, ""), run(5, 0.1, ""), run(9, 2, "")}, 4, 2, 0},
		"unless all are":      {[]Figures{run(1, 0.36, ""), run(3, 1, "")}, 2, 0, 0},
		"failed ones are out": {[]Figures{run(1, 0, "lost"), run(3, 1, "")}, 3, 0, 1},
		"nothing is left":     {[]Figures{run(1, 0, "lost")}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := groups(test.runs)[0]
			if got := g.median(rate); got != test.median || g.dropped != test.dropped || g.failed != test.failed {
				t.Errorf("median %v, %d dropped, %d failed; want %v, %d, %d", got, g.dropped, g.failed, test.median, test.dropped, test.failed)
			}
		})
	}
}

func TestTargets_AreJudgedByMedians(t *testing.T) {
	t.Parallel()
	floor := Figures{Mode: load.Live, Peer: PeerBaseline, N: 10, PerS: 1000, CPUClient: 1}
	inside := Figures{Mode: load.Live, Peer: "inside mysql", N: 10, PerS: 651, CPUClient: 1.5, Commits: 40, Statement: 251, Written: 2.5}
	beside := Figures{Mode: load.Backlog, Peer: "inside mysql", N: 10, CPUClient: 1.6}
	start := Figures{Mode: load.Restart, Peer: "http mysql", N: 10, FirstSend: 0.5, FullRate: 3.1, RSSClient: 149}
	rest := Figures{Mode: load.Idle, Peer: "http mysql", N: 10, IdleCPU: 0.3, IdleStmts: 2}
	m := medians(groups([]Figures{floor, inside, beside, start, rest}))
	got := map[string]verdict{}
	for _, a := range targets() {
		got[strings.SplitN(a.what, ":", 2)[0]] = a.judge(m, "mysql")
	}
	for what, want := range map[string]verdict{
		"live, enqueue in process":                                       {"≥ 0.58", "0.65", "yes"},
		"drain ÷ baseline":                                               {"≥ 0.62", "–", "–"},
		"CPU of Weir per contact ÷ baseline":                             {"none", "1.50", ""},
		"redo log (MariaDB), files (SQLite) per contact":                 {"≤ 2.5 kB", "2.5 kB", "yes"},
		"live beside 1,000,000 queued in a paused channel":               {"≤ 1.05", "1.07", "no"},
		"restart with 1,000,000 queued":                                  {"≤ 1 s; ≤ 3 s; ≤ 150 MB", "0.50 s; 3.10 s; 149 MB", "no"},
		"commits; statements at the store per 1,000 contacts, saturated": {"≤ 40; ≤ 200", "40; 251", "no"},
		"idle, 1,000 channels":                                           {"≤ 0.5 % of a core; ≤ 2/s", "0.50 % of a core; 2.0/s", "yes"},
	} {
		if diff := cmp.Diff(want, got[what], cmp.AllowUnexported(verdict{})); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	if v := targets()[0].judge(m, "sqlite"); v.met != "–" || v.target != "≥ 0.58" {
		t.Errorf("nothing was measured on SQLite, but the verdict is %+v", v)
	}
}

func TestTargets_TheLastContactsTimeIsNoThroughput(t *testing.T) {
	t.Parallel()
	for delay, want := range map[float64]float64{0: 2500, 2: 5000} { // 10,000 in 4 s, 2 of them the last contact's
		if got := sustained(Figures{N: 10_000, PerS: 2500, Delay: delay}); got != want {
			t.Errorf("contacts of %v s: %v/s, want %v", delay, got, want)
		}
	}
}

func TestTargets_ASlowerVersionIsFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cpu, per float64
		want     int
	}{
		"the same":            {1, 1000, 0},
		"a little more":       {1.14, 810, 0},
		"more CPU":            {1.16, 1000, 1},
		"fewer in a second":   {1, 790, 1},
		"worse in everything": {2, 500, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			worse := regressions([]Figures{
				{Mode: load.Live, Peer: "before sqlite", PerS: 1000, CPUClient: 1},
				{Mode: load.Live, Peer: "http sqlite", PerS: test.per, CPUClient: test.cpu},
			})
			if len(worse) != test.want {
				t.Errorf("%v; want %d", worse, test.want)
			}
		})
	}
	if len(regressions([]Figures{{Mode: load.Live, Peer: "before sqlite", PerS: 1}})) == 0 {
		t.Error("nothing was compared, and that was not said")
	}
}

func TestTargets_TheFullRateIsFoundInATimeLine(t *testing.T) {
	t.Parallel()
	line := []int{0, 0, 10, 50} // starts slowly
	for range 80 {
		line = append(line, 100)
	}
	seconds, per := fullRate(line, 100*time.Millisecond)
	// The first half second with nine tenths of 500 begins at the fourth beat.
	if per != 1000 || seconds != 0.8 {
		t.Errorf("full rate %v/s after %v s; want 1000/s after 0.8 s", per, seconds)
	}
	if seconds, per := fullRate([]int{0, 0}, time.Second); seconds != 0 || per != 0 {
		t.Error("a rate was found where nothing arrived")
	}
}

func TestTargets_APlanHasEveryCandidateInEachRepetition(t *testing.T) {
	t.Parallel()
	o := Defaults()
	o.Modes, o.Peers, o.Databases, o.Repeat = []string{load.Live, load.Idle}, []string{PeerBaseline, PeerInside, PeerBatches}, []string{"sqlite", "mysql"}, 2
	var got []string
	for _, st := range plan(o) {
		got = append(got, st.Mode+" "+st.name())
	}
	once := []string{"live floor", "live inside sqlite", "live inside mysql", "live http-batch sqlite", "live http-batch mysql", "idle http sqlite", "idle http mysql"}
	if diff := cmp.Diff(append(once, once...), got); diff != "" {
		t.Error(diff)
	}
}

// Every line of the table must find its figures among the runs of a set.
func TestTargets_ASetMeasuresEveryTarget(t *testing.T) {
	t.Parallel()
	for _, set := range []string{Short, Full} {
		o := Defaults()
		o.Set = set
		o = o.completed()
		var all []Figures
		for _, st := range plan(o) {
			f := figuresOf(st.Workload)
			f.Peer, f.PerS, f.DrainPS, f.CPUClient = st.name(), 1, 1, 1
			all = append(all, f)
			if st.Mode == load.Backlog {
				all = append(all, Figures{Mode: load.Bulk, Peer: "http-1000 " + st.Store})
			}
		}
		for _, a := range targets() {
			for _, store := range []string{"sqlite", "mysql"} {
				if v := a.judge(medians(groups(all)), store); v.met == "–" {
					t.Errorf("set %s, %s: %s is not measured", set, store, a.what)
				}
			}
		}
	}
}

func TestTargets_TheRestOfAPlanIsEstimated(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ whole, done, elapsed, want time.Duration }{
		{100 * time.Second, 0, 0, 100 * time.Second},
		{100 * time.Second, 10 * time.Second, 30 * time.Second, 90 * time.Second}, // too early to estimate from progress
		{100 * time.Second, 50 * time.Second, 100 * time.Second, 100 * time.Second},
	} {
		if got := remaining(test.whole, test.done, test.elapsed); got != test.want {
			t.Errorf("of %s, %s done in %s: %s left; want %s", test.whole, test.done, test.elapsed, got, test.want)
		}
	}
}

func TestTargets_WhatCannotBeMeasuredIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"mode":            func(o *Options) { o.Modes = []string{"fast"} },
		"peer":            func(o *Options) { o.Peers = []string{"river"} },
		"set":             func(o *Options) { o.Set = "medium" },
		"running restart": func(o *Options) { o.URL, o.Modes = "http://x", []string{load.Restart} },
		"running set":     func(o *Options) { o.URL, o.Set = "http://x", Short },
		"nothing":         func(o *Options) { o.N = 0 },
	} {
		o := Defaults()
		change(&o)
		if o.check() == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	if err := Defaults().check(); err != nil {
		t.Error(err)
	}
}
