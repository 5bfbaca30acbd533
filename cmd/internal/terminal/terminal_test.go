package terminal_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/cmd/internal/terminal"
)

func TestVisible_EscapesControlCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "",
		"écoutez 日本 🙂":          "écoutez 日本 🙂",
		"a\x1b[2Jb":             `a\x1b[2Jb`,
		"two\nlines\tand\r":     `two\nlines\tand\r`,
		"bell\a null\x00":       `bell\a null\x00`,
		"\u202egnp.exe":         `\u202egnp.exe`,
		"c1 \u009b31m":          `c1 \u009b31m`,
		"no UTF-8 \xff\xfe":     `no UTF-8 \xff\xfe`,
		"a\u00a0b line\u2028 x": `a\u00a0b line\u2028 x`,
	} {
		if got := terminal.Visible(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := terminal.VisibleLines("a\n\x1bb\n"); got != "a\n\\x1bb\n" {
		t.Errorf("%q", got)
	}
}

// Any name is printable after Visible, and has exactly the requested width after
// Left and Right.
func TestTerminal_TextsKeepTheirWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, width := terminal.Visible(rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("e\u0301❤\ufe0f⌚✅👩🇨🇭日\u0d4e한가")))).Draw(t, "text")), rapid.IntRange(1, 40).Draw(t, "width")
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q is not all visible", text)
		}
		cut := terminal.Cut(text, width)
		// Where a wide character does not fit, a blank fills the remaining cell. A blank is
		// a cell of its own, even if it forms a cluster with what is beside it.
		if blanks := strings.Repeat(" ", max(0, width-terminal.Width(cut))); terminal.Width(cut) > width ||
			terminal.Left(text, width) != cut+blanks || terminal.Right(text, width) != blanks+cut {
			t.Fatalf("%q is %d wide in %d cells; %q, %q", cut, terminal.Width(cut), width, terminal.Left(text, width), terminal.Right(text, width))
		}
	})
}

// Widths are those of what terminals draw: a cluster of characters counts once.
func TestWidth_CountsAClusterOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "ｱ": 1, "Ａ": 2, "⌚": 2, "✅": 2, "❤️": 2, "👩‍👩‍👧": 2, "🇨🇭": 2, "→": 1,
	} {
		if got := terminal.Width(text); got != want {
			t.Errorf("%q is %d wide, want %d", text, got, want)
		}
	}
}

// A line is cut between clusters, and its styles end with it.
func TestClip_CutsBetweenClusters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"日本", 3, "日"}, {"a❤️b", 2, "a"}, {"a❤️b", 3, "a❤️"}, {"abc", 0, ""},
		{"\x1b[31mabcd\x1b[0m", 2, "\x1b[31mab\x1b[0m"}, {"\x1b[31mab\x1b[0m", 2, "\x1b[31mab\x1b[0m"},
	} {
		if got := terminal.Clip(c.line, c.width); got != c.want {
			t.Errorf("%q in %d cells: %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

func TestBar_IsToScale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, all int64
		want   string
	}{{0, 10, "....."}, {1, 1000, "#...."}, {5, 10, "##..."}, {10, 10, "#####"}, {20, 10, "#####"}, {0, 0, "#####"}} {
		if got := terminal.Bar(c.n, c.all, 5); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.n, c.all, got, c.want)
		}
	}
}

func table(width int, colours bool) string {
	var b strings.Builder
	t := terminal.Table{Out: &b, Width: width, Colors: colours, Columns: []terminal.Column{
		{Name: "CHANNEL", MinWidth: 6}, {Name: "STATE"}, {Name: "QUEUED", Right: true}, {Name: "REASON", MinWidth: 8},
	}}
	for _, row := range [][]terminal.Cell{
		{{"sms", 0}, {"up", terminal.Good}, {"12,345", 0}, {"", 0}},
		{{"a-very-long-name-of-a-channel", 0}, {"down", terminal.Bad}, {"0", 0}, {"the provider\x1b[31m does not answer any more", 0}},
		{{"日本", 0}, {"paused", terminal.Warning}, {"7", 0}, {"", 0}},
	} {
		if err := t.Add(row); err != nil {
			panic(err)
		}
	}
	if err := t.Flush(); err != nil {
		panic(err)
	}
	return b.String()
}

func TestTable_FitsItsWidth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, `CHANNEL                        STATE   QUEUED  REASON
sms                            up      12,345  -
a-very-long-name-of-a-channel  down         0  the provider\x1b[31m does not answer any more
日本                           paused       7  -
`},
		{60, `CHANNEL                STATE   QUEUED  REASON
sms                    up      12,345  -
a-very-long-name-of-…  down         0  the provider\x1b[31m…
日本                   paused       7  -
`},
		{10, `CHANNEL  STATE   QUEUED  REASON
sms      up      12,345  -
a-very…  down         0  the pro…
日本     paused       7  -
`},
	} {
		if diff := cmp.Diff(c.want, table(c.width, false)); diff != "" {
			t.Errorf("width %d:\n%s", c.width, diff)
		}
	}
	if got := table(0, true); !strings.Contains(got, "\x1b[31mdown\x1b[0m  ") || strings.Contains(got, "\x1b[31m does") {
		t.Errorf("colours:\n%q", got)
	}
}

// A long table is written in parts, with the column names only once.
func TestTable_ThatIsLongNamesItsColumnsOnce(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	tab := terminal.Table{Out: &b, Columns: []terminal.Column{{Name: "N"}}}
	for i := range 1200 {
		if err := tab.Add([]terminal.Cell{{Text: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != 1001 {
		t.Errorf("%d lines before the end", n)
	}
	if err := tab.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 1201 || strings.Count(b.String(), "N") != 1 {
		t.Errorf("%d lines", n)
	}
	var empty strings.Builder
	tab = terminal.Table{Out: &empty, Columns: []terminal.Column{{Name: "N"}, {Name: "M"}}}
	if err := tab.Flush(); err != nil || empty.String() != "N  M\n" {
		t.Errorf("%q, %v", empty.String(), err)
	}
}
