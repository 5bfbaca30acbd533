package surveys

import (
	"context"
	"fmt"
	"time"

	"weir"
	"weir/actors/supervise"
	"weir/surveys"
)

// roundResult is the outcome of a round.
type roundResult struct {
	began         time.Time
	moreWork      bool
	patient       bool // see roundState.patient
	nextWork      time.Time
	recheck       []weir.ChannelID // channels to check again soon
	channelsInUse []weir.Channel   // see roundState.channelsInUse
	err           error
}

// runRound runs one round. hinted reports that the round has a cause other than
// the regular interval.
func runRound(ctx context.Context, io *access, mem *memory, hinted bool) (out roundResult) {
	r := newRound(io, mem, hinted)
	defer func() {
		if p := recover(); p != nil {
			supervise.LogPanic(io.Logger, io.Metrics.panics, "survey round panicked", p)
			out.err = fmt.Errorf("the round panicked: %s", supervise.PanicText(p))
		}
		io.Metrics.roundDuration.Observe(time.Since(r.now).Seconds())
	}()
	err := doRound(ctx, r)
	return roundResult{began: r.now, moreWork: r.moreWork, patient: r.patient(), nextWork: r.nextWork, recheck: r.recheck, channelsInUse: r.channelsInUse(), err: err}
}

// doRound polls what there is to do, and does it.
func doRound(ctx context.Context, r *roundState) error {
	r.io.freed.moveTo(r.memory)
	if err := loadChannelStates(ctx, r); err != nil {
		return err
	}
	// With no survey to run, one statement per interval is enough.
	outbox, poll := true, true
	if !r.hinted && !r.memory.hasActive {
		poll = !r.memory.polledSurveys
		outbox = !poll
		r.memory.polledSurveys = poll
	}
	if poll {
		if err := pollSurveys(ctx, r); err != nil {
			return err
		}
	}
	if outbox {
		seen, err := processOutbox(ctx, r)
		if err != nil {
			return err
		}
		r.continueIf(!poll && seen > 0)
	}
	if !poll {
		return nil
	}
	var list []runningSurvey
	for _, sv := range r.memory.surveys {
		facts, err := advance(ctx, r, sv)
		if err != nil {
			return err
		}
		if facts != nil {
			list = append(list, runningSurvey{surveyState: sv, facts: facts})
		}
	}
	backlogs, err := feed(ctx, r, list)
	for id, sv := range r.memory.surveys {
		r.io.Metrics.backlog.WithLabelValues(sv.survey.Name).Set(float64(backlogs[id]))
	}
	return err
}

// loadChannelStates reads the channel states that an earlier process found.
func loadChannelStates(ctx context.Context, r *roundState) error {
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
func pollSurveys(ctx context.Context, r *roundState) error {
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
		r.setVersion(sv, s)
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
