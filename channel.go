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
	Name     string // unique name for clients; [a-z0-9][a-z0-9._-]{0,62}
	Type     string // key in the table of channel types
	Title    string // display name ("name" in the API)
	Capacity int    // max slots in flight
	// DefaultCapacity reports that the channel sets no capacity: Capacity is that of
	// DEFAULT_CHANNEL_CAPACITY at the start of the process.
	DefaultCapacity bool
	Paused          bool    // starts nothing; callbacks and the reconciler continue
	Held            bool    // Paused because all of Weir is, see weir serve --paused; not stored
	Brake           *Brake  // when it pauses itself; nil: never
	Braked          *Braked // it is Paused because it paused itself; nil: it did not
	Settings        Settings
	Secret          string // part of every callback URL; never shown
	Version         int64  // incremented by every change
	Deleting        bool   // its open contacts are being canceled; it accepts no new ones
	Deleted         bool   // hidden from clients; its finished contacts stay readable
	Created         time.Time
	Updated         time.Time
}

// Settings holds the type-specific keys of a channel and the keys that every
// channel has. Values have the types that JSON decoding yields.
type Settings map[string]any

// Health is the overall condition of a channel.
type Health string

// The states of a channel.
const (
	Up      Health = "up"
	Down    Health = "down"    // the provider reports that it cannot work
	Erring  Health = "error"   // the provider is unreachable or rejects our requests
	Paused  Health = "paused"  // by a user
	Faulted Health = "faulted" // it failed repeatedly; retried at most once a minute
)

// Incarnation is one life of a channel's broker: it begins anew after a crash, and whenever
// it loads its state. The store refuses what an earlier one submits.
type Incarnation struct {
	Channel ChannelID
	Number  int64
}

// Incoming is a message that a person sent to a channel.
type Incoming struct {
	ID         int64
	From       string
	To         string
	Body       string
	GUID       string // assigned by the provider; repeated by the same sender with the same body it is a duplicate
	ReceivedAt time.Time
	Fields     map[string]string
	Line       string // the provider's line that received it, if reported; not stored
}
