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
	return gauge{name: "calls", provider: "Verboice", capacity: 50, total: 1000, done: 512, queued: 143, inFlight: 49, rate: 38.2}
}

func TestWithoutATerminalLinesComeNowAndThen(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newView(Options{Out: &out}, epoch())
	dead := gauge{name: "sms", provider: "Nuntium", total: 1000, done: 7, atProvider: 40, down: true}
	for tenth := range 25 { // 2.4 s
		v.draw(epoch().Add(time.Duration(tenth)*100*time.Millisecond), []gauge{working(), dead})
	}
	v.say(epoch().Add(3*time.Second), "One %s.", "sentence")
	want := `   0.0 s calls: 512 of 1,000 done, 143 queued, 49/50 in flight, 38 contacts/s
   0.0 s sms: 7 of 1,000 done, no broker; Nuntium goes on with 40
   2.0 s calls: 512 of 1,000 done, 143 queued, 49/50 in flight, 38 contacts/s
   2.0 s sms: 7 of 1,000 done, no broker; Nuntium goes on with 40
   3.0 s One sentence.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestOnATerminalLinesAreDrawnInPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newView(Options{Out: &out, Terminal: true, Width: func() int { return 40 }}, epoch())
	v.draw(epoch(), []gauge{working(), working()})
	v.draw(epoch(), []gauge{working()})
	v.say(epoch(), "words that are too long for one line of this terminal")
	line := "  calls [######......]   512/1,000 done, 143"
	want := line[:39] + "\n" + line[:39] + "\n" + "\x1b[2A\x1b[J" + line[:39] + "\n" + "\x1b[1A\x1b[J" +
		"   0.0 s words that are too long for one\n         line of this terminal\n"
	got := out.String()
	for _, l := range strings.Split(strings.NewReplacer("\x1b[2A\x1b[J", "", "\x1b[1A\x1b[J", "").Replace(got), "\n") {
		if len(l) > 39 {
			t.Errorf("%q is wider than the terminal", l)
		}
	}
	want = strings.Replace(want, "   0.0 s words that are too long for one\n         line of this terminal\n",
		"   0.0 s words that are too long for\n         one line of this terminal\n", 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestColorsAreLeftOut(t *testing.T) {
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

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1: "-1", -100: "-100", -1000: "-1,000"} {
		if got := number(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
	}
}

// Whatever is wrong shows as the program's failure and in its last line.
func TestTheVerdict(t *testing.T) {
	t.Parallel()
	good := finding{Channel: "calls", Provider: "Verboice", Capacity: 50, Acknowledged: 10, Sent: 9, MostActive: 50, Unclear: 1}
	tests := []struct {
		name   string
		change func(*finding)
		want   string
	}{
		{"good", func(*finding) {}, "PASS: nothing lost"},
		{"over capacity", func(f *finding) { f.MostActive = 51 }, "FAIL: calls: 51 in flight, over the capacity of 50."},
		{"twice", func(f *finding) { f.Twice = 1 }, "FAIL: calls: 1 sent twice."},
		{"lost", func(f *finding) { f.Lost = 2 }, "FAIL: calls: 2 lost."},
		{"open", func(f *finding) { f.Open = 3 }, "FAIL: calls: 3 not done."},
		{"strange", func(f *finding) { f.Strange = 1 }, "FAIL: calls: 1 at the provider that nobody acknowledged."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			o := Defaults()
			o.Out = &out
			f := good
			tt.change(&f)
			err := (&show{options: o, view: newView(o, time.Now())}).judgement([]finding{good, f})
			if (err == nil) != strings.HasPrefix(tt.want, "PASS") {
				t.Errorf("the error is %v", err)
			}
			if !strings.Contains(out.String(), tt.want) {
				t.Errorf("the last line is %q, want %q", out.String(), tt.want)
			}
		})
	}
}

func TestRemarksTellOfWhatIsUnclear(t *testing.T) {
	t.Parallel()
	s := &show{view: newView(Options{}, epoch())}
	got := strings.Join(s.remarks([]finding{{Unclear: 3, UnclearSent: 1}}, 0, 0), " ")
	if want := "it ended these 3 contacts as lost and did not call again. The records show: 2 not called, 1 called once."; !strings.Contains(got, want) {
		t.Errorf("got %q, want in it %q", got, want)
	}
	if got := s.remarks([]finding{{}}, 0, 0); got != nil {
		t.Errorf("with nothing to remark it says %q", got)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	got := strings.Join(recordTable([]finding{{Channel: "calls", Provider: "Verboice", Acknowledged: 1000, Sent: 998, MostActive: 50, Capacity: 50, Unclear: 2}}), "\n")
	want := "  channel  provider  accepted  sent  most in flight  sent twice  lost  unclear\n" +
		"  calls    Verboice     1,000   998        50 of 50           0     0        2"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	if err := Defaults().Check(); err != nil {
		t.Error(err)
	}
	err := Options{Contacts: -1, Capacity: 10_001, Kills: 101}.Check()
	want := "--contacts is -1; want 1 or more, or 0 for all\n--capacity is 10001; want 1 to 10000, or 0 for the usual\n" +
		"--kills is 101; want 0 to 100\n--speed is 0; want 0.01 to 100"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	for name, o := range map[string]Options{
		"--contacts is 2001, and the file has 2000":                {Contacts: 2001},
		"--capacity is 2, and the contact \"sms-0030\" has 3 mess": {Capacity: 2},
	} {
		if _, err := o.channels(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}
