// Package ownership decides who owns a database: when a process may take it, until when it
// may act, and when an owner gives it up. It is pure: the row of the owner, and the instants
// at which it was asked for, are passed in, and the result is a decision for a shell to carry
// out (package database).
//
// # Invariants
//
//   - At most one process may act at a time, however its clock is set: the time of a lease
//     counts from before it was asked for, and ends a fifth of a lease early (TestValidUntil_EndsAFifthEarly).
//   - A lease that has expired is taken only by a process that has read the row without a gap
//     for a whole lease, so that a database that restarts costs no owner its ownership
//     (TestWatch_TakesAFreeOrExpiredDatabase).
//   - An expiry further ahead than a lease can be is void, because the database's clock has gone
//     back: an owner that lives corrects it with its next renewal. The database is taken if the
//     row has not changed for a whole lease, by when whoever wrote it may not act any more
//     (TestWatch_TakesADatabaseWhoseClockWentBack).
//   - A database that has an owner is taken only from the very lease that was judged: between the
//     look and the take another process may have become the owner, and the clock may have gone back
//     (TestRow_IsTakenAsItWasSeen).
package ownership

import "time"

// Row is the row of the owner, with the database's clock.
type Row struct {
	Start   int64 `db:"start_number"` // of the owner; 0: none
	Epoch   int64 `db:"epoch"`        // grows with each owner
	Expires int64 `db:"expires_at"`
	Now     int64 `db:"now"`
}

// Free reports whether the database has no owner.
func (r Row) Free() bool { return r.Start == 0 }

// Expired reports whether the lease has ended.
func (r Row) Expired() bool { return r.Expires <= r.Now }

// MaxLease is the longest lease that a process can have.
const MaxLease = 5 * time.Minute

// Longest is the longest lease of other processes, as far as one with a lease of its own knows.
func Longest(lease time.Duration) time.Duration { return max(MaxLease, lease) }

// Void reports whether the lease ends later than any lease could that was given by the clock as
// it is now; lease is that of the process that looks.
func (r Row) Void(lease time.Duration) bool {
	return r.Expires > r.Now+Longest(lease).Microseconds()
}

// MayTake reports whether the process self that has decided to take the database, because it saw a row, may take it from
// the row that is there when it does.
func (r Row) MayTake(seen Row, lease time.Duration, self int64) bool {
	same := r.Start == seen.Start && r.Epoch == seen.Epoch && r.Expires == seen.Expires
	return r.Free() || r.Start == self || same && (r.Expired() || r.Void(lease))
}

// ValidUntil returns until when a process may act whose lease was asked for at an instant: a
// fifth of the lease before its end.
func ValidUntil(asked time.Time, lease time.Duration) time.Time { return asked.Add(lease - lease/5) }

// YieldFor is for how long a released database is left to the process that its owner named.
const YieldFor = time.Second

// Watch is what a process knows that reads the row again and again. The zero value is ready
// to use.
type Watch struct {
	since time.Time // when it began to read it without a gap, on one connection
	last  time.Time
	owned bool      // it has seen an owner
	row   Row       // as it was read last
	same  time.Time // since when it has been like that
	freed time.Time // since when it has seen none
	// vacant is the instant since when the database has had no owner: it was released, or its
	// lease has expired.
	vacant time.Time
}

// Saw notes that the row was read, by a statement that was sent at an instant.
func (w *Watch) Saw(asked time.Time, r Row, lease time.Duration) {
	if w.since.IsZero() || asked.Sub(w.last) > lease/2 {
		w.since = asked
	}
	w.last = asked
	if r.Start != w.row.Start || r.Epoch != w.row.Epoch || r.Expires != w.row.Expires {
		w.same = asked
	}
	w.row = r
	switch {
	case !r.Free() && !r.Expired():
		w.vacant = time.Time{}
	case w.vacant.IsZero():
		w.vacant = asked
	}
	switch {
	case !r.Free():
		w.owned, w.freed = true, time.Time{}
	case w.freed.IsZero():
		w.freed = asked
	}
}

