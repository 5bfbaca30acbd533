package contacts

import (
	"time"

	"weir"
	"weir/channels"
)

// Effects lists what a shell has to do after an event. Any order is allowed,
// except that Commits keep theirs. Reads must see every change that was issued
// before them. A reply outside a Commit is given only when every such change is
// durable: it may confirm that an earlier one was already applied.
type Effects struct {
	Commits        []Commit
	Sends          []channels.Attempt     // call the provider; then SendDone
	Asks           []channels.Attempt     // ask the provider about an attempt; then AskDone
	Cancels        []channels.Attempt     // cancel at the provider; then CancelDone
	Pages          []Page                 // read a part of a lane; then PageRead or ReadFailed
	Lanes          bool                   // list the lanes and count the queue; then LanesRead or ReadFailed
	Due            *Read                  // read delayed contacts that are due; then DueRead or ReadFailed
	Overdue        *Read                  // read waiting contacts whose window closed; then OverdueRead or ReadFailed
	Loads          []Load                 // read one contact; then Loaded or LoadFailed
	Prepare        bool                   // set the provider up; then PrepareDone
	Status         bool                   // request the provider's status; then StatusDone
	Brake          *weir.Braked           // pause the channel: its brake has acted; then BrakeDone
	Replies        []Reply                // give these once everything issued before is durable
	Forget         []weir.AttemptRef      // drop the local state of these attempts
	Finished       []Finished             // for the metrics
	Skipped        []Skipped              // for the metrics
	ReconcileBegun bool                   // a reconciliation began
	ReconcileClean bool                   // no status request failed since the previous one began
	Reconciled     []channels.QueryStatus // the answers that changed contacts, and failed status requests
	Remove         bool                   // nothing is open: delete the channel's row; RemoveFailed if that is impossible
	Passivate      bool                   // idle for long enough to stop
	Drained        bool                   // nothing is under way any more
}

// Commit is a change to be written, and its consequences.
type Commit struct {
	Transitions []weir.Transition
	Claimed     []weir.AttemptRef // claims among the transitions; then ClaimsCommitted
	Replies     []Reply           // given once the change is durable
}

// Page requests the oldest contacts of a lane after a given one.
type Page struct {
	Lane  weir.Lane
	After weir.ContactID
	Limit int
}

// Read requests contacts up to an instant.
type Read struct {
	Until time.Time
	Limit int
}

// Origin identifies where an event came from, for the reply.
type Origin struct {
	Waiter any // receives the reply; nil: none
}

// Load requests the row of a contact that is not in flight.
type Load struct {
	Ref    weir.Ref
	Report *weir.Report // nil: a cancel
	Origin Origin
}

// Reply answers the origin of an event.
type Reply struct {
	Waiter  any
	Verdict weir.Verdict // of a report
	Trace   string       // of the contact that an applied report is about; see weir.Spec
	State   weir.State   // of a canceled contact
	Err     error
}

// Skipped describes a claim that a rule for the sake of the person, or a shared limit, did not
// let pass.
type Skipped struct {
	Rule   string
	Effect string // one of the effects
}

// The effects of a rule.
const (
	EffectSuppressed = "suppressed" // the contact ended
	EffectDelayed    = "delayed"    // the contact waits
	EffectHeld       = "held"       // the channel waits
)

// Finished describes one contact that is done.
type Finished struct {
	Outcome weir.Outcome
	Active  time.Duration // since its claim; 0: it was never claimed
}

// LocalProgress is how far this process had got with an attempt.
type LocalProgress int

// The values of LocalProgress.
const (
	LocalClaimed LocalProgress = iota + 1 // the claim was submitted to the writer; the provider was not called
	LocalSending                          // the provider was called, or is being called
)

// ReadKind identifies a kind of read.
type ReadKind int

// The reads that can fail.
const (
	KindPage ReadKind = iota + 1
	KindLanes
	KindDue
	KindOverdue
)
