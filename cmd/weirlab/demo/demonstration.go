package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weir/client"
)

const (
	stallLimit  = time.Minute // without any progress
	rateSpan    = 3 * time.Second
	pollTimeout = 2 * time.Second
)

// stage is one channel with everything that belongs to it.
type stage struct {
	*channel
	provider *provider
	figures  client.ChannelView // as of the last poll
	past     []moment           // for the rate
	outage   outage             // by the panel
}

type moment struct {
	at   time.Time
	done int
}

// demonstration is one run of the demo.
type demonstration struct {
	options      Options
	view         *view
	broker       *broker
	cluster      *cluster // the broker's, if there are several processes
	app          *application
	participants []*participants // of each channel for messages
	stages       []*stage
	surveys      []*survey
	asking       *survey // by questions of Weir, while it runs
	talks        *talks
	halt         context.CancelFunc // of the participants
	playing      sync.WaitGroup
	down         bool // there is no broker, or another process is taking over
	kills        int  // of the broker, by the demonstration
	settled      int  // contacts reconciled by processes that have ended
	refusals     *refusals
	courtesy     courtesy
	braking      braking
	asked        asked // by questions of Weir

	// Of live traffic.
	record   *record
	traffic  *traffic
	panel    *panel
	restarts int
	seen     time.Time // the latest end of a contact that was listed
	troubled string    // the error that was reported last

	interviewed string // the result of the interviews
	unasked     string // their faults
}

// running returns the surveys, with the one that asks questions now.
func (s *demonstration) running() []*survey {
	if s.asking == nil {
		return s.surveys
	}
	return append(slices.Clone(s.surveys), s.asking)
}

func (s *demonstration) say(format string, args ...any) { s.view.say(time.Now(), format, args...) }

// poll reads the state of the channels and the surveys from the broker.
func (s *demonstration) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	for _, st := range s.stages {
		if c, err := s.broker.api.GetChannel(ctx, st.name); err == nil {
			st.figures = *c
		}
	}
	for _, sv := range s.running() {
		if stats, err := s.broker.api.GetSurveyStats(ctx, sv.name); err == nil {
			sv.stats = *stats
		}
	}
}

// speed returns how many calls or messages a second were finished lately, by the
// provider's count.
func (st *stage) speed(now time.Time, done int) float64 {
	st.past = append(st.past, moment{now, done})
	for len(st.past) > 2 && now.Sub(st.past[1].at) > rateSpan {
		st.past = st.past[1:]
	}
	first := st.past[0]
	span := now.Sub(first.at).Seconds()
	if span <= 0 {
		return 0
	}
	return float64(done-first.done) / span
}

func (s *demonstration) gauges() []gauge {
	var out []gauge
	for _, sv := range s.running() {
		out = append(out, sv.gauge())
	}
	for _, st := range s.stages {
		line := st.provider.tally.Line(st.provider.line)
		g := gauge{name: st.name, n: line.Active, all: st.capacity}
		rate := st.speed(time.Now(), line.Finished)
		if s.down {
			why := "no broker"
			if s.cluster != nil {
				why = "the owner changes"
			}
			g.text = fmt.Sprintf("%s; %s goes on with %d", why, st.channel.provider, line.Active)
		} else {
			g.n = st.figures.InFlight
			g.text = fmt.Sprintf("%d/%d in flight, %s queued, %.0f %s/s", st.figures.InFlight, st.capacity, number(st.figures.Queued), rate, st.unit)
		}
		out = append(out, g)
	}
	return out
}

func (s *demonstration) finishedRespondents() int {
	n := 0
	for _, sv := range s.surveys {
		n += sv.finishedRespondents()
	}
	return n
}
