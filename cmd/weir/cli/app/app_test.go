package app

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testProgress returns a progress on a terminal of the given width.
func testProgress(out io.Writer, width int, now func() time.Time, name string, size int64) *Progress {
	return &Progress{StatusLine: &StatusLine{out: out, width: func() int { return width }}, now: now, name: name, size: size, head: true, began: now()}
}

// The progress of a long import on a wide terminal.
func TestProgress_FillsAWideTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	row := []byte("+15550001,\"a \"\"quoted\nname\"\"\"\n") // 30 bytes, 1 row
	total := int64(11 + 1000*len(row))
	p := testProgress(&out, 121, func() time.Time { return now }, "people.csv", total)
	p.Add([]byte("phone,name\n"))
	for i := range 1000 {
		if i%250 == 0 {
			now = now.Add(time.Second)
		}
		p.Add(row)
	}
	p.Clear()
	want := []string{
		"people.csv [#...................]   0 %  11 B of 30 kB, 0 rows",
		"people.csv [#...................]   0 %  41 B of 30 kB, 1 rows, 1/s, 12 min 11 s left",
		"people.csv [#####...............]  25 %  7.5 kB of 30 kB, 251 rows, 125/s, 6 s left",
		"people.csv [##########..........]  50 %  15 kB of 30 kB, 501 rows, 167/s, 3 s left",
		"people.csv [###############.....]  75 %  23 kB of 30 kB, 751 rows, 187/s, 1 s left",
		"people.csv [####################] 100 %  30 kB of 30 kB, 1,000 rows, 250/s, waiting for the answer",
		"",
	}
	got := strings.Split(out.String(), "\r\x1b[K")[1:]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The progress of a stream of unknown size, and on a terminal that is too narrow.
func TestProgress_NeedsNoSize(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	p := testProgress(&out, 31, func() time.Time { return now }, "results.csv", 0)
	now = now.Add(2 * time.Second)
	p.Add([]byte("a\nb\nc\n"))
	if got, want := out.String(), "\r\x1b[Kresults.csv  6 B, 2 rows, 1/s"[:33]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The name of a file cannot move the cursor.
func TestProgress_ShowsNamesEscaped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := testProgress(&out, 80, func() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }, "\x1b[2J.csv", 0)
	p.Add([]byte("a\n"))
	if got, want := out.String(), "\r\x1b[K\\x1b[2J.csv  2 B, 0 rows"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScreen_IsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &screen{out: &out, over: true, width: func() int { return 21 }, height: func() int { return DefaultHeight }}
	for _, text := range []string{"one\nécoutez, a line that is too long\n", "two\n"} {
		if err := s.write(text); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "one\nécoutez, a line that\n\x1b[2A\x1b[Jtwo\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
