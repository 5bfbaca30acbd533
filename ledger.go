package weir

// Ledger counts the slots of one channel. It is exact: every slot that the
// provider may be using is counted, in whatever state its contact is.
// The zero Ledger has no capacity.
type Ledger struct {
	Capacity int
	Reserve  int // slots that only replies may take
	inUse    int
}

// InUse is the number of slots that are taken. It may exceed Capacity after
// the capacity was lowered; then nothing fits until enough have drained.
func (l *Ledger) InUse() int { return l.inUse }

// Free is the number of slots that a contact of this priority could take.
func (l *Ledger) Free(p Priority) int { return max(0, l.limit(p)-l.inUse) }

// Fits tells whether a contact may start now.
func (l *Ledger) Fits(p Priority, size int) bool { return l.inUse+size <= l.limit(p) }

// Blocked tells whether a contact is too large for this channel even when it
// is empty.
func (l *Ledger) Blocked(p Priority, size int) bool { return size > l.limit(p) }

// Take counts slots that a contact has begun to hold.
func (l *Ledger) Take(slots int) { l.inUse += slots }

// Give counts slots that a contact no longer holds.
func (l *Ledger) Give(slots int) {
	l.inUse -= slots
	if l.inUse < 0 {
		panic("weir: ledger gave back more slots than were taken")
	}
}

func (l *Ledger) limit(p Priority) int {
	if p == Reply {
		return l.Capacity
	}
	return l.Capacity - l.Reserve
}
