// Package events says what Weir tells others: the events of the router, of
// surveys and of channels, in one durable log in the order of their commits.
// Receivers read on from a place in it: clients over server-sent events, and
// applications to which Weir POSTs what concerns them.
//
// Invariants: an event is in the log if and only if what it tells of is durable,
// as both are written in one transaction; ids grow in the order of commits, by
// one, whichever process commits: whoever has read up to an id has missed
// nothing below it.
package events

import (
	"context"
	"encoding/json"
	"time"
)

// Event is one thing that happened.
type Event struct {
	ID      int64           `json:"id,string"` // the store's
	Type    string          `json:"type"`      // "Microsoft.Communication.RouterJobReceived", "weir.channel.state", …
	Source  string          `json:"source"`    // which part of Weir: "router", "surveys", "channels"
	Subject string          `json:"subject"`   // what it is about; events of one subject are delivered in order
	At      time.Time       `json:"time"`
	Data    json.RawMessage `json:"data"`
}

// Log reads the events.
type Log interface {
	// EventsSince reads events with a greater id, in order. Fewer than limit
	// does not mean that there are no more; none does.
	EventsSince(ctx context.Context, after int64, limit int) ([]Event, error)
	// LatestEvent is the id of the newest event; 0: there was none yet.
	LatestEvent(ctx context.Context) (int64, error)
	// OnEvents has a function called after each commit of this process that
	// brought events, until stop is called. It must not wait for anything. What
	// other processes commit is found by reading only.
	OnEvents(committed func()) (stop func())
}

// Picker reads the events of few types, past all others.
type Picker interface {
	// EventsOf reads on after an id, in order. It looks at a bounded part of the
	// log, and stops soon after it has found limit events.
	EventsOf(ctx context.Context, after int64, limit int, types ...string) (Stretch, error)
}

// Stretch is what was found in a part of the log.
type Stretch struct {
	First, Last int64 // which part it was; Last is 0 if there is nothing (yet)
	Events      []Event
}

// Emitter writes events that tell of nothing else that is written.
type Emitter interface {
	// Emit returns when the events are durable.
	Emit(ctx context.Context, list ...Event) error
}
