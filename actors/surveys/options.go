// Package surveys runs the surveys: it starts their respondents, retries
// them, applies the outcomes of their contacts and the messages that they send,
// and ends surveys that are done. It runs in the process that owns the database.
//
// # Where to look
//
//	system.go      the facade: start, drain, close
//	actor.go       the actor; it only decides when rounds and checks begin
//	run.go         one pass over everything; round.go holds what it has read,
//	               memory.go the state between rounds
//	outbox.go      outbox entries: events of contacts, messages of respondents
//	messages.go    answers to questions, applied before they are acknowledged, many at a time
//	lifecycle.go   finish, stop and pause surveys, and cancel what they no longer need
//	feed.go        respondents to contact now: reads the facts, has package surveys decide,
//	               shares the room of the channels (channels.go measures it) and writes
//	write.go       commits changes; cancel.go cancels contacts
//	read.go        reads the store, within a time limit; access.go reaches it and the channels
//	checks.go      health of the channels in use
//	launch.go, reports.go, status.go   requests of the API
//
// # Invariants
//
//   - The store is the truth. The memory between rounds makes them fast and
//     fair; a crash may lose all of it.
//   - Receive does no I/O. One round runs at a time; its work is bounded, and if
//     some is left, the next round follows at once.
//   - A contact is canceled before its respondent's end is committed: a
//     respondent that is done is not contacted again, whenever a crash happens.
//   - Outbox entries are hints: a respondent whose entry was lost is found when
//     it is due, and its contact is read.
//   - A fault of a respondent, a survey or a channel affects only that one; a
//     fault of the store ends the round, which is retried with back-off.
package surveys

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/channels"
	"weir/events"
	"weir/limits"
	"weir/operators"
	"weir/people"
	"weir/surveys"
)

// Channels is the survey broker's interface to the channels' brokers.
type Channels interface {
	Figures(ctx context.Context, ch weir.Channel) (operators.Figures, error)
	// WaitReasons explains why contacts of a channel wait.
	WaitReasons(ctx context.Context, ch weir.Channel, contacts []weir.Contact) ([]operators.Why, error)
	// Cancel cancels a contact, durably: what cannot be done at once is done
	// later.
	Cancel(ctx context.Context, ref weir.Ref) (weir.State, error)
	Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error)
	// AcceptWith completes an acceptance that is part of other work, see [surveys.PendingWork]: the contacts for which
	// the channel's broker has slots are claimed as they are stored.
	AcceptWith(channel weir.ChannelID, specs []weir.Spec, stored weir.Acceptance) error
	// Announce reports contacts that the store has accepted to a channel's
	// broker.
	Announce(channel weir.ChannelID, fresh []weir.Contact)
	// Status asks the provider whether its side of a channel works.
	Status(ctx context.Context, ch weir.Channel) channels.Status
	// Prepare sets up the channel at the provider. Its errors are meant for
	// users.
	Prepare(ctx context.Context, ch weir.Channel) error
}

// Types looks up channel types.
type Types interface {
	Type(name string) (*channels.Type, bool)
}

// Store is the parts of the store that the survey broker uses.
type Store struct {
	SurveyStore
	ChannelReader
	surveys.RespondentReader
	surveys.PacingReader
	surveys.Worker
	surveys.Outbox
	surveys.ChannelStateStore
	ContactReader
}

// SurveyStore reads and changes surveys, see [surveys.Store].
type SurveyStore interface {
	UpdateSurvey(ctx context.Context, s surveys.Survey, published ...events.Event) (surveys.Survey, error)
	Survey(ctx context.Context, name string) (surveys.Survey, error)
	SurveyByID(ctx context.Context, id int64) (surveys.Survey, error)
	Surveys(ctx context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error)
}

// ChannelReader reads channels.
type ChannelReader interface {
	Channel(ctx context.Context, name string) (weir.Channel, error)
	ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error)
}

// ContactReader reads contacts.
type ContactReader interface {
	weir.ContactReader
	// ContactsByRef returns contacts with their states, without their earlier attempts, in no order. It
	// skips unknown ones.
	ContactsByRef(ctx context.Context, refs []weir.Ref) ([]weir.Contact, error)
}

// Options configures a System.
type Options struct {
	Store    Store
	Channels Channels
	Types    Types
	Defaults surveys.Defaults
	People   people.Store // keeps refusals; nil: they count in their survey alone
	Limits   limits.Store // prices, and how much of budgets is used; nil: surveys have no budgets
	Logger   *slog.Logger
	Metrics  *Metrics
	// ActorSystem runs the actor.
	ActorSystem *actor.ActorSystem
	// StartNumber is the number of this start of the program.
	StartNumber int64
	// CheckEvery is the interval between checks of the channels in use,
	// CheckTimeout the max duration of one check.
	CheckEvery   time.Duration
	CheckTimeout time.Duration
	// RoundInterval is the max pause between two rounds. It bounds the delay of changes
	// that cause no hint. 0 means 5 s.
	RoundInterval time.Duration
	// Tokens makes the values of {{token}}.
	Tokens surveys.Tokens
	// Random returns random numbers in [0,1).
	Random func() float64
}

// Fixed limits and delays.
const (
	defaultRoundInterval = 5 * time.Second
	batchDelay           = 100 * time.Millisecond // how long a round waits for more changes after the first
	patientDelay         = 300 * time.Millisecond // between two rounds while what happens can wait, see roundState.patient
	feedAhead            = 15 * time.Second       // how far ahead channels are fed
	ioTimeout            = 10 * time.Second       // per call of the store
	cancelTimeout        = 3 * time.Second
	retryFirst           = 250 * time.Millisecond // after a failed round
	retryMax             = 30 * time.Second
	claimDelay           = 250 * time.Millisecond // before reading again when a question was claimed
	retryDelay           = 2 * time.Second        // before retrying a step that a channel's broker, or the store, does not allow now
	refusedDelay         = time.Minute            // before retrying after a channel accepts nothing
	brokenDelay          = time.Minute            // for a survey whose own rules fail
	outboxPage           = 250
	outboxPages          = 4
	openPage             = 500
	surveyPage           = 200
	maxSamePhone         = 100 // respondents with the same number
	maxConcurrent        = 8   // concurrent calls of the channels' brokers, and checks
)

func (o Options) withDefaults() Options {
	o.RoundInterval = cmp.Or(max(0, o.RoundInterval), defaultRoundInterval)
	o.CheckEvery = cmp.Or(max(0, o.CheckEvery), 5*time.Minute)
	o.CheckTimeout = cmp.Or(max(0, o.CheckTimeout), 15*time.Second)
	return o
}
