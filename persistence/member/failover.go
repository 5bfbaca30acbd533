package member

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"weir/persistence/ownership"
)

// patience is after how many failures in a row all connections to the database are closed: the
// server may stand still, or be cut off, while another one has taken its place.
const patience = 3

// disconnectAfter counts the failures in a row, of renewals or of looks.
func (m *Member) disconnectAfter(failed int, err error) int {
	if err == nil {
		return 0
	}
	if failed++; failed%patience == 0 {
		m.Logger.Warn("the database was not reached; closing all connections to it", "failures", failed, "server", m.Database.ServerAddress())
		m.Database.Disconnect()
	}
	return failed
}

// minLookTime is what a look may take even if the lease is short.
const minLookTime = 2 * time.Second

// lookOn is see, on one connection, for a limited time.
func (m *Member) lookOn(ctx context.Context, conn *sqlx.Conn) (ownership.Row, error) {
	ctx, cancel := context.WithTimeout(ctx, max(m.LeaseTTL/2, minLookTime))
	defer cancel()
	row, err := m.see(ctx, conn)
	if err == nil && row.Expired() {
		// A primary that was cut off from its group answers, while the owner cannot renew the
		// lease there: what is read on it counts for nothing.
		err = m.Database.Verify(ctx, conn.Conn)
	}
	return row, err
}

// LoseCommits notes that the database lacks what it has confirmed to this process, and
// returns the error for whoever found out.
func (m *Member) LoseCommits(missing error) error {
	m.missing.CompareAndSwap(nil, &missing)
	return m.lose("the database lacks commits that it has confirmed; this process cannot go on with it", "error", missing, "server", m.Database.ServerAddress())
}

// Missing returns the error of [Member.LoseCommits]; nil: nothing is missing.
func (m *Member) Missing() error {
	if missing := m.missing.Load(); missing != nil {
		return *missing
	}
	return nil
}
