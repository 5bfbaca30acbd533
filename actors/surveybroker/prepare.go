package surveybroker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"weir"
	"weir/surveys"
)

// prepare sets up all channels of a survey at their providers, concurrently,
// and returns an error that names each failure, because the survey would stand
// still. A channel that its user has paused is prepared when it resumes. A
// channel that its provider reports as down for now does not prevent the
// launch: the survey waits for it.
func (s *System) prepare(ctx context.Context, plan *surveys.Plan) error {
	modes := slices.Sorted(maps.Keys(plan.Channels))
	wrong := make([]string, len(modes))
	var wg sync.WaitGroup
	for i, mode := range modes {
		wg.Go(func() { wrong[i] = s.prepareOne(ctx, plan.Channels[mode]) })
	}
	wg.Wait()
	out := &weir.Error{Code: weir.CodeConflict, Message: "the survey stays a draft: a channel cannot be used"}
	for i, mode := range modes {
		if wrong[i] != "" {
			out.Fields = append(out.Fields, weir.FieldError{
				Pointer: "/modes/" + string(mode) + "/channel", Code: "unavailable", Detail: fmt.Sprintf("channel %q %s", plan.Channels[mode], wrong[i]),
			})
		}
	}
	if len(out.Fields) > 0 {
		return out
	}
	return nil
}

// prepareOne returns what prevents a channel from being used, or "".
func (s *System) prepareOne(ctx context.Context, name string) (wrong string) {
	ch, err := call(ctx, func(ctx context.Context) (weir.Channel, error) { return s.store.Channel(ctx, name) })
	if err != nil {
		s.logger.Warn("a channel of a survey could not be read", "error", err)
		return "could not be read; try again"
	}
	if ch.Paused {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, s.checkTimeout)
	defer cancel()
	if err := s.channels.Prepare(ctx, ch); err != nil {
		return "could not be prepared: " + err.Error()
	}
	if status := s.channels.Status(ctx, ch); status.Health == weir.Erring {
		return "does not work: " + status.Reason
	}
	return ""
}
