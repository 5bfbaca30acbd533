// Package surveybroker runs the surveys: it starts their respondents, tries them
// again, hears what became of their contacts and what they say, and ends what is
// over. One process at a time does so, under the role [weir.SurveyBroker]; others
// stand by.
//
// # Where to look
//
//	System              the facade: start, drain, and what the API asks for
//	broker (actor.go)   the actor; it only says when a round begins
//	round (round.go)    one look at everything: notices, ends, pauses, feeding
//	bid, deal           whom a channel's room is given to; pure
//	desk (desk.go)      turns what the rules of package surveys say into moves; pure
//	health.go           whether channels work, off the rounds
//
// # Invariants
//
//   - The store is the truth. What is remembered between rounds makes them quick
//     and fair; none of it is missed after a crash.
//   - Receive does no I/O. One round runs at a time; what it does is bounded, and
//     if something is left the next one follows at once.
//   - A contact is taken back before its respondent's end is committed: whoever
//     is over is not contacted again, whatever crashes when.
//   - Notices are hints: a respondent whose notice was lost is found by its own
//     instant, and its contact is read.
//   - Trouble of a respondent, a survey or a channel is its own; trouble of the
//     store ends the round, which is tried again with a back-off.
package surveybroker

import (
	"context"
	"log/slog"
	"time"

	"weir"
	"weir/channels"
	"weir/events"
	"weir/surveys"
)

// Channels is what is asked of the channels' brokers.
type Channels interface {
	Figures(ctx context.Context, ch weir.Channel) (weir.Figures, error)
	// Whys explains why contacts of a channel wait.
	Whys(ctx context.Context, ch weir.Channel, contacts []weir.Contact) ([]weir.Why, error)
	// Cancel takes a contact back, durably: what it could not do at once is done
	// later.
	Cancel(ctx context.Context, ref weir.Ref) (weir.State, error)
	Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error)
	// Announce tells a channel's broker of contacts that the store has accepted.
	Announce(channel weir.ChannelID, fresh []weir.Contact)
	// Status asks the provider whether its side of a channel works.
	Status(ctx context.Context, ch weir.Channel) channels.Status
	// Prepare sets the provider up. Its errors are for users.
	Prepare(ctx context.Context, ch weir.Channel) error
}

// Types knows the channel types.
type Types interface {
	Type(name string) (*channels.Type, bool)
}

// Store is what the survey broker needs of the store.
type Store interface {
	surveys.Worker
	surveys.Reading
	surveys.ChannelStates
	surveys.Notifier
	weir.ContactReader
	UpdateSurvey(ctx context.Context, s surveys.Survey, tell ...events.Event) (surveys.Survey, error)
	Survey(ctx context.Context, name string) (surveys.Survey, error)
	SurveyByID(ctx context.Context, id int64) (surveys.Survey, error)
	Surveys(ctx context.Context, states []surveys.State, after string, limit int) ([]surveys.Survey, error)
	Channel(ctx context.Context, name string) (weir.Channel, error)
	ChannelByID(ctx context.Context, id weir.ChannelID) (weir.Channel, error)
}

// Options are what a System is made from.
type Options struct {
	Store    Store
	Channels Channels
	Types    Types
	Roles    weir.RoleLeaser
	Defaults surveys.Defaults
	Logger   *slog.Logger
	Metrics  *Metrics
	// LeaseTTL is how long the role outlives its holder's death.
	LeaseTTL time.Duration
	// CheckEvery is how often the channels in use are checked, CheckTimeout how
	// long one may take.
	CheckEvery   time.Duration
	CheckTimeout time.Duration
	// Every is the longest pause between two rounds, for what nobody tells of;
	// 0: 5 s.
	Every time.Duration
	// Gather is how long a round waits for more after something has happened; 0:
	// 100 ms.
	Gather time.Duration
	// Tokens are what {{token}} stands for.
	Tokens surveys.Tokens
	// Chance gives random numbers in [0,1).
	Chance func() float64
}

// Fixed figures.
const (
	defaultEvery  = 5 * time.Second
	defaultGather = 100 * time.Millisecond
	ahead         = 15 * time.Second // how far channels are fed in advance
	ioTimeout     = 10 * time.Second // for one call of the store
	cancelTimeout = 3 * time.Second
	retryFirst    = 250 * time.Millisecond // after a round that failed
	retryMost     = 30 * time.Second
	crossAside    = time.Minute            // for whom no channel has room, if they are in others' way
	crossPause    = 500 * time.Millisecond // between two pages of them
	laterAfter    = 2 * time.Second        // before a step that a channel's broker kept from being made
	brokenAside   = time.Minute            // for a survey whose own rules fail
	noticePage    = 250
	noticePages   = 4
	duePage       = 200
	startPage     = 200
	openPage      = 500
	surveyPage    = 200
	candidates    = 100 // respondents with one number
	atOnce        = 8   // calls of the channels' brokers, and checks
	leaseMargin   = 2 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	if o.Gather <= 0 {
		o.Gather = defaultGather
	}
	if o.CheckEvery <= 0 {
		o.CheckEvery = 5 * time.Minute
	}
	if o.CheckTimeout <= 0 {
		o.CheckTimeout = 15 * time.Second
	}
	return o
}
