package app

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir"
	"weir/cmd/internal/terminal"
	"weir/ops"
)

// FormatAge formats how long ago an instant was.
func (a *App) FormatAge(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return terminal.Duration(max(0, a.Now().Sub(t)))
}

// TimeFlag adds a flag for an instant, given as such or as how long ago it was.
func (a *App) TimeFlag(c *cobra.Command, into *time.Time, name, about string) {
	c.Flags().Func(name, about+": an instant, or how long ago, such as 24h", func(text string) (err error) {
		*into, err = a.ParsePast(text)
		return err
	})
}

// FormatSecond formats an instant to the second.
func (a *App) FormatSecond(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return a.inZone(t).Format("2006-01-02 15:04:05")
}

// FormatWhy formats the instants of a sentence that explains why something waits.
func (a *App) FormatWhy(sentence string) string {
	var b strings.Builder
	for _, c := range ops.Clauses(sentence) {
		if c.At.IsZero() {
			b.WriteString(c.Text)
		} else {
			b.WriteString(a.FormatSecond(c.At))
		}
	}
	return b.String()
}

// ParsePast parses an instant, or how long ago it was.
func (a *App) ParsePast(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return a.Now().Add(-max(d, -d)), nil
	}
	at, _, wrong := weir.ParseInstant(text)
	if wrong != "" {
		return at, errors.New("must be an instant, such as 2026-01-31T09:00:00Z, or how long ago, such as 24h")
	}
	return at, nil
}

// Zone returns the time zone for displayed times: TZ, or the local zone.
func (a *App) Zone() *time.Location {
	if name := a.Environment("TZ"); name != "" {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.Local
}

// inZone converts an instant to the display zone. Columns have no room for the zone; Run prints it once.
func (a *App) inZone(t time.Time) time.Time {
	a.zoned = true
	return t.In(a.Zone())
}

// PrintZone prints the zone of the displayed times, on a terminal. JSON output has instants in UTC instead.
func (a *App) PrintZone(c *cobra.Command) {
	if form := c.Flags().Lookup("output"); form != nil && form.Value.String() != "table" {
		return
	}
	if _, _, terminal := a.TerminalSize(a.Stderr); terminal && a.zoned {
		a.Note("times are in " + a.Now().In(a.Zone()).Format("MST (UTC-07:00)") + "; set TZ to change the zone, such as TZ=UTC")
	}
}

// Now returns the current time.
func (a *App) Now() time.Time {
	if a.Options.Now != nil {
		return a.Options.Now()
	}
	return time.Now()
}

// FormatMinute formats an instant for a column, to the minute.
func (a *App) FormatMinute(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return a.inZone(t).Format("2006-01-02 15:04")
}
