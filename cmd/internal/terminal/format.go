package terminal

import (
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"
)

// Number formats a number with its thousands separated.
func Number[N int | int64](n N) string { return humanize.Comma(int64(n)) }

// Plural formats a number with the noun that belongs to it.
func Plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Bytes formats a number of bytes, rounded.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// Duration formats a duration in at most two units.
func Duration(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%d days %d h", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// Field writes a text with its name, on an indented line; an empty text is left out.
// width is that of the names in cells.
func Field(w io.Writer, width int, name, text string) {
	if text != "" {
		_, _ = fmt.Fprintf(w, "  %-*s %s\n", width, name, Visible(text))
	}
}

// Meter draws n of all as a bar of 20 cells in brackets.
func Meter[N int | int64](n, all N) string { return "[" + Bar(int64(n), int64(all), 20) + "]" }
