package weir

import (
	"context"
	"time"
)

// Accepter accepts contacts durably.
type Accepter interface {
	// Accept stores specs as queued contacts of a channel, all or none, and
	// returns after the commit. The order of the slice is the order of
	// acceptance. A key that the channel has with the same content returns the
	// existing contact, with Duplicate set, and stores nothing; with other
	// content the error is [CodeKeyReused]. After an error with
	// [CodeUnavailable] it is unknown whether they were stored.
	Accept(ctx context.Context, channel ChannelID, specs []Spec) ([]Accepted, error)
	// NewAcceptance checks specs for an Accept that the channel's broker takes part in.
	NewAcceptance(ctx context.Context, channel ChannelID, specs []Spec) (Acceptance, error)
}

// Acceptance is an Accept in two steps.
type Acceptance interface {
	// Submit passes the contacts to the group-commit writer and returns at once. Only
	// the first call does; another returns false.
	Submit(c Claims) bool
	// Wait returns the result of Accept. It submits the contacts, without claims, if
	// no one else does in time.
	Wait() ([]Accepted, error)
}

// Claims has contacts claimed in the transaction that accepts them. The zero value
// claims none.
type Claims struct {
	// By is the channel's broker. If it is not the latest, the contacts are queued.
	By Incarnation
	// First is how many contacts from the first on are claimed. A contact that exists already is not.
	First int
	// Done receives the result before Wait returns it. It is called once, on the
	// writer's goroutine, and must not wait for anything.
	Done func([]Accepted, error)
}

// Accepted is the result for one spec.
type Accepted struct {
	Contact   Contact
	Duplicate bool
}

// Transition replaces the progress of one contact.
type Transition struct {
	Contact Contact  // as it was read, with the new Progress
	From    int64    // the revision that it replaces
	Was     State    // the state that it replaces
	Ended   *Attempt // an attempt that ended while the contact continues; kept for the record
	// Answered is set if the person answered the call and that was not known before.
	Answered bool
	Result   Result // of the conversation, at the end of the contact
}

// Committer writes transitions.
type Committer interface {
	// Commit passes a change to the group-commit writer and returns at once.
	// done is called once, from another goroutine. Changes of one channel are
	// committed in the order of the calls. While the store is down the writer
	// keeps the change and retries; it gives up only when it is closed.
	Commit(c Change, done func(CommitResult))
}

// Change is a set of writes of one channel, in one unit.
type Change struct {
	By          Incarnation
	Transitions []Transition
}

// CommitResult is the result of a change.
type CommitResult struct {
	// Err is ErrSuperseded, or the reason why the writer gave up. Then nothing of
	// the change was written or, after a lost connection, the outcome is unknown.
	Err error
	// Stale lists the contacts whose revision had changed; only these were not
	// changed.
	Stale []ContactID
	// Judged lists the contacts of claims for which a rule for the sake of the person has
	// something to say: those that ended or wait instead of being claimed, and those that
	// were claimed with a receipt. One that is queued, as it was, has a channel that has to wait
	// until Receipt.Until, for its Reason.
	Judged []Contact
}

// ContactReader reads contacts.
type ContactReader interface {
	// Contact returns one contact and its ended attempts, oldest first. The
	// current or last attempt is in the contact itself.
	Contact(ctx context.Context, ref Ref) (Contact, []Attempt, error)
	// Contacts lists by a filter. It reads a bounded number of rows, so a page may
	// be short; the cursor is empty on the last page.
	Contacts(ctx context.Context, f ContactFilter) (_ []Contact, next string, err error)
}

// ContactFilter selects contacts. Zero fields select everything.
type ContactFilter struct {
	Channel ChannelID
	States  []State
	Survey  string
	Key     string
	Outcome Outcome // States must be empty or include Done
	// Since and Until bound the instant of acceptance, to the millisecond: at or
	// after Since, before Until. The list is then in that order, with States too.
	Since, Until time.Time
	// FinishedSince and FinishedUntil bound the instant at which contacts were done:
	// at or after the first, before the second. The list is in that order.
	FinishedSince, FinishedUntil time.Time
	// FinishedAfter selects the contacts that were done later, the earliest end first
	// over all channels. It is how a client that polls goes on.
	FinishedAfter time.Time
	// Newest reverses the list, over all channels: the latest accepted first or,
	// with States, the latest to enter their state first.
	Newest bool
	// To lists the spellings of one address. It uses no index: a call examines a
	// bounded number of contacts, channel by channel, from the newest on. See
	// [AddressReader] for the contacts over all channels.
	To     []string
	Limit  int
	Cursor string
}