// Vacant returns since when the database has had no owner; zero: it has one.
func (w *Watch) Vacant() time.Time { return w.vacant }

// LostConnection notes that the next look is on another connection.
func (w *Watch) LostConnection() { w.since = time.Time{} }

// Step is what a process that waits does next.
type Step int

// What a look at the row leads to.
const (
	Wait Step = iota // and look again
	Take             // try to take the database
)

// Decide returns what a process does that has just seen a row; self and successor are the
// start numbers of the process and of the successor that the owner has named. A process that is
// the owner already, because the answer to taking it was lost, takes it once more: how much
// of the first lease is left, it does not know.
func (w *Watch) Decide(r Row, lease time.Duration, self, successor int64) Step {
	if r.Start == self || w.mayTake(r, lease, successor == self) {
		return Take
	}
	return Wait
}

// mayTake decides whether the database may be taken. One that was released is its
// successor's first. An owner that could not renew its lease because the server
// restarted, or failed over, does so within a lease, and a watcher that has seen the row for
// that long has seen it.
func (w *Watch) mayTake(r Row, lease time.Duration, successor bool) bool {
	if r.Free() {
		return successor || !w.owned || w.last.Sub(w.freed) >= YieldFor
	}
	watched := w.last.Sub(w.since)
	if r.Void(lease) {
		return min(watched, w.last.Sub(w.same)) >= lease
	}
	return r.Expired() && watched >= lease
}

// Intervals of a lease.

// RenewEvery is the pause between two renewals of a lease: two in a row may fail, and the
// third comes before the owner has to stop.
func RenewEvery(lease time.Duration) time.Duration { return lease / 4 }

// LookEvery is the pause between two looks at the row.
func LookEvery(lease time.Duration) time.Duration { return min(lease/5, time.Second) }

// StuckLeases is for how many leases an owner renews its lease while it cannot write, or
// does not answer.
const StuckLeases = 3

// Reason is why an owner gives its database up.
type Reason int

// Reasons to give a database up.
const (
	None         Reason = iota // it does not
	Taken                      // another process has become the owner
	CannotWrite                // the same batch could not be committed for too long
	Unresponsive               // it has not answered its own requests for too long
)

// Renewals is what an owner knows of the renewals of its lease.
type Renewals struct {
	lease   time.Duration
	failing bool
	since   time.Time // since when every one has succeeded
}

// NewRenewals begins to renew a lease that was just taken.
func NewRenewals(lease time.Duration, now time.Time) *Renewals {
	return &Renewals{lease: lease, since: now}
}

// Before decides whether the lease is renewed once more, and returns for how long there has
// been a reason not to. stuck is for how long the same batch could not be committed, which
// counts only while the lease can be renewed; unresponsive for how long the process has not answered
// itself.
func (r *Renewals) Before(now time.Time, stuck, unresponsive time.Duration) (Reason, time.Duration) {
	limit := StuckLeases * r.lease
	if stuck = min(stuck, now.Sub(r.since)); !r.failing && stuck >= limit {
		return CannotWrite, stuck
	}
	if unresponsive >= limit {
		return Unresponsive, unresponsive
	}
	return None, 0
}

// Result is how a renewal ended.
type Result int

// Results of a renewal.
const (
	Renewed Result = iota
	Failed         // it is not known whether the lease was renewed
	Refused        // no row has this owner and this epoch
)

// After notes how a renewal ended, and decides whether the lease is renewed again. changed
// reports whether renewals fail since now, or succeed since now.
func (r *Renewals) After(now time.Time, result Result) (why Reason, changed bool) {
	if result == Refused {
		return Taken, false
	}
	was := r.failing
	r.failing = result == Failed
	if was && !r.failing {
		r.since = now
	}
	return None, was != r.failing
}
