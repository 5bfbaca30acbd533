package surveybroker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"weir"
	"weir/internal/backoff"
	"weir/surveys"
)

// System is the survey broker, as seen by the rest of the program. Its methods
// are safe for concurrent use.
type System struct {
	o                Options
	plans            *planCache
	launches         *launches
	freedPerMinute   sync.Map // slots that become free per minute, by weir.ChannelID, as the latest round measured them
	surveysByChannel atomic.Pointer[runningByChannel]
	skipped          sync.Map // until when surveys whose rules failed are skipped, time.Time by survey id

	system      *actor.ActorSystem
	broker      *actor.PID
	generations atomic.Int64
	hinted      atomic.Bool // a hint is in the broker's mailbox

	ctx     context.Context // canceled when all work must end
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	resumed atomic.Bool
	closed  sync.Once
}

// post sends the broker a message. After Close it does nothing, because no
// actor reads the mailbox.
func (s *System) post(message any) {
	if s.ctx.Err() == nil {
		s.system.Root.Send(s.broker, message)
	}
}

// hint requests a round. Hints that arrive before the round begins are merged
// into one.
func (s *System) hint() {
	if s.hinted.CompareAndSwap(false, true) {
		s.post(hint{})
	}
}

// Messages to the broker. A message with a generation is the result of work
// that an incarnation of the actor started; results of other incarnations are
// dropped.
type (
	hint      struct{} // a change was committed or found; a round should follow
	resume    struct{} // the surveys may run
	roundDue  struct{ generation int64 }
	checkDue  struct{ generation int64 }
	roundDone struct {
		generation int64
		result
	}
	checksDone struct {
		generation int64
		checked    []weir.Channel
		observed   map[weir.ChannelID]observation
	}
	drain struct{ done chan<- struct{} }
)

// broker is the actor. It only decides when rounds and checks begin.
type broker struct {
	*System
	generation    int64
	generationCtx context.Context
	endGeneration context.CancelFunc

	memory            *memory // owned by the running round, if there is one
	resuming          bool    // rounds may run
	running           bool
	hintedDuringRound bool // a hint arrived during the round
	hinted            bool // the next round has a cause other than the regular interval
	failures          int
	timer             *time.Timer
	nextRound         time.Time
	draining          []chan<- struct{}

	channelsInUse []weir.Channel
	checking      bool
	checkTimer    *time.Timer
	checkStates   map[weir.ChannelID]checkState
	observed      map[weir.ChannelID]observation // found since the latest round began
}

// runningByChannel are the running surveys by the names of their channels, as read
// at an instant.
type runningByChannel struct {
	at      time.Time
	surveys map[string][]string
}

// Pauses between checks of a channel, in addition to [Options.CheckEvery].
const (
	recheckAfter = 2 * time.Second  // after a change that concerns it
	recheckFirst = 15 * time.Second // after a check that failed; grows up to CheckEvery
)

// checkState is the state of a channel's checks.
type checkState struct {
	at       time.Time // of the latest check
	failures int       // consecutive checks that failed
	hurry    bool      // a change has concerned it since
}

// next returns the instant of the next check.
func (c checkState) next(every time.Duration) time.Time {
	wait := every
	if c.failures > 0 {
		wait = backoff.Delay(c.failures, recheckFirst, every)
	}
	if c.hurry {
		wait = min(wait, recheckAfter)
	}
	return c.at.Add(wait)
}

// round is one pass over everything.
type round struct {
	*System
	memory *memory
	now    time.Time

	channels       map[weir.ChannelID]weir.Channel
	channelIDs     map[string]weir.ChannelID // 0: there is none
	otherSurveys   map[int64]*surveyState    // surveys that need no rounds but get outbox entries
	moreWork       bool                      // work is left to be done at once
	nextWork       time.Time                 // instant of the next known work; zero: none is known
	hinted         bool                      // the round has a cause other than the regular interval
	hadEntries     bool                      // there were outbox entries
	applied        int                       // moves that were made, and outbox entries that were removed without one
	cancelFailures int                       // contacts that could not be canceled
	recheck        []weir.ChannelID          // channels to check again soon
	toCancel       []weir.Ref                // contacts to cancel after their commit
	tallies        map[int64]tally           // of the surveys that may start respondents
	cancelMu       sync.Mutex
	cancelTimeouts map[weir.ChannelID]int // cancellations that timed out, by channel
}

// result is the outcome of a round.
type result struct {
	moreWork      bool
	nextWork      time.Time
	recheck       []weir.ChannelID // channels to check again soon
	channelsInUse []weir.Channel   // channels in use, see round.channelsInUse
	err           error
}

// newRound returns a round that begins now.
func (s *System) newRound(m *memory) *round {
	return &round{
		System: s, memory: m, now: time.Now(), otherSurveys: map[int64]*surveyState{}, tallies: map[int64]tally{}, cancelTimeouts: map[weir.ChannelID]int{},
		channels: map[weir.ChannelID]weir.Channel{}, channelIDs: map[string]weir.ChannelID{},
	}
}

// tally is a round's view of a survey as a whole.
type tally struct {
	surveys.Tally
	decision surveys.Decision
	full     []int
}
