package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/cmd/weirlab/bench/load"
	"weir/persistence/testmysql"
)

var (
	programs string       // the folder of weir and weirlab
	built    func() error // builds them once for all tests, the way users run them
)

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "weir-programs-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = sync.OnceValue(func() error {
		out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", programs, "weir/cmd/weir", "weir/cmd/weirlab").CombinedOutput()
		if err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
		return nil
	})
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// program returns the path of weir, which has weirlab beside it.
func program(t *testing.T) string {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(programs, "weir")
}

// small returns options for a trial that only shows that measuring works.
func small(weir string, out io.Writer) Options {
	o := Defaults()
	o.Weir, o.Program, o.Out, o.Err = weir, weir+"lab", out, io.Discard
	o.N, o.Channels, o.Capacity, o.Repeat, o.Queued = 300, 3, 10, 1, 1500
	o.Workers, o.Blocked = []int{100}, []int{10}
	o.Latency, o.Idle = 200*time.Millisecond, 200*time.Millisecond
	return o
}

// lines reads the lines of JSON.
func lines(t *testing.T, out *bytes.Buffer) []Figures {
	t.Helper()
	var list []Figures
	for line := range strings.Lines(out.String()) {
		var f Figures
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, f)
	}
	return list
}

func TestBench_EveryModeIsMeasured(t *testing.T) {
	t.Parallel()
	weir := program(t)
	for name, test := range map[string]struct {
		modes, peers []string
		mysql        bool
		runs         int
	}{
		"in process, and the baseline": {[]string{load.Live, load.Drain, load.Turnaround}, []string{PeerBaseline, PeerInside, PeerInBatch}, false, 9},
		"over HTTP":                    {[]string{load.Live, load.Latency, load.Drain}, []string{PeerSingle, PeerBatches}, false, 6},
		"on MySQL":                     {[]string{load.Live, load.Backlog}, []string{PeerInside}, true, 3},
		"beside, restarted and idle":   {[]string{load.Backlog, load.Restart, load.Idle, load.Bulk}, []string{PeerInside}, false, 5},
		"killed":                       {[]string{load.Crash}, []string{PeerSingle}, false, 1},
		"matching":                     {[]string{load.Matching}, []string{PeerSingle}, false, 1},
		"a survey":                     {[]string{load.Survey}, []string{PeerSingle}, false, 1},
		"at a share of the rate":       {[]string{load.Live, load.Loaded}, []string{PeerSingle, PeerInside}, false, 4},
		"behind a queue":               {[]string{load.Standing}, []string{PeerBaseline, PeerInside, PeerBatches}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			o := small(weir, &out)
			o.Modes, o.Peers = test.modes, test.peers
			if test.mysql {
				o.Databases = []string{testmysql.URL(t)}
			}
			if err := Run(t.Context(), o); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			list := lines(t, &out)
			if len(list) != test.runs {
				t.Errorf("%d runs, want %d\n%s", len(list), test.runs, out.String())
			}
			for _, f := range list {
				expectMeasured(t, f)
			}
			if !strings.Contains(out.String(), "end to end/s") {
				t.Error("there is no table of medians")
			}
		})
	}
}

// Contacts that last, a provider that takes its time, and calls are measured, and the
// provider sees all of them.
func TestBench_LastingContactsAndCallsAreMeasured(t *testing.T) {
	t.Parallel()
	weir := program(t)
	for name, change := range map[string]func(*Options){
		"delay 700ms":  func(o *Options) { o.Delay = 700 * time.Millisecond },
		"answer 50ms":  func(o *Options) { o.Answer = 50 * time.Millisecond },
		"calls":        func(o *Options) { o.Calls = true },
		"3 streams":    func(o *Options) { o.Streams = 3 },
		"a webhook":    func(o *Options) { o.ContactEvents = []string{eventsWebhook} },
		"one channel":  func(o *Options) { o.Channels = 1 },
		"100 channels": func(o *Options) { o.Channels = 100 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			o := small(weir, &out)
			o.Capacity, o.Peers = 0, []string{PeerInside, PeerSingle}
			change(&o)
			if err := Run(t.Context(), o); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			list := lines(t, &out)
			if len(list) != 2 {
				t.Errorf("%d runs, want 2", len(list))
			}
			for _, f := range list {
				expectMeasured(t, f)
				if (f.HookLag > 0) != (f.Events == eventsWebhook) {
					t.Errorf("the last event came after %.3f s", f.HookLag)
				}
				if seconds := float64(f.N) / f.PerS; seconds < (o.Delay+o.Answer).Seconds() || f.Variant != "" && f.Variant != name {
					t.Errorf("variant %q took %.3f s", f.Variant, seconds)
				}
			}
		})
	}
}

