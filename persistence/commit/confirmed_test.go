package commit

import (
	"strings"
	"testing"
	"time"

	dbase "weir/persistence/database"
)

func TestMissingSince_NamesTheNewestBatchThatIsThere(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	last, before := dbase.FirstID(at), dbase.FirstID(at.Add(-time.Second))
	for newest, want := range map[int64]string{
		last:     "",
		last + 9: "",
		before:   "commits are missing since 2026-03-01T11:59:59Z: the database has confirmed some until 2026-03-01T12:00:00Z; ",
		last - 1: "commits are missing since 2026-03-01T11:59:59.999Z: ",
		0:        "commits are missing: the database has confirmed some, until 2026-03-01T12:00:00Z, and has none; ",
	} {
		err := missingSince(newest, last)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("a database whose newest row is %d: %v, want %q", newest, err, want)
		}
	}
}
