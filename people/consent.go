package people

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/document"
)

// Status is what a person, or somebody for the person, has said.
type Status string

// The statuses.
const (
	Refused Status = "refused" // the person does not want to be contacted
	Given   Status = "given"   // the person wants to be contacted, or takes a refusal back
)

// Statuses returns every status.
func Statuses() []Status { return []Status{Refused, Given} }

// AllPurposes is the purpose of a consent that counts for every purpose.
const AllPurposes = "all"

// Source says where a consent comes from.
type Source string

// The sources. The first ones are the person's own.
const (
	FromWord        Source = "word"        // a stop word, or one that takes it back, in a message
	FromProvider    Source = "provider"    // the provider knows of an opt-out
	FromApplication Source = "application" // the program that holds the conversation reported it
	FromOperator    Source = "operator"    // an operator read it in a message of the person
	FromAPI         Source = "api"         // an API client recorded it
	FromImport      Source = "import"      // a list was imported
)

// Sources returns every source.
func Sources() []Source {
	return []Source{FromWord, FromProvider, FromApplication, FromOperator, FromAPI, FromImport}
}

// ByPerson reports whether the person acted, not somebody for the person.
func (s Source) ByPerson() bool {
	return s == FromWord || s == FromProvider || s == FromApplication || s == FromOperator
}

// MaxKey is the max length of a consent's key, in bytes.
const MaxKey = 255

// Consent is an entry of the history of an address.
type Consent struct {
	ID      int64  // assigned by the store, in order
	Key     string // idempotency key; may be empty
	Address string // canonical; empty once it was erased
	Purpose string // or AllPurposes
	Status  Status
	Source  Source
	At      time.Time // when it was said
	Words   string    // what was said; may be empty
	By      string    // who recorded it: the id of a token, or the name of a channel

	// Late: the person said it before now, in a message that is repeated or was decided about later, so that At counts.
	// Otherwise a consent takes effect now, whatever At is. Not stored.
	Late bool
	// Erased: the history gets neither the address nor the words, because the person was erased since. Not stored.
	Erased bool
	Heard  int64 // of a late one: an id that was given as it was said; 0: unknown. Not stored
}

// Follow moves the instant of a consent behind the states of its person that were made before it was said, of all
// purposes: a clock that was ahead, here or in another process, must not make what is said now older than what is known.
// Lists with instants are not moved. Of what is late the order is that of the instants; only a refusal is moved, behind
// a state that is from the future, or older than the message by its id.
func (c *Consent) Follow(states []State, now time.Time) {
	live := c.At.IsZero() || c.Source.ByPerson() && !c.Late
	if c.At.IsZero() {
		c.At = now
	}
	for _, s := range states {
		before := live || c.Late && c.Status == Refused && (s.At.After(now) || s.Version < c.Heard)
		if before && !c.At.After(s.At) {
			c.At = s.At.Add(time.Microsecond)
		}
	}
}

// State is what counts of an address for one purpose.
type State struct {
	Purpose string    `json:"purpose"`
	Status  Status    `json:"status"`
	Source  Source    `json:"source"`
	At      time.Time `json:"at"`      // when it was said
	Version int64     `json:"version"` // the id of the consent that made it
}

// Next returns the state after a consent of the same purpose; the zero state is that of nobody known. A consent that is
// older than the state changes nothing, because lists are imported late; and only the person can take
// back what the person has refused.
func Next(now State, c *Consent) State {
	switch {
	case c.At.Before(now.At):
		return now
	case now.Status == Refused && now.Source.ByPerson() && !c.Source.ByPerson(): // a refusal that somebody else recorded could be taken back
		return now
	}
	return State{Purpose: c.Purpose, Status: c.Status, Source: c.Source, At: c.At, Version: c.ID}
}

// OverChannel is the purpose of a consent that counts for every contact over one channel:
// what a provider reports is known of its own sender or service alone.
func OverChannel(name string) string { return channelPurpose + name }

const channelPurpose = "channel:"

// ChannelOf returns the name of the channel of a purpose that [OverChannel] made; ok is false for another one.
func ChannelOf(purpose string) (name string, ok bool) {
	return strings.CutPrefix(purpose, channelPurpose)
}

