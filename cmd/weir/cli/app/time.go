package app

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir"
	"weir/cmd/internal/terminal"
	"weir/operators"
)

// Clock tells the time, and formats instants in the time zone of the user.
type Clock struct {
	now     func() time.Time // nil: time.Now
	environ Environ
}

// FormatAge formats how long ago an instant was.
func (k *Clock) FormatAge(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return terminal.Duration(max(0, k.Now().Sub(t)))
}

// TimeFlag adds a flag for an instant, given as such or as how long ago it was.
func (k *Clock) TimeFlag(c *cobra.Command, into *time.Time, name, about string) {
	c.Flags().Func(name, about+": an instant, or how long ago, such as 24h", func(text string) (err error) {
		*into, err = k.ParsePast(text)
		return err
	})
}

// FormatSecond formats an instant to the second, with its zone: a row may be read in a report, far from where it was printed.
func (k *Clock) FormatSecond(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(k.Zone()).Format("2006-01-02 15:04:05Z07:00")
}

// FormatWhy formats the instants of a sentence that explains why something waits.
func (k *Clock) FormatWhy(sentence string) string {
	var b strings.Builder
	for _, c := range operators.Parts(sentence) {
		if c.At.IsZero() {
			b.WriteString(c.Text)
		} else {
			b.WriteString(k.FormatSecond(c.At))
		}
	}
	return b.String()
}

// ParsePast parses an instant, or how long ago it was.
func (k *Clock) ParsePast(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return k.Now().Add(-max(d, -d)), nil
	}
	at, _, wrong := weir.ParseInstant(text)
	if wrong != "" {
		return at, errors.New("must be an instant, such as 2026-01-31T09:00:00Z, or how long ago, such as 24h")
	}
	return at, nil
}

// Zone returns the time zone for displayed times: TZ, or the local zone.
func (k *Clock) Zone() *time.Location {
	if name := k.environ.Value("TZ"); name != "" {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.Local
}

// Now returns the current time.
func (k *Clock) Now() time.Time {
	if k.now != nil {
		return k.now()
	}
	return time.Now()
}

// FormatMinute formats an instant for a column, to the minute, with its zone.
func (k *Clock) FormatMinute(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(k.Zone()).Format("2006-01-02 15:04Z07:00")
}