// expectMeasured fails for figures that were not measured.
func expectMeasured(t *testing.T, f Figures) {
	t.Helper()
	want := map[string]bool{
		"contacts per second": rate(f) > 0, "CPU": f.CPUClient > 0, "memory": f.RSSClient > 0, "CPU of the provider": f.CPUStub > 0,
	}
	switch f.Mode {
	case load.Crash:
		want = map[string]bool{"contacts per second": f.PerS > 0}
	case load.Matching:
		want = map[string]bool{"matches per second": f.PerS > 0, "latency": f.P50 > 0 && f.P99 >= f.P50, "CPU": f.CPUClient > 0}
	case load.Restart:
		want = map[string]bool{"first send": f.FirstSend > 0, "full rate": f.FullRate >= f.FirstSend, "enqueueing": f.EnqueuePS > 0}
	case load.Idle: // the CPU time of three contacts may be below the clock resolution of a process
		delete(want, "CPU")
	case load.Bulk, load.Drain, load.Standing:
		want["enqueueing"] = f.EnqueuePS > 0
	case load.Latency, load.Loaded, load.Turnaround:
		want["latency"] = f.P50 > 0 && f.P99 >= f.P50
	}
	if f.Peer != PeerBaseline && f.Mode != load.Crash && f.Mode != load.Restart && f.Mode != load.Matching {
		want["commits"], want["statements"] = f.Commits > 0, f.Statement > f.Commits
	}
	for what, there := range want {
		if !there {
			t.Errorf("%s, %s: no figure of %s: %+v", f.Mode, f.Peer, what, f)
		}
	}
}

// running starts a Weir, as if it were a user's.
func running(t *testing.T, weir string) *broker {
	t.Helper()
	folder := t.TempDir()
	b, err := newBroker(t.Context(), weir, "sqlite://"+filepath.Join(folder, "weir.db"), folder, load.Live)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// channelsOf lists the channels of a Weir.
func channelsOf(t *testing.T, b *broker) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/v1/channels", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBench_ARunningWeirIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	weir := program(t)
	b := running(t, weir)
	var out bytes.Buffer
	o := small(weir, &out)
	o.URL, o.Token = b.URL, token
	o.Modes, o.Peers = []string{load.Live, load.Drain}, []string{PeerBaseline, PeerInside, PeerSingle}
	if err := Run(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	list := lines(t, &out)
	if len(list) != 4 {
		t.Errorf("%d runs, want the baseline and HTTP in two modes", len(list))
	}
	for _, f := range list {
		if rate(f) <= 0 || f.Peer != PeerBaseline && f.CPUClient != 0 {
			t.Errorf("%+v", f)
		}
	}
	if left := channelsOf(t, b); strings.Contains(left, "bench") {
		t.Errorf("channels are left: %s", left)
	}
}

// stopAt ends a measurement when a line of its progress is written.
type stopAt struct {
	text string
	stop func()
}

func (s stopAt) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.text) {
		time.AfterFunc(300*time.Millisecond, s.stop)
	}
	return len(p), nil
}

func TestBench_AnInterruptedMeasurementLeavesNothing(t *testing.T) {
	t.Parallel()
	weir := program(t)
	b := running(t, weir)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := small(weir, io.Discard)
	o.URL, o.Token, o.N, o.Peers = b.URL, token, 900_000, []string{PeerSingle}
	o.Err = stopAt{"live, http", cancel}
	if err := Run(ctx, o); err == nil {
		t.Error("an interrupted measurement has succeeded")
	}
	if left := channelsOf(t, b); strings.Contains(left, "bench") {
		t.Errorf("channels are left: %s", left)
	}
}

func TestBench_CanceledBeforeItBeginsLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	weir := program(t)
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, small(weir, io.Discard)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBench_VersionsAreComparedInTurns(t *testing.T) {
	t.Parallel()
	weir := program(t)
	var out bytes.Buffer
	o := small(weir, &out)
	o.Against = filepath.Join(t.TempDir(), "before")
	if err := os.Symlink(weir, o.Against); err != nil {
		t.Fatal(err)
	}
	o.ContactEvents = []string{eventsOff, eventsWebhook}
	_ = Run(t.Context(), o) // which of two equal programs is faster is random
	seen := map[string]int{}
	for _, f := range lines(t, &out) {
		seen[f.Peer+" "+f.Events]++
	}
	for _, setting := range o.ContactEvents {
		if n := seen["before sqlite "+setting]; n == 0 || n != seen["http sqlite "+setting] {
			t.Errorf("runs: %v", seen)
		}
	}
	if !strings.Contains(out.String(), "PASS:") && !strings.Contains(out.String(), "FAIL:") {
		t.Errorf("no verdict:\n%s", out.String())
	}
}

// Each setting of the events of contacts is compared with the same one of the version before.
func TestBench_ContactEventsAreComparedWithTheVersionBefore(t *testing.T) {
	t.Parallel()
	run := func(peer, events string, per float64) Figures {
		return Figures{Mode: load.Live, Peer: peer, Events: events, N: 10, PerS: per, CPUClient: 1}
	}
	all := []Figures{run("before sqlite", eventsOff, 100), run("before sqlite", eventsWebhook, 50), run("http sqlite", eventsOff, 100), run("http sqlite", eventsWebhook, 45)}
	if worse := regressions(all); len(worse) != 0 {
		t.Errorf("%q", worse)
	}
	all[3].PerS = 39
	if worse := regressions(all); len(worse) != 1 || !strings.Contains(worse[0], "contact events webhook: contacts per second") {
		t.Errorf("%q", worse)
	}
	if worse := regressions(all[2:]); len(worse) != 1 {
		t.Errorf("nothing before: %q", worse)
	}
}
