package commit

import (
	"context"
	"fmt"
	"time"

	dbase "weir/persistence/database"
	"weir/persistence/dialect"
)

// inspect refuses a connection to a server that lacks a batch which the database has confirmed
// to this process. Such a database is another one than it was: a replica that was promoted
// before it had caught up, an older state that was restored, or a server that lost what it had
// not flushed.
//
// The row of a batch goes with a later one, so that the newest row is that of the latest batch,
// whose id holds its instant. Another owner's ids may be lower: that the database has another
// owner shows elsewhere.
func (w *writer) inspect(ctx context.Context, read dialect.ReadNumber) error {
	want := w.confirmed.Load()
	if want == 0 {
		return nil
	}
	newest, same, err := read(ctx, fmt.Sprintf("SELECT COALESCE((SELECT MAX(id) FROM contacts_in_flight), 0) FROM meta WHERE name = 'epoch' AND value <= %d", w.s.Epoch()))
	if err != nil || !same {
		return err
	}
	if missing := missingSince(newest, want); missing != nil {
		return w.s.LoseCommits(missing)
	}
	return nil
}

// missingSince returns the error about a database whose newest row is older than the one that it
// confirmed last; nil: it is not.
func missingSince(newest, confirmed int64) error {
	switch {
	case newest >= confirmed:
		return nil
	case newest == 0:
		return fmt.Errorf("commits are missing: the database has confirmed some, until %s, and has none; %s", instantOf(confirmed), whyMissing)
	default:
		return fmt.Errorf("commits are missing since %s: the database has confirmed some until %s; %s", instantOf(newest), instantOf(confirmed), whyMissing)
	}
}

const whyMissing = "it is a replica that was promoted before it had caught up, or an older state that was restored"

func instantOf(row int64) string { return dbase.InstantOfID(row).Format(time.RFC3339Nano) }