// QueueReader reads the queue for a channel's broker. Each call reads a number of
// rows that is bounded by its limit or by the channel's capacity.
type QueueReader interface {
	// InFlight returns every contact that holds slots.
	InFlight(ctx context.Context, channel ChannelID) ([]Contact, error)
	// Lanes returns the lanes that have queued contacts.
	Lanes(ctx context.Context, channel ChannelID) ([]Lane, error)
	// Head returns the oldest queued contacts of a lane whose id is greater than
	// after.
	Head(ctx context.Context, channel ChannelID, lane Lane, after ContactID, limit int) ([]Contact, error)
	// Due returns delayed contacts that are due, earliest first, and the instant at
	// which the next one after them is due (zero: none).
	Due(ctx context.Context, channel ChannelID, now time.Time, limit int) (_ []Contact, next time.Time, err error)
	// Overdue returns waiting contacts whose window has closed, earliest first,
	// and the instant at which the next window closes (zero: none).
	Overdue(ctx context.Context, channel ChannelID, now time.Time, limit int) (_ []Contact, next time.Time, err error)
	// QueuedCount returns the number of waiting contacts, from a counter.
	QueuedCount(ctx context.Context, channel ChannelID) (int64, error)
}

// ChannelStore stores the channels.
type ChannelStore interface {
	// PutChannel creates a channel, unless there is one of its name: that one stays
	// as it is, and created is false. The store assigns ID, Secret, Version and the
	// instants; the stored channel is returned.
	PutChannel(ctx context.Context, c Channel) (_ Channel, created bool, err error)
	// UpdateChannel changes a channel if its version is still c.Version; otherwise
	// it returns CodeConflict.
	UpdateChannel(ctx context.Context, c Channel) (Channel, error)
	Channel(ctx context.Context, name string) (Channel, error)
	ChannelByID(ctx context.Context, id ChannelID) (Channel, error)
	// Channels lists by name.
	Channels(ctx context.Context, after string, limit int) ([]Channel, error)
	// CallbackChannels lists the channels that have or had a name, to find the one
	// whose secret a callback carries. It includes deleted ones.
	CallbackChannels(ctx context.Context, name string) ([]Channel, error)
	// DeleteChannel marks a channel without open contacts as deleted and frees
	// its name; CodeConflict while contacts are open. Its finished contacts
	// stay readable until their retention ends.
	DeleteChannel(ctx context.Context, id ChannelID) error
}

// IncomingStore stores messages that people sent.
type IncomingStore interface {
	// Receive stores a message, or drops it if the channel has one of the same GUID, sender and text.
	Receive(ctx context.Context, channel ChannelID, m Incoming) (duplicate bool, err error)
	// ReceivedAt returns when a message of the same GUID, sender and text was received first.
	ReceivedAt(ctx context.Context, channel ChannelID, m Incoming) (at time.Time, erased bool, err error)
	// IncomingSince lists messages with a greater ID, oldest first.
	IncomingSince(ctx context.Context, channel ChannelID, after int64, limit int) ([]Incoming, error)
}

// AddressReader finds what went to an address, and what came from it, over all channels.
type AddressReader interface {
	// ContactsTo lists the contacts to any of the spellings of an address, from the newest on,
	// with ids below before; 0: all. An index has all of them but the newest.
	ContactsTo(ctx context.Context, to []string, before ContactID, limit int) (AddressPage, error)
	// IncomingFrom lists the messages from any of the spellings of an address, from the newest
	// on, with ids below before; 0: all. Ids of messages and of contacts are of one order.
	IncomingFrom(ctx context.Context, from []string, before int64, limit int) ([]Received, error)
}

// Eraser deletes what was kept of a person before its retention is over.
type Eraser interface {
	// DeleteContacts deletes the contacts that are done, with what goes with them, and returns
	// how many it deleted. Others stay.
	DeleteContacts(ctx context.Context, contacts []Ref) (int, error)
	// EraseIncoming deletes messages, and returns how many it deleted. Of those that have an id a
	// digest stays for the retention, by which a provider's repetition is recognized.
	EraseIncoming(ctx context.Context, messages []Received) (int, error)
}

// AddressPage is a page of contacts to an address.
type AddressPage struct {
	Contacts []Contact
	More     bool // there are older ones
	// GapSince and GapUntil bound when contacts were accepted that were not looked at, because
	// the index does not have them yet and there are many; zero: there is no gap.
	GapSince, GapUntil time.Time
}

// Received is a message with its channel.
type Received struct {
	Channel ChannelID
	Incoming
}
