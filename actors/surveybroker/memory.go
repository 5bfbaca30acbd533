package surveybroker

import (
	"fmt"
	"time"

	"weir"
	"weir/surveys"
)

// memory is the state kept from round to round. Losing it in a crash loses no
// work: it only makes rounds fast, shares fair and logs short.
type memory struct {
	surveys  map[int64]*known
	roads    map[weir.ChannelID]*road
	states   map[weir.ChannelID]sight
	recalled bool // states were read from the store
	live     bool // the latest poll of surveys found some that need rounds
	looked   bool // the latest idle round polled the surveys, so the next one polls the outbox
}

// known is the state kept for a survey.
type known struct {
	survey   surveys.Survey
	plan     *surveys.Plan // nil: its definition cannot be run
	minute   surveys.Minute
	replayed bool      // minute includes what earlier processes began
	aside    time.Time // earliest instant at which a delayed respondent can be started; zero: none is known
	rest     time.Time // the survey is not processed before
	failures int
	held     surveys.RespondentID // cursor of the sweep over active respondents; allHeld: the sweep is complete
	allHeld  bool
	moved    bool // its schedule has changed: contacts that wait in channels may have windows of the old one
	missed   bool // it could not be run for a while: its outbox entries were dropped meanwhile
	seen     bool // in this round
	wanted   int  // backlog in this round, see wantedOf
	limited  bool // in this round it wanted more than the limit per minute allows
}

// road is the state kept for a channel: its pacing.
type road struct {
	rota  surveys.Rota
	meter surveys.Meter
	ended int // slots that became free since the meter's latest observation
}

func newMemory() *memory {
	return &memory{surveys: map[int64]*known{}, roads: map[weir.ChannelID]*road{}, states: map[weir.ChannelID]sight{}}
}

func (m *memory) road(id weir.ChannelID) *road {
	if m.roads[id] == nil {
		m.roads[id] = &road{}
	}
	return m.roads[id]
}

// held explains why a channel must not be given contacts, according to the
// latest check. A channel that was never checked counts as up.
func held(ch weir.Channel, s surveys.ChannelState) weir.Why {
	if why := ch.WhyShut(); !why.IsZero() || works(s.Health) {
		return why
	}
	code := map[weir.Health]weir.WhyCode{weir.Down: weir.WhyDown, weir.Faulted: weir.WhyFaulted}[s.Health]
	if code == "" {
		code = weir.WhyError
	}
	return weir.Why{Code: code, Text: fmt.Sprintf("channel %s is %s: %s", ch.Name, s.Health, s.Reason)}
}

// outdated reports whether a channel differs from what the latest check saw.
func (m *memory) outdated(ch weir.Channel) bool {
	s, known := m.states[ch.ID]
	return ch.Paused != (s.Health == weir.Paused) || known && s.version != 0 && s.version != ch.Version
}
