package top_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/cmd/internal/terminal"
	"weir/cmd/weir/cli/top"
)

func sample() top.State {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	return top.State{
		Now: now, URL: "http://weir.example", Minutes: true,
		Channels: []top.Channel{
			{Name: "calls", Type: "verboice", State: "up", InFlight: 30, Capacity: 60, Sending: 2, Active: 28, Queued: 12345, Oldest: now.Add(-3*time.Hour - 5*time.Minute), AcceptedPerMinute: 100, FinishedPerMinute: 90},
			{Name: "sms", Type: "nuntium", State: "down", Reason: "the provider \x1b[2Jdoes not answer", InFlight: 5, Capacity: 5, Unknown: 5, Queued: 7, Oldest: now.Add(-65 * time.Second)},
			{Name: "agents", Type: "workers", State: "paused", Capacity: 10},
		},
		Surveys: []top.Survey{
			{Name: "flu", State: "running", Respondents: 2000, Over: 700, PerMinute: 12.34, EndsAt: now.Add(2 * time.Hour), Open: true},
			{Name: "measles\u202e", State: "running", Respondents: 100000, Target: 1000, Counted: 999},
		},
		Router: &top.Router{Workers: map[string]int64{"active": 12, "inactive": 3}, Jobs: map[string]int64{"queued": 4, "assigned": 9}, Offers: 2, Oldest: 45 * time.Second},
	}
}

// crowd has more channels and surveys than a terminal has lines.
func crowd() top.State {
	s := sample()
	for i := range 100 {
		s.Channels = append(s.Channels, top.Channel{Name: fmt.Sprintf("channel-%03d", i), State: "up", InFlight: i, Capacity: 100, Queued: int64(i * i), FinishedPerMinute: int64(i)})
		s.Surveys = append(s.Surveys, top.Survey{Name: fmt.Sprintf("survey-%03d", i), State: "paused", Respondents: 10})
	}
	s, _ = s.Press('w', 0)
	s.Problem, s.Seen = "no response from Weir", s.Now.Add(-time.Minute)
	return s
}

func TestTop_DrawsThePicturesOnFile(t *testing.T) {
	t.Parallel()
	few, many := sample(), crowd()
	for name, got := range map[string]string{
		"80x24.txt": few.Draw(80, 24, false), "200x50.txt": few.Draw(200, 50, false),
		"crowd-80x24.txt": many.Draw(80, 24, false), "crowd-200x50.txt": many.Draw(200, 50, false),
		"plain.txt": few.Text(100), "empty.txt": top.State{Now: few.Now, URL: few.URL}.Draw(80, 6, false),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s\nit is now:\n%s", diff, got)
			}
		})
	}
}

// Whatever the channels and their names are, the picture exactly fills the terminal,
// and nothing in it moves the cursor.
func TestTop_PicturesFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := sample()
		for range rapid.IntRange(0, 60).Draw(t, "channels") {
			s.Channels = append(s.Channels, top.Channel{
				Name: rapid.String().Draw(t, "name"), State: rapid.SampledFrom([]string{"up", "down", "paused", "\x1b[1m"}).Draw(t, "state"), Reason: rapid.String().Draw(t, "reason"),
				InFlight: rapid.IntRange(0, 1_000_000).Draw(t, "in flight"), Capacity: rapid.IntRange(0, 1_000_000).Draw(t, "capacity"), Queued: rapid.Int64Range(0, 1e12).Draw(t, "queued"),
			})
		}
		s.Surveys = append(s.Surveys, top.Survey{Name: rapid.String().Draw(t, "survey"), State: "running"})
		s.Sort, s.Minutes = rapid.IntRange(0, 5).Draw(t, "sort"), rapid.Bool().Draw(t, "minutes")
		for _, key := range rapid.SliceOfN(rapid.SampledFrom([]rune("nfwodsrjk bg")), 0, 20).Draw(t, "keys") {
			s, _ = s.Press(key, 10)
		}
		width, height := rapid.IntRange(20, 300).Draw(t, "width"), rapid.IntRange(10, 80).Draw(t, "height")
		picture := s.Draw(width, height, false)
		lines := strings.Split(picture, "\n")
		if len(lines) != height {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), height, picture)
		}
		for _, line := range lines {
			if terminal.Visible(line) != line || terminal.Width(line) > width {
				t.Fatalf("a line is %d wide, want up to %d, and all of it visible: %q", terminal.Width(line), width, line)
			}
		}
	})
}

func names(s top.State) string {
	var out []string
	for line := range strings.Lines(s.Text(200)) {
		if name, _, _ := strings.Cut(line, " "); name == "calls" || name == "sms" || name == "agents" {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

func TestTop_KeysSortAndScroll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ keys, want string }{
		{"", "agents calls sms"}, {"r", "sms calls agents"}, {"n", "sms calls agents"}, {"nn", "agents calls sms"},
		{"f", "sms calls agents"}, {"w", "calls sms agents"}, {"o", "calls sms agents"}, {"d", "calls agents sms"}, {"s", "sms agents calls"}, {"wr", "agents sms calls"},
		{"j", "calls sms"}, {"jjjjj", "sms"}, {"jjk", "calls sms"}, {"jg", "agents calls sms"}, {" ", "calls sms"}, {"kb", "agents calls sms"}, {"x\x1b", "agents calls sms"},
		{"\x1b[B", "calls sms"}, {"\x1bOB", "calls sms"}, {"\x1b[B\x1b[B\x1b[A", "calls sms"}, // arrows
		{"B", "agents calls sms"}, {"jjA", "sms"}, // letters alone
		{"\x1b[1;2d", "agents calls sms"}, {"\x1b[5~", "agents calls sms"}, {"\x1bw", "agents calls sms"}, {"éöf", "sms calls agents"}, // other keys
	} {
		s := sample()
		for in := bufio.NewReader(strings.NewReader(c.keys)); ; {
			key, err := top.ReadKey(in)
			if err != nil {
				break
			}
			var quit bool
			if s, quit = s.Press(key, 1); quit {
				t.Errorf("%q ends it", key)
			}
		}
		if got := names(s); got != c.want {
			t.Errorf("%q: %s, want %s", c.keys, got, c.want)
		}
	}
	for _, keys := range []string{"q", "Q", "\x03", "\x1b[\x03"} {
		key, err := top.ReadKey(bufio.NewReader(strings.NewReader(keys)))
		if _, quit := sample().Press(key, 1); !quit || err != nil {
			t.Errorf("%q does not end it: %v", keys, err)
		}
	}
}

func TestTop_ColorsMarkTroubleAndAreCleared(t *testing.T) {
	t.Parallel()
	got := sample().Draw(100, 24, true)
	for _, want := range []string{"\x1b[31msms", "\x1b[33magents", "\x1b[7mCHANNEL"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%q", want, got)
		}
	}
	if strings.Contains(got, "\x1b[2J") {
		t.Error("a reason clears the screen")
	}
}
