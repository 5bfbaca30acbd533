package core

import (
	"time"

	"weir"
	"weir/channels"
)

// Effects is what a shell has to do after an event, in any order but that
// Commits keep theirs. Reads have to see every change that was handed out
// before them, and a reply of its own is given when every such change is
// durable: it may say that an earlier one has already been heard.
type Effects struct {
	Commits       []Commit
	Sends         []channels.Attempt   // call the provider; tell SendDone
	Asks          []channels.Attempt   // tell AskDone
	Cancels       []channels.Attempt   // tell CancelDone
	Pages         []Page               // read a part of a lane; tell PageRead or ReadFailed
	Lanes         bool                 // list the lanes and count the queue; tell LanesRead or ReadFailed
	Due           *Read                // read delayed contacts that are due; tell DueRead or ReadFailed
	Overdue       *Read                // read waiting contacts whose window closed; tell OverdueRead or ReadFailed
	Loads         []Load               // read one contact; tell Loaded
	Prepare       bool                 // set the provider up; tell PrepareDone
	Status        bool                 // ask how the provider is; tell StatusDone
	Replies       []Reply              // answer when what was handed out before is durable
	Forget        []weir.AttemptRef    // drop the hand of these attempts
	Finished      []Finished           // for the figures
	Collected     bool                 // a collection began
	CollectedWell bool                 // … and no question had failed since the one before
	Reconciled    []channels.Knowledge // the answers that settled contacts, and the questions that failed
	Remove        bool                 // nothing is open: delete the channel's row; tell RemoveFailed if it cannot be
	Rest          bool                 // idle for long enough to stop
	Drained       bool                 // nothing is under way any more
}

// Reads tells whether the store is to be read.
func (e *Effects) Reads() bool {
	return len(e.Pages) > 0 || len(e.Loads) > 0 || e.Lanes || e.Due != nil || e.Overdue != nil
}

// Commit is a change to be written, with what follows from it.
type Commit struct {
	Transitions []weir.Transition
	InboxDone   []int64
	Claimed     []weir.AttemptRef // claims among the transitions: tell ClaimsCommitted
	Replies     []Reply           // to be given once it is durable
	Then        What              // a read that waits for it: tell Written
}

// Page asks for the oldest contacts of a lane beyond one of them.
type Page struct {
	Lane  weir.Lane
	After weir.ContactID
	Limit int
}

// Read asks for contacts by an instant.
type Read struct {
	Until time.Time
	Limit int
}

// Origin says where an event came from, for the answer.
type Origin struct {
	Waiter any   // whom to answer; nil: nobody
	Inbox  int64 // the inbox row that is dealt with; 0: none
}

// Load asks for the row of a contact that is not in flight.
type Load struct {
	Ref    weir.Ref
	Report *weir.Report // nil: a cancel
	Origin Origin
	read   reading
}

// Reply answers whoever caused an event.
type Reply struct {
	Waiter  any
	Verdict weir.Verdict // of a report
	State   weir.State   // of a canceled contact
	Err     error
}

// Finished is one contact that has ended.
type Finished struct {
	Outcome weir.Outcome
	Active  time.Duration // since its claim; 0: it never was claimed
}

func attemptOf(c *weir.Contact) channels.Attempt {
	return channels.Attempt{
		ID: c.AttemptRef(), To: c.To, Priority: c.Priority, Survey: c.Survey, Labels: c.Labels, Messages: c.Messages, Call: c.Call,
		NotBefore: c.NotBefore, NotAfter: c.NotAfter, ProviderRef: c.ProviderRef,
	}
}
