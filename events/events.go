// Package events defines what Weir publishes: the events of the router, of
// surveys and of channels, in one durable log in commit order. Receivers read
// the log from a cursor: clients over server-sent events, and applications to
// which Weir POSTs the events that concern them.
//
// Invariants: an event is in the log if and only if the change that it reports is
// durable, because both are written in one transaction. Ids grow by one in commit
// order, whichever process commits, so a receiver that has read up to an id has
// missed nothing below it.
package events

import (
	"context"
	"encoding/json"
	"time"
)

// Sources of events about channels and surveys.
const (
	SourceChannels = "channels"
	SourceSurveys  = "surveys"
)

// Event is one published event.
type Event struct {
	ID      int64           `json:"id,string"` // assigned by the store
	Type    string          `json:"type"`      // "Microsoft.Communication.RouterJobReceived", "weir.channel.state", …
	Source  string          `json:"source"`    // part of Weir: "router", "surveys", "channels"
	Subject string          `json:"subject"`   // what it is about; events of one subject are delivered in order
	At      time.Time       `json:"time"`
	Data    json.RawMessage `json:"data"`
}

// Log reads the events.
type Log interface {
	// EventsSince returns events with a greater id, in order. Fewer than limit
	// does not mean that these are the last; an empty result does.
	EventsSince(ctx context.Context, after int64, limit int) ([]Event, error)
	// LatestEvent returns the id of the newest event; 0: there is none yet.
	LatestEvent(ctx context.Context) (int64, error)
	// OnEvents registers a function that is called after each commit of this process
	// with events, until stop is called. The function must not block. Events that other
	// processes commit are found by reading only.
	OnEvents(committed func()) (stop func())
}

// TypeReader reads events of a few types and skips all others.
type TypeReader interface {
	// EventsOf reads on after an id, in order. It examines a bounded part of the
	// log, and stops soon after it has found limit events.
	EventsOf(ctx context.Context, after int64, limit int, types ...string) (Chunk, error)
}

// Chunk is the result of reading a part of the log.
type Chunk struct {
	First, Last int64 // ids of the part; Last is 0 if there is nothing (yet)
	Events      []Event
}

// Emitter writes events that accompany no other write.
type Emitter interface {
	// Emit returns once the events are durable.
	Emit(ctx context.Context, list ...Event) error
}

// Receivers stores the progress of each receiver of events. Receivers have names;
// only the delivery knows their meaning.
type Receivers interface {
	// Register adds a receiver unless it exists. It gets the events that are
	// committed from now on.
	Register(ctx context.Context, receiver string) error
	// Progress returns the progress of a receiver. An unknown one is at 0.
	Progress(ctx context.Context, receiver string) (Progress, error)
	// Advance stores a step.
	Advance(ctx context.Context, s Step) error
}

// Progress is the progress of a receiver.
type Progress struct {
	Cursor   int64      // events up to here are delivered, unwanted, or delayed
	Deferred []Deferred // ordered by event
}

// Deferred is an event that is delayed for a retry, so that others are delivered.
type Deferred struct {
	Event  int64
	Order  string // key of the events that must stay in order behind it
	Tries  int    // failed attempts
	NextAt time.Time
}

// Step is a change of a receiver's progress.
type Step struct {
	Receiver string
	Cursor   int64
	Put      []Deferred // new, or replacing existing entries
	Done     []int64    // no longer delayed
	// Abandoned are events of a webhook that were given up, so that they can be replayed.
	Abandoned []Deferred
}
