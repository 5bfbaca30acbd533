package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/cmd/weirlab/bench/load"
	"weir/persistence/testmysql"
)

// idleSpan is long enough for a statement of a standby, which makes one a second.
const idleSpan = 3 * time.Second

// Every run of several processes is made, and every row of the table has a figure.
func TestSeveral_EveryTargetIsMeasured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := small(program(t), &out)
	o.N, o.Idle = 60, idleSpan
	s, err := newSession(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	}()
	steps := severalSteps(o, true)
	url := testmysql.URL(t)
	for i := range steps {
		steps[i].Store = url
		if steps[i].Mode == load.Idle {
			steps[i].N, steps[i].Channels = 5, 5
		}
	}
	if err := s.all(t.Context(), steps); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if err := s.gates(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	m := medians(groups(s.done))
	for _, target := range severalTargets() {
		// A few contacts may cost less CPU time than the clock of a process can tell.
		if v := target.judge(m, "mysql"); v.met == "–" && !strings.Contains(target.what, "CPU") {
			t.Errorf("%s: not measured: %+v", target.what, v)
		}
	}
	for _, f := range s.done {
		if f.Mode == load.Idle && (f.IdleOwnerStmts <= 0 || f.IdleStandbyStmts <= 0) {
			t.Errorf("idle: no statements of owner and standby: %+v", f)
		}
		if f.Mode == load.Router && (f.P50 <= 0 || f.P99 < f.P50 || f.Statement <= 0) {
			t.Errorf("router: no figures: %+v", f)
		}
	}
}

func TestSeveral_RunningProcessesAreMeasuredByTheirMetrics(t *testing.T) {
	t.Parallel()
	weir := program(t)
	var out bytes.Buffer
	o := small(weir, &out)
	s, err := newSession(o)
	if err != nil {
		t.Fatal(err)
	}
	brokers, err := s.start(t.Context(), step{Workload: load.Workload{Processes: 2}}, database{url: testmysql.URL(t)})
	t.Cleanup(func() {
		for i := range brokers {
			brokers[len(brokers)-1-i].Stop()
		}
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	o.URL, o.Token = brokers[0].URL+","+brokers[1].URL+"/", token
	o.Modes, o.Peers, o.N = []string{load.Live, load.Idle, load.Router}, []string{PeerSingle}, 1500
	o.Idle = idleSpan
	if err := Run(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	list := lines(t, &out)
	if len(list) != 3 {
		t.Fatalf("%d runs, want 3", len(list))
	}
	for _, f := range list {
		if f.Variant != "2 processes" {
			t.Errorf("%s: variant %q", f.Mode, f.Variant)
		}
	}
	if f := list[0]; f.CPUOwner <= 0 || f.CPUClient <= f.CPUOwner || f.Statement <= 0 {
		t.Errorf("live: no CPU time of the owner and of both: %+v", f)
	}
	if f := list[1]; f.IdleStmts <= 0 || f.IdleOwnerStmts <= 0 || f.IdleStandbyStmts <= 0 {
		t.Errorf("idle: no statements: %+v", f)
	}
	if left := channelsOf(t, brokers[0]); strings.Contains(left, "bench") {
		t.Errorf("channels are left: %s", left)
	}
}

func TestSeveral_TargetsAreRatiosAndDifferences(t *testing.T) {
	t.Parallel()
	run := func(mode, variant string, channels int, change func(*Figures)) Figures {
		f := Figures{Mode: mode, Peer: "http mysql", N: 10, Variant: variant, Channels: channels}
		change(&f)
		return f
	}
	at := func(p50, p99 float64) func(*Figures) { return func(f *Figures) { f.P50, f.P99 = p50, p99 } }
	per := func(rate, cpu, owner float64) func(*Figures) {
		return func(f *Figures) { f.PerS, f.CPUClient, f.CPUOwner = rate, cpu, owner }
	}
	m := medians(groups([]Figures{
		run(load.Turnaround, "3 processes, at the owner", 1, at(2, 4)), run(load.Turnaround, "3 processes, at a standby", 1, at(3.5, 5)),
		run(load.Latency, "3 processes, at the owner", 10, at(1, 4)), run(load.Latency, "3 processes, at a standby", 10, at(7, 5)),
		run(load.Live, "calls, delay 30ms", 1, per(585, 1, 0)), run(load.Live, "calls, delay 30ms, 2 processes", 1, per(556, 1, 1)),
		run(load.Loaded, "delay 50ms", 12, per(2000, 1, 0)), run(load.Loaded, "delay 50ms, 3 processes", 12, per(1996, 3, 1.1)),
		run(load.Live, "delay 50ms", 12, per(4000, 1, 0)),
		run(load.Idle, "3 processes", 1000, func(f *Figures) { f.IdleOwnerStmts, f.IdleStandbyStmts, f.IdleOwnerCPU = 1.5, 1.2, 0.24 }),
	}))
	got := map[string]string{}
	for _, a := range severalTargets() {
		v := a.judge(m, "mysql")
		got[a.what[:12]] = v.reached + " " + v.met
	}
	want := map[string]string{
		"a callback a": "1.50 ms yes", "accepted at ": "6.00 ms; 1.00 ms no", "one channel ": "0.95 yes", "12 channels,": "1.00; 1.10 no",
		"… saturate": "– –", "idle, 1,000 ": "1.5/s; 1.2/s; 0.40 % of a core yes", "the router a": "– –",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The rates that are offered are half of what one process has carried.
func TestSeveral_AreLoadedAtHalfTheRateOfOneProcess(t *testing.T) {
	t.Parallel()
	live := func(variant string, rate float64) Figures {
		return Figures{Mode: load.Live, Peer: "http mysql", N: 10, Channels: wideChannels, Variant: variant, PerS: rate}
	}
	s := &session{o: Defaults(), done: []Figures{live(wideVariant, 4000), live(wideVariant+", 3 processes", 2000)}}
	for _, st := range severalSteps(Defaults(), false) {
		if st.Mode != load.Loaded {
			continue
		}
		if got := s.loaded(st); got.Rate != 2000 || got.N != 30_000 {
			t.Errorf("%s: %d a second, N=%d; want 2,000 and 30,000", st.Variant(), got.Rate, got.N)
		}
	}
}

// The tests that are named instead of a figure exist.
func TestSeveral_NamesTestsThatExist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../test/crashtest/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, e := range severalElsewhere() {
		if e.test != "" && !strings.Contains(all.String(), "func "+e.test+"(t *testing.T)") {
			t.Errorf("%s: there is no test %s", e.what, e.test)
		}
	}
}
