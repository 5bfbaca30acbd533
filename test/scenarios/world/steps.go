package world

import (
	"regexp"
	"sync/atomic"
	"time"

	"weir/operators"
)

// Instant parses an instant of a contact or an attempt; zero if it has none.
func Instant(w *World, from map[string]any, name string) time.Time {
	w.Helper()
	text, ok := from[name].(string)
	if !ok {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		w.Fatal(err)
	}
	return at
}

// fuse acts once on the next message of a broker after it was lit.
type fuse struct{ lit, out atomic.Bool }

func (f *fuse) Light() { f.lit.Store(true) }

func (f *fuse) Blown() bool { return f.out.Load() }

// life is how the events of a contact that is done follow each other.
var life = regexp.MustCompile(`^(dispatched \d+(, accepted \d+)?, requeued \d+, )*(dispatched \d+, (accepted \d+, )?)?done \d+ (\w+)(, corrected \d+ completed)?$`)

// Stamp formats an instant as sentences show it.
func Stamp(t time.Time) string { return operators.WhyAt(t) }
