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

// prepare sets up every channel of a survey at its provider, all at once, and
// names those with which that fails: the survey would stand still. A channel that
// its user has paused is prepared when it goes on; one that is down for now, as
// its provider says, is waited for.
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

// prepareOne says what keeps a channel from being used; nothing if it can be.
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
