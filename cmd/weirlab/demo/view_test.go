package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func epoch() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

func working() gauge {
	return gauge{name: "water", n: 512, all: 1000, text: "512 of 1,000 over, 400 completed, 143 active"}
}

func TestView_WithoutATerminalLinesComeNowAndThen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newView(Options{Out: &out}, epoch())
	dead := gauge{name: "texts", n: 40, all: 40, text: "no broker; Nuntium goes on with 40"}
	for tenth := range 60 { // 5.9 s
		v.draw(epoch().Add(time.Duration(tenth)*100*time.Millisecond), []gauge{working(), dead})
	}
	v.say(epoch().Add(6*time.Second), "One %s.", "sentence")
	want := `   0.0 s water: 512 of 1,000 over, 400 completed, 143 active
   0.0 s texts: no broker; Nuntium goes on with 40
   5.0 s water: 512 of 1,000 over, 400 completed, 143 active
   5.0 s texts: no broker; Nuntium goes on with 40
   6.0 s One sentence.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestView_OnATerminalLinesAreDrawnInPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newView(Options{Out: &out, Terminal: true, Width: func() int { return 40 }}, epoch())
	v.draw(epoch(), []gauge{working(), working()})
	v.draw(epoch(), []gauge{working()})
	v.say(epoch(), "words that are too long for one line of this terminal")
	line := "  water    [######......] 512 of 1,000 ove"[:39]
	want := line + "\n" + line + "\n" + "\x1b[2A\x1b[J" + line + "\n" + "\x1b[1A\x1b[J" +
		"   0.0 s words that are too long for\n         one line of this terminal\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestView_BarsKeepTheirWidth(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 0, 5, 10, 11} {
		g := gauge{name: "x", n: n, all: 10}
		if got := g.line(); len(got) != len("x        [............] ") {
			t.Errorf("%d of 10: %q", n, got)
		}
	}
}

func TestView_ColorsAreLeftOut(t *testing.T) {
	t.Parallel()
	v := newView(Options{}, epoch())
	if got := v.verdict(false, "FAIL") + v.bold("x"); got != "FAILx" {
		t.Errorf("got %q", got)
	}
	v.color = true
	if got := v.verdict(true, "PASS"); got != "\x1b[1;32mPASS\x1b[0m" {
		t.Errorf("got %q", got)
	}
}

func TestView_NumbersAreGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1: "-1", -100: "-100", -1000: "-1,000"} {
		if got := number(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
	}
}

// Every fault appears in the program's error and in its last line.
func TestView_VerdictNamesEveryFault(t *testing.T) {
	t.Parallel()
	good := finding{Channel: "calls", Provider: "Verboice", Capacity: 50, Acknowledged: 10, Sent: 9, PeakActive: 50, Unclear: 1}
	tests := []struct {
		name   string
		change func(*finding, *verdict, *application)
		want   string
	}{
		{"good", func(*finding, *verdict, *application) {}, "PASS: no respondent lost"},
		{"over capacity", func(f *finding, _ *verdict, _ *application) { f.PeakActive = 51 }, "FAIL: calls: 51 in flight, over the capacity of 50."},
		{"twice", func(f *finding, _ *verdict, _ *application) { f.Twice = 1 }, "FAIL: calls: 1 sent twice."},
		{"lost", func(f *finding, _ *verdict, _ *application) { f.Lost = 2 }, "FAIL: calls: 2 lost."},
		{"open", func(f *finding, _ *verdict, _ *application) { f.Open = 3 }, "FAIL: calls: 3 not done."},
		{"strange", func(f *finding, _ *verdict, _ *application) { f.Strange = 1 }, "FAIL: calls: 1 at the provider that Weir never acknowledged."},
		{"a respondent", func(_ *finding, v *verdict, _ *application) { v.Pestered = 1 }, "FAIL: s: 1 contacted more often than allowed."},
		{"the application", func(_ *finding, _ *verdict, a *application) { a.wrong = []string{"x", "y"} }, "FAIL: the application: x (2 such)."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			o := Defaults()
			o.Out = &out
			f, v, a := good, inspect(sound()), &application{}
			tt.change(&f, &v, a)
			err := (&demonstration{options: o, view: newView(o, time.Now()), app: a}).judgement([]finding{good, f}, []verdict{inspect(sound()), v})
			if (err == nil) != strings.HasPrefix(tt.want, "PASS") {
				t.Errorf("the error is %v", err)
			}
			if !strings.Contains(out.String(), tt.want) {
				t.Errorf("the last line is %q, want %q", out.String(), tt.want)
			}
		})
	}
}

func TestView_RemarksTellOfWhatIsUnclear(t *testing.T) {
	t.Parallel()
	s := &demonstration{view: newView(Options{}, epoch()), app: &application{wrote: 2}, refusals: newRefusals(), participants: []*participants{{stopped: map[string]bool{"1": true}}}}
	got := strings.Join(s.remarks([]finding{{Unclear: 3, UnclearSent: 1}}), " ")
	for _, want := range []string{
		"these 3 contacts ended as lost, and the survey went on with the next attempt. The records show: 2 not called, 1 called once.",
		"0 people answered by message, and 1 person wrote STOP. The application received 2 messages besides these.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want in it %q", got, want)
		}
	}
}

func TestView_TablesAreAligned(t *testing.T) {
	t.Parallel()
	got := strings.Join(recordTable([]finding{{Channel: "calls", Provider: "Verboice", Acknowledged: 1000, Sent: 998, PeakActive: 50, Capacity: 50, Unclear: 2}}), "\n")
	want := "  channel  provider  contacts  sent  most in flight  sent twice  lost  unclear\n" +
		"  calls    Verboice     1,000   998        50 of 50           0     0        2"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestView_OptionsAreChecked(t *testing.T) {
	t.Parallel()
	if err := Defaults().Check(); err != nil {
		t.Error(err)
	}
	err := Options{Respondents: 9, Capacity: 10_001, Kills: 101, Processes: 10}.Check()
	want := "--respondents is 9; want 10 to 1000000\n--capacity is 10001; want 1 to 10000, or 0 for the usual\n" +
		"--kills is 101; want 0 to 100\n--processes is 10; want 1 to 9\n--speed is 0; want 0.01 to 100"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
