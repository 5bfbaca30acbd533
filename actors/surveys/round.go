package surveys

import (
	"context"
	"fmt"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/surveys"
)

// round is one scheduling pass over all running surveys.
type round struct {
	io           *access
	view         *view
	schedule     *schedule
	memory       *memory
	now          time.Time
	outboxReader *outboxReader
	life         *lifecycle
	feeder       *feeder
}

// result is the outcome of a round.
type result struct {
	moreWork      bool
	nextWork      time.Time
	recheck       []weir.ChannelID // channels to check again soon
	channelsInUse []weir.Channel   // channels in use, see round.channelsInUse
	err           error
}

// newRound returns a round that begins now. hinted reports that it has a cause other than
// the regular interval.
func newRound(io *access, m *memory, hinted bool) *round {
	now, plan := time.Now(), &schedule{}
	v := newView(io, m, now)
	w := &writer{io: io, view: v, schedule: plan, memory: m, now: now, cancelTimeouts: map[weir.ChannelID]int{}}
	life := &lifecycle{io: io, view: v, schedule: plan, writer: w, now: now, hinted: hinted, tallies: map[int64]tally{}}
	return &round{
		io: io, view: v, schedule: plan, memory: m, now: now,
		outboxReader: &outboxReader{io: io, view: v, schedule: plan, writer: w, memory: m},
		life:         life, feeder: &feeder{io: io, view: v, schedule: plan, writer: w, life: life, memory: m, now: now},
	}
}

// tally is a round's view of a survey as a whole.
type tally struct {
	surveys.Tally
	decision surveys.Decision
	full     []int
}

// runRound runs one round. hinted reports that the round has a cause other than
// the regular interval.
func runRound(ctx context.Context, io *access, mem *memory, hinted bool) (out result) {
	r := newRound(io, mem, hinted)
	defer func() {
		if p := recover(); p != nil {
			supervise.LogPanic(io.Logger, io.Metrics.panics, "survey round panicked", p)
			out.err = fmt.Errorf("the round panicked: %s", supervise.PanicText(p))
		}
		io.Metrics.roundDuration.Observe(time.Since(r.now).Seconds())
	}()
	err := r.run(ctx)
	return result{moreWork: r.schedule.moreWork, nextWork: r.schedule.nextWork, recheck: r.schedule.recheck, channelsInUse: r.view.channelsInUse(), err: err}
}

func (r *round) run(ctx context.Context) error {
	if err := r.loadChannelStates(ctx); err != nil {
		return err
	}
	// With no survey to run, one statement per interval is enough.
	outbox, poll := true, true
	if !r.life.hinted && !r.memory.hasActive {
		poll = !r.memory.polledSurveys
		outbox = !poll
		r.memory.polledSurveys = poll
	}
	if poll {
		if err := r.pollSurveys(ctx); err != nil {
			return err
		}
	}
	if outbox {
		if err := r.outboxReader.process(ctx); err != nil {
			return err
		}
	}
	if !poll {
		r.schedule.moreWork = r.schedule.moreWork || r.outboxReader.hadEntries
		return nil
	}
	var bidders []*surveyState
	for _, sv := range r.memory.surveys {
		goesOn, err := r.life.advance(ctx, sv)
		if err != nil {
			return err
		}
		if goesOn {
			bidders = append(bidders, sv)
		}
	}
	backlogs, err := r.feeder.feed(ctx, bidders)
	for id, sv := range r.memory.surveys {
		r.io.Metrics.backlog.WithLabelValues(sv.survey.Name).Set(float64(backlogs[id]))
	}
	return err
}

// loadChannelStates reads the channel states that an earlier process found.
func (r *round) loadChannelStates(ctx context.Context) error {
	if r.memory.statesLoaded {
		return nil
	}
	states, err := r.io.channelStates(ctx)
	if err != nil {
		return fmt.Errorf("read the states of channels: %w", err)
	}
	for id, s := range states {
		r.memory.states[id] = observation{ChannelState: s}
	}
	r.memory.statesLoaded = true
	return nil
}

// pollSurveys polls the surveys that need rounds.
func (r *round) pollSurveys(ctx context.Context) error {
	polled := map[int64]bool{}
	r.memory.hasActive = false
	err := r.io.eachSurvey(ctx, []surveys.State{surveys.Running, surveys.Paused, surveys.Stopping}, func(s surveys.Survey) {
		if s.Deleting {
			return
		}
		sv := r.memory.surveys[s.ID]
		if sv == nil {
			sv = &surveyState{}
			r.memory.surveys[s.ID] = sv
			r.io.Metrics.addSurvey(s.Name)
		}
		r.view.setVersion(sv, s)
		polled[s.ID] = true
		r.memory.hasActive = r.memory.hasActive || sv.survey.State != surveys.Paused || !sv.sweepDone
	})
	if err != nil {
		return err
	}
	for id, sv := range r.memory.surveys {
		if !polled[id] {
			r.io.Metrics.removeSurvey(sv.survey.Name)
			r.io.findings.skipped.Delete(id)
			r.io.brakes.forget(id)
			r.io.findings.zoneless.Delete(id)
			delete(r.memory.surveys, id)
			for _, pace := range r.memory.paces {
				pace.share = pace.share.Remove(sv.survey.Name)
			}
		}
	}
	return nil
}
