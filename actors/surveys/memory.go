package surveys

import (
	"sync"
	"time"

	"weir"
	"weir/operators"
	"weir/surveys"
	"weir/surveys/pacing"
)

// memory is the state kept from round to round. Losing it in a crash loses no
// work: it only makes rounds fast, shares fair and logs short.
type memory struct {
	surveys       map[int64]*surveyState
	paces         map[weir.ChannelID]*channelPace
	states        map[weir.ChannelID]observation
	statesLoaded  bool // states were read from the store
	hasActive     bool // the latest poll of surveys found some that need rounds
	polledSurveys bool // the latest idle round polled the surveys, so the next one polls the outbox
}

// surveyState is the state kept for a survey.
type surveyState struct {
	survey          surveys.Survey
	plan            *surveys.Plan // nil: its definition cannot be run
	limit           pacing.MinuteLimit
	limitLoaded     bool      // limit includes what earlier processes began
	firstDelayed    time.Time // earliest instant at which a delayed respondent can be started; zero: none is known
	closedHours     bool      // the latest page had respondents outside their hours
	skippedUntil    time.Time // the survey is not processed before
	failures        int
	sweepCursor     surveys.RespondentID // cursor of the sweep over active respondents; sweepDone: the sweep is complete
	sweepDone       bool
	scheduleChanged bool // its schedule has changed: contacts that wait in channels may have windows of the old one
	entriesDropped  bool // it could not be run for a while: its outbox entries were dropped meanwhile
	budget          surveys.BudgetWatch
}

// channelPace is the state kept for a channel: its pacing.
type channelPace struct {
	share      pacing.FairShare
	rate       pacing.RateMeter
	freedSlots int // slots that became free since the meter's latest observation
}

func newMemory() *memory {
	return &memory{surveys: map[int64]*surveyState{}, paces: map[weir.ChannelID]*channelPace{}, states: map[weir.ChannelID]observation{}}
}

func (m *memory) pace(id weir.ChannelID) *channelPace {
	if m.paces[id] == nil {
		m.paces[id] = &channelPace{}
	}
	return m.paces[id]
}

// whyUnavailable explains why a channel must not be given contacts, according to the
// latest check. A channel that was never checked counts as up.
func whyUnavailable(ch weir.Channel, s surveys.ChannelState) operators.Why {
	if why := operators.WhyBlocked(&ch); !why.IsZero() || usable(s.Health) {
		return why
	}
	code := map[weir.Health]operators.WhyCode{weir.Down: operators.WhyDown, weir.Faulted: operators.WhyFaulted}[s.Health]
	if code == "" {
		code = operators.WhyError
	}
	return operators.NewWhy(code, operators.TextUnavailable, "channel", ch.Name, "state", s.Health, "reason", s.Reason)
}

// checkOutdated reports whether a channel differs from what the latest check saw.
func (m *memory) checkOutdated(ch weir.Channel) bool {
	s, known := m.states[ch.ID]
	return ch.Paused != (s.Health == weir.Paused) || known && s.version != 0 && s.version != ch.Version
}

// planCache is the cache of compiled definitions.
type planCache struct {
	mu    sync.Mutex
	plans map[int64]compiledPlan
}

type compiledPlan struct {
	version int64
	plan    *surveys.Plan
	wrong   []weir.FieldError
}

// maxCachedPlans is the max number of plans in the cache. A full cache is cleared.
const maxCachedPlans = 1000

func newPlanCache() *planCache { return &planCache{plans: map[int64]compiledPlan{}} }

// compile returns the compiled definition of a survey. It compiles each version
// once.
func (l *planCache) compile(s *surveys.Survey, def surveys.Defaults) (*surveys.Plan, []weir.FieldError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.plans[s.ID]; ok && c.version == s.Version {
		return c.plan, c.wrong
	}
	plan, wrong := s.Definition.Compile(def)
	if len(l.plans) >= maxCachedPlans {
		clear(l.plans)
	}
	l.plans[s.ID] = compiledPlan{s.Version, plan, wrong}
	return plan, wrong
}

// usable reports whether a channel of this health may be given contacts. Paused
// counts as working: the channel may have been resumed since the check, and its
// row shows whether it is paused.
func usable(h weir.Health) bool { return h != weir.Down && h != weir.Erring && h != weir.Faulted }

// observation is the result of a check of a channel.
type observation struct {
	surveys.ChannelState
	version int64 // of the channel's row
}
