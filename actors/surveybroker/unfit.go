package surveybroker

import (
	"fmt"

	"weir"
	"weir/channels"
	"weir/surveys"
)

// unfit says why a channel does not carry what a mode needs; nothing if it does.
// A launch has found that out, but since then another channel may have been made
// under the name.
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

// misled tells whether a channel does not carry what a survey uses it for.
func (r *round) misled(k *known, ch weir.Channel) bool {
	for mode, name := range k.plan.Channels {
		if r.named[name] == ch.ID && r.unfit(mode, ch) != "" {
			return true
		}
	}
	return false
}
