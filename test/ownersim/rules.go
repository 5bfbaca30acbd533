package ownersim

import (
	"time"

	"weir/persistence/ownership"
	"weir/web/forward"
)

// Rules are the decisions of a process, and what it has to do besides. A deliberate fault
// replaces one of them.
type Rules struct {
	// ValidUntil is until when an owner may act; the answer came later than the question.
	ValidUntil func(asked, answered time.Time, lease time.Duration) time.Time
	Watch      func(w *ownership.Watch, r ownership.Row, lease time.Duration, self, successor int64) ownership.Step
	// MayTake reports whether who has seen a row may take the database from the one that is there.
	MayTake func(is, seen ownership.Row, lease time.Duration, self int64) bool
	Forward func(s forward.State, left time.Duration) forward.Step
	// Serves reports whether a process serves requests itself.
	Serves func(owner bool) bool

	RaiseFence  bool // taking the database raises the fences of all writers
	RaiseEpoch  bool // … the epoch of the owner's row
	RaiseMeta   bool // … the epoch that transactions beside the writer read
	CheckMeta   bool // … which they do
	ReadLog     bool // a new owner reads what is in flight
	KeepRow     bool // the row of a batch stays until a later one deletes it
	FlushFirst  bool // the database is released after the last batch
	ExitsIfLost bool // an owner that has lost the database exits
}

// Real returns the rules of Weir.
func Real() Rules {
	return Rules{
		ValidUntil: func(asked, _ time.Time, lease time.Duration) time.Time { return ownership.ValidUntil(asked, lease) },
		Watch:      (*ownership.Watch).Decide,
		MayTake:    ownership.Row.MayTake,
		Forward:    forward.Decide,
		Serves:     func(owner bool) bool { return owner },
		RaiseFence: true, RaiseEpoch: true, RaiseMeta: true, CheckMeta: true, ReadLog: true, KeepRow: true, FlushFirst: true, ExitsIfLost: true,
	}
}
