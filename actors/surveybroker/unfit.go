package surveybroker

import (
	"fmt"

	"weir"
	"weir/channels"
	"weir/surveys"
)

// unfit returns why a channel cannot carry what a mode needs, or "". A launch
// has checked this, but another channel may have been created under the same
// name since.
func (s *System) unfit(mode surveys.Mode, ch weir.Channel) string {
	t, ok := s.types.Type(ch.Type)
	need, word := channels.Text, "texts"
	switch {
	case mode == surveys.CATI:
		need, word = channels.Any, "people"
	case mode.Voice():
		need, word = channels.Voice, "calls"
	}
	if ok && t.Carries(need) {
		return ""
	}
	return fmt.Sprintf("%s needs a channel for %s; channel %q is of type %s", mode, word, ch.Name, ch.Type)
}

// misled reports a mismatch: a channel that cannot carry what the survey uses
// it for.
func (r *round) misled(k *known, ch weir.Channel) bool {
	for mode, name := range k.plan.Channels {
		if r.named[name] == ch.ID && r.unfit(mode, ch) != "" {
			return true
		}
	}
	return false
}
