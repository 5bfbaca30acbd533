package surveybroker

import (
	"fmt"
	"time"

	"weir"
	"weir/surveys"
)

// memory is what is remembered from round to round. A crash forgets it, and
// nothing is missed: it makes rounds quick, shares fair and logs short.
type memory struct {
	surveys  map[int64]*known
	roads    map[weir.ChannelID]*road
	states   map[weir.ChannelID]sight
	recalled bool // states are what the store has
	live     bool // at the latest look there were surveys that need rounds
	looked   bool // the latest idle round looked at the surveys, the next looks at the notices
}

// known is what is remembered of a survey.
type known struct {
	survey   surveys.Survey
	plan     *surveys.Plan // nil: its definition cannot be run
	minute   surveys.Minute
	replayed bool      // minute knows what happened before this process
	aside    time.Time // until when the first of those who were set aside waits; zero: nobody is known
	rest     time.Time // the survey itself is not looked at before
	failures int
	held     surveys.RespondentID // of a paused survey: up to whom contacts were taken back
	allHeld  bool
	moved    bool // its schedule has changed: what waits in channels may have another's windows
	missed   bool // it could not be run for a while: what was told of its contacts was forgotten
	seen     bool // in this round
	wanted   int  // in this round, see wantedOf
	limited  bool // in this round it wanted more than the limit of a minute leaves
}

// road is what is remembered of a channel.
type road struct {
	rota  surveys.Rota
	meter surveys.Meter
	ended int // slots that came free since the meter looked
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

// held explains why a channel is not to be given contacts, as far as the latest
// check knows. What was never checked counts as up.
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

// outdated tells whether a channel is not what the latest check saw.
func (m *memory) outdated(ch weir.Channel) bool {
	s, known := m.states[ch.ID]
	return ch.Paused != (s.Health == weir.Paused) || known && s.version != 0 && s.version != ch.Version
}