// Decide reports whether a contact of some purposes, such as its own and [OverChannel], must
// not be dispatched to an address with these states. Of their states and that of all purposes the one that was said
// later counts; said at the same instant, the refusal. What the person has refused, for all
// purposes or this one, nobody else can take back by a consent for the other. That a provider
// reports a person as back takes back what it has reported itself, and nothing else: some do so
// for a yes, which answers many questions.
func Decide(states []State, purposes ...string) (refused bool, by State) {
	var own State // the latest that the person said
	for _, s := range states {
		if s.Purpose != AllPurposes && !slices.Contains(purposes, s.Purpose) || s.lifts() ||
			slices.ContainsFunc(states, func(t State) bool { return t.lifts() && t.Purpose == s.Purpose && t.At.After(s.At) }) {
			continue
		}
		by = later(by, s)
		if s.Source.ByPerson() {
			own = later(own, s)
		}
	}
	if own.Status == Refused {
		by = own
	}
	return by.Status == Refused, by
}

// lifts reports whether a state is that a provider reports a person as back.
func (s *State) lifts() bool { return s.Status == Given && s.Source == FromProvider }

// later returns the state that was said later; said at the same instant, the refusal.
func later(a, b State) State {
	if b.At.After(a.At) || b.At.Equal(a.At) && b.Status == Refused || a.Status == "" {
		return b
	}
	return a
}

// Reason returns the reason of a contact that ends because of a refusal.
func Reason(by State) string {
	switch by.Source {
	case FromWord:
		return "refused: the person sent a stop word"
	case FromProvider:
		return "refused: the provider reports an opt-out"
	case FromApplication:
		return "refused: the person opted out in a conversation"
	case FromOperator:
		return "refused: the person said so in a message, as an operator decided"
	default:
		return "refused: a refusal was recorded"
	}
}

// Store keeps consents and purposes.
type Store interface {
	Consents
	History
	Purposes
	SkipCounter
	Messages
}

// Consents keeps what people said about being contacted.
type Consents interface {
	// RecordConsents appends consents, all or none, and updates the states. It returns the state
	// of each consent's address and purpose behind it. A consent whose key is known is not
	// recorded again. When RecordConsents returns, every later claim sees the states.
	RecordConsents(ctx context.Context, list []Consent) ([]State, error)
	// ImportConsents is RecordConsents for a long list, not all or none: it goes in parts, people by
	// people in an order of its own. What the list says of one person is recorded in the list's
	// order. After an error some of it may be recorded.
	ImportConsents(ctx context.Context, list []Consent) ([]State, error)
	// Consents returns the states of an address, and its consents, newest first.
	Consents(ctx context.Context, address string, limit int) ([]State, []Consent, error)
	// AllConsents returns consents of everybody, in order, behind an id.
	AllConsents(ctx context.Context, after int64, limit int) ([]Consent, error)
	// Erase removes an address, what was said and the keys from its history, and returns how many
	// consents have changed. The states stay: the address remains refused, and nobody can read it
	// back without the key.
	Erase(ctx context.Context, address string) (int, error)
}

// History keeps when people were contacted.
type History interface {
	// Contacted returns when the person of an address was contacted, as far as a rule of a purpose
	// looks at it, in any order.
	Contacted(ctx context.Context, address string, now time.Time) ([]Entry, error)
}

// Purposes keeps purposes.
type Purposes interface {
	// Purposes returns the purposes, by name. The map and they are immutable.
	Purposes() map[string]*Purpose
	// PutPurpose sets the compiled rules of a purpose. When it returns, every later claim is
	// judged by them.
	PutPurpose(ctx context.Context, name string, p *Purpose, on document.Condition) error
	// CheckPurpose returns the error that PutPurpose would, and writes nothing.
	CheckPurpose(ctx context.Context, name string, p *Purpose, on document.Condition) error
	// DeletePurpose deletes a purpose. For contacts that have it already its rules hold.
	DeletePurpose(ctx context.Context, name string) error
}
