package weir

import "time"

// Bounds of a channel's capacity.
const (
	MinCapacity = 1
	MaxCapacity = 1_000_000
)

// Channel is one account at one external provider.
type Channel struct {
	ID       ChannelID
	Name     string // what clients call it; [a-z0-9][a-z0-9._-]{0,62}
	Type     string // key of the table of channel types
	Title    string // for people ("name" in the API)
	Capacity int    // most slots in flight
	Paused   bool   // starts nothing; callbacks and the collector go on
	Held     bool   // Paused because all of Weir is, see weir serve --paused; not stored
	Settings Settings
	Secret   string // part of every callback URL; never shown
	Version  int64  // counts the changes
	Deleting bool   // its open contacts are being ended; it takes no new ones
	Deleted  bool   // gone for clients; its finished contacts stay readable
	Created  time.Time
	Updated  time.Time
}

// Settings are the keys of a channel that depend on its type, plus those that
// every channel has. Values are what JSON decoding yields.
type Settings map[string]any

// Health is what a channel is doing as a whole.
type Health string

// The states of a channel.
const (
	Up      Health = "up"
	Down    Health = "down"    // the provider says that it cannot work
	Erring  Health = "error"   // the provider cannot be reached or refuses us
	Paused  Health = "paused"  // by its user
	Faulted Health = "faulted" // it kept failing; tried again at most every minute
)

// Breaker is the state of a channel's circuit breaker.
type Breaker int

// The states of a breaker.
const (
	BreakerClosed  Breaker = iota // everything passes
	BreakerProbing                // one hand-over is under way to find out
	BreakerOpen                   // nothing passes for a while
)

// Figures are the live numbers of a channel.
type Figures struct {
	InFlight       int // slots of sending, active and unknown contacts
	Sending        int // contacts
	Active         int
	Unknown        int
	Queued         int64
	Blocked        int // queued contacts larger than the capacity, among those in the window
	OldestQueuedAt time.Time
	Health         Health
	HealthReason   string
	Breaker        Breaker
	RetryBudget    float64 // share of the retry budget that is left, 0 to 1
	BreakerUntil   time.Time
	Collection     Collection // the last one since the broker started; zero: none
	NextDue        time.Time  // when the next contact that waits for an instant may go; zero: none
	SentPerMinute  float64    // hand-overs of this process over the last minutes
	Why            Why        // why no waiting contact starts, as far as this process knows
}

// Lease is the right of one process to run a channel. The epoch grows with
// each owner; a write that carries an older one is refused by the store.
type Lease struct {
	Channel ChannelID
	Owner   string
	Epoch   int64
}

// Incoming is a message that a person sent to a channel.
type Incoming struct {
	ID         int64
	From       string
	To         string
	Body       string
	GUID       string // the provider's own; a repeated one is the same message
	ReceivedAt time.Time
	Fields     map[string]string
	Line       string // the provider's line that it came in on, if it says so; not stored
}
