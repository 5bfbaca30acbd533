package simulation_test

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"weir/channels/simulation"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRule_IsParsedOrRefused(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"busy", "busy:0.2", "busy:1", "busy:0", "status=503@send:#1-20", "late=2s@send:*7", "drop:/10", "hang:#3-", "failed=ISDN:17:1"} {
		r, err := simulation.ParseRule(good)
		if err != nil || r.String() != good {
			t.Errorf("%q: %q, %v", good, r, err)
		}
	}
	for _, bad := range []string{"", ":0.2", "=5", "@send", "busy:2", "busy:-1", "busy:NaN", "busy:#0", "busy:#5-3", "busy:#", "busy:#a-b", "busy:/0", "busy:/", "busy:x", "busy:", "busy::"} {
		if r, err := simulation.ParseRule(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, r)
		}
	}
	got, err := simulation.ParseRules("busy:0.2, no-answer:*9", "", "hangup")
	if err != nil || len(got) != 3 || got[1].What != "no-answer" {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"busy:0.2", "status=503@send:#1-20", "late=2s@send:*7", "a=b:c:d", "#:*/", "0::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := simulation.ParseRule(s)
		if err != nil {
			return
		}
		again, err := simulation.ParseRule(r.String())
		if err != nil || again.String() != r.String() || again.What != r.What || again.When != r.When {
			t.Errorf("%q → %q → %+v, %v", s, r, again, err)
		}
	})
}

func TestScript_PicksByNumberAndAddress(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rules []string
		want  string // for eight requests, to addresses that end in 1 to 8
	}{
		{[]string{"a:#3"}, "--a-----"},
		{[]string{"a:#3-5", "b:#5-"}, "--aaabbb"},
		{[]string{"a:/3"}, "--a--a--"},
		{[]string{"a:*4", "b:*5"}, "---ab---"},
		{[]string{"a@other", "b@send:*1"}, "b-------"},
		{[]string{"a:0", "b:1"}, "bbbbbbbb"},
		{nil, "--------"},
	}
	for _, c := range cases {
		rules, err := simulation.ParseRules(c.rules...)
		if err != nil {
			t.Fatal(err)
		}
		script := simulation.NewScript(1, rules...)
		got := ""
		for i := range 8 {
			r, ok := script.Pick("send", fmt.Sprint("+1555", i+1))
			if !ok {
				r.What = "-"
			}
			got += r.What
		}
		if got != c.want {
			t.Errorf("%v: got %s, want %s", c.rules, got, c.want)
		}
	}
}

// With one seed an address gets the same result, whatever the order and the
// concurrency; another seed gives another choice, and the ratio is right.
func TestScript_IsDeterministic(t *testing.T) {
	t.Parallel()
	const n = 4000
	draw := func(seed uint64, backwards bool) []bool {
		rules, err := simulation.ParseRules("a:0.25")
		if err != nil {
			t.Fatal(err)
		}
		script := simulation.NewScript(seed, rules...)
		hits := make([]bool, n)
		var all sync.WaitGroup
		for half := range 2 {
			all.Go(func() {
				for i := half * n / 2; i < (half+1)*n/2; i++ {
					at := i
					if backwards {
						at = n - 1 - i
					}
					_, hits[at] = script.Pick("send", fmt.Sprint(at))
				}
			})
		}
		all.Wait()
		return hits
	}
	first := draw(1, false)
	if d := cmp.Diff(first, draw(1, true)); d != "" {
		t.Errorf("the order changes the result:\n%s", d)
	}
	if cmp.Equal(first, draw(2, false)) {
		t.Error("the seed changes nothing")
	}
	count := 0
	for _, hit := range first {
		if hit {
			count++
		}
	}
	if share := float64(count) / n; math.Abs(share-0.25) > 0.03 {
		t.Errorf("a share of %v, want 0.25", share)
	}
}

func TestFaults_AreChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"status", "status=99", "status=x", "late", "late=soon", "hang=-1s", "after=1", "delay", "nonsense"} {
		if _, err := simulation.NewFaults(1, bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	f, err := simulation.NewFaults(1, "status=503:*1", "drop@completed", "delay=1s")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Set("cut", "nonsense"); got == nil {
		t.Error("a wrong rule was taken")
	}
	if d := cmp.Diff([]string{"status=503:*1", "drop@completed", "delay=1s"}, f.Rules()); d != "" {
		t.Errorf("rules after a refused change (-want +got):\n%s", d)
	}
	if got := f.Request("send", "x1"); got.What != simulation.FaultStatus || got.Status != 503 {
		t.Errorf("request: %+v", got)
	}
	if got := f.Callback("completed", "x1"); got.What != simulation.FaultDrop {
		t.Errorf("callback: %+v", got)
	}
	if got := f.Callback("", "x1"); got.What != simulation.FaultDelay {
		t.Errorf("callback of no kind: %+v", got)
	}
}

// The tally against a simple model.
func TestTally_AgreesWithItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tally := simulation.NewTally()
		open := map[string][]int{}
		taken, known := map[string]int{}, map[string]int{} // known: since the key was forgotten
		active, most, finished, units, refused, doubled := 0, 0, 0, 0, 0, 0
		key := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				k, slots := key.Draw(t, "key"), rapid.IntRange(1, 3).Draw(t, "slots")
				tally.Begin("l", k, "addr", slots)
				open[k] = append(open[k], slots)
				if taken[k] > 0 && known[k] == 0 {
					known[k] = 1 // forgotten, but not that it was there
				}
				taken[k]++
				if known[k]++; known[k] == 2 {
					doubled++
				}
				units++
				active += slots
				most = max(most, active)
			},
			"end": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if ended := tally.End("l", k); ended != (len(open[k]) > 0) {
					t.Fatalf("End said %v, open %v", ended, open[k])
				}
				if len(open[k]) > 0 {
					active -= open[k][0]
					open[k] = open[k][1:]
					finished++
				}
			},
			"refuse": func(*rapid.T) { tally.Refuse("l"); refused++ },
			"forget": func(t *rapid.T) {
				k := key.Draw(t, "key")
				tally.Forget("l", time.Now().Add(time.Hour), func(r simulation.KeyReport) bool { return r.Key == k })
				if len(open[k]) == 0 {
					delete(known, k)
				}
				if kept := len(tally.Keys("l")); kept != len(known) {
					t.Fatalf("it keeps %d keys; want %d", kept, len(known))
				}
			},
			"": func(t *rapid.T) {
				want := simulation.LineReport{Line: "l", Sent: len(taken), Taken: units, Doubled: doubled, Refused: refused, Active: active, PeakActive: most, Finished: finished}
				got := tally.Line("l")
				got.FirstAt, got.LastAt = want.FirstAt, want.LastAt
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("(-want +got):\n%s", d)
				}
			},
		})
	})
}
