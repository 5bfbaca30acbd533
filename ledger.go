package weir

// Ledger counts the slots of one channel. It is exact: every slot that the
// provider may be using is counted, in whatever state its contact is.
// The zero Ledger has no capacity.
type Ledger struct {
	Capacity int
	Reserve  int // slots that only replies may take
	replies  int // slots taken by replies
	others   int // slots taken by all else
}

// InUse is the number of slots that are taken. It may exceed Capacity after
// the capacity was lowered; then nothing fits until enough have drained.
func (l *Ledger) InUse() int { return l.replies + l.others }

// Fits tells whether a contact may start now.
func (l *Ledger) Fits(p Priority, size int) bool {
	if l.InUse()+size > l.Capacity {
		return false
	}
	return p == Reply || l.others+size <= l.Capacity-l.Reserve
}

// FitsReserve tells whether a reply may start without taking a slot for which
// another contact could be waiting.
func (l *Ledger) FitsReserve(size int) bool {
	return l.replies+size <= l.Reserve && l.InUse()+size <= l.Capacity
}

// Blocked tells whether a contact is too large for this channel even when it
// is empty.
func (l *Ledger) Blocked(p Priority, size int) bool {
	if p == Reply {
		return size > l.Capacity
	}
	return size > l.Capacity-l.Reserve
}

// Take counts slots that a contact has begun to hold.
func (l *Ledger) Take(p Priority, slots int) { *l.of(p) += slots }

// Give counts slots that a contact no longer holds.
func (l *Ledger) Give(p Priority, slots int) {
	n := l.of(p)
	*n -= slots
	if *n < 0 {
		panic("weir: ledger gave back more slots than were taken")
	}
}

func (l *Ledger) of(p Priority) *int {
	if p == Reply {
		return &l.replies
	}
	return &l.others
}
