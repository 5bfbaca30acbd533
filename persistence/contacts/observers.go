package contacts

import (
	"iter"
	"time"

	"weir"
	"weir/people"
	"weir/persistence/commit"
)

// Observer records for another package what happens to contacts, in the transaction in
// which it happens.
type Observer interface {
	// Changed receives the transitions of a batch, those of one contact in order.
	Changed(t *commit.Tx, transitions iter.Seq[*weir.Transition]) error
	// Received records a message of a person.
	Received(t *commit.Tx, channel weir.ChannelID, m *weir.Incoming) error
}

// Gate decides, for the sake of people, which claims are not committed, in the transaction
// that would commit them.
type Gate interface {
	// Judge decides about the claims of a batch; nil: nothing is against any.
	Judge(t *commit.Tx, claims []*weir.Contact) ([]people.Verdict, error)
	// Claimed records a claim that the batch commits.
	Claimed(t *commit.Tx, c *weir.Contact)
	// Returned records that certainly nothing of an attempt went out, in the batch that
	// commits that. before is the progress that the attempt had.
	Returned(t *commit.Tx, c *weir.Contact, attempt int, before *weir.Progress)
	// Skipped counts a contact that a rule has ended before it was claimed, or has delayed.
	Skipped(c *weir.Contact, at time.Time)
	// Ended records the end of a contact that was in flight; out says whether anything may have
	// gone out. It returns the receipt to keep.
	Ended(t *commit.Tx, end *weir.Transition, out bool) weir.Receipt
}
