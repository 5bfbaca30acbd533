package weir

// Ledger counts the slots of one channel. It is exact: it counts every slot
// that the provider may be using, whatever the state of its contact.
// The zero Ledger has no capacity.
type Ledger struct {
	Capacity int
	Reserve  int // slots reserved for replies
	replies  int // slots taken by replies
	others   int // slots taken by other contacts
}

// InUse returns the number of slots in use. It may exceed Capacity after the
// capacity was lowered; then nothing fits until enough slots are free.
func (l *Ledger) InUse() int { return l.replies + l.others }

// Fits reports whether a contact may start now.
func (l *Ledger) Fits(p Priority, size int) bool {
	if l.InUse()+size > l.Capacity {
		return false
	}
	return p == Reply || l.others+size <= l.Capacity-l.Reserve
}

// FitsReserve reports whether a reply may start without taking a slot that
// another contact could be waiting for.
func (l *Ledger) FitsReserve(size int) bool {
	return l.replies+size <= l.Reserve && l.InUse()+size <= l.Capacity
}

// Blocked reports whether a contact is too large for this channel even when it
// is empty.
func (l *Ledger) Blocked(p Priority, size int) bool {
	if p == Reply {
		return size > l.Capacity
	}
	return size > l.Capacity-l.Reserve
}

// Take adds slots that a contact starts to hold.
func (l *Ledger) Take(p Priority, slots int) { *l.of(p) += slots }

// Give returns slots that a contact no longer holds.
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
