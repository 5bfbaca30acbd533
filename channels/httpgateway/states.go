package httpgateway

import (
	"slices"
	"strings"

	"weir"
)

// meaning is the interpretation of a state of the gateway.
type meaning struct {
	outcome weir.Outcome // empty: it goes on
	reason  string
}

// outcomes lists the words for the meaning of a state.
func outcomes() []string {
	return []string{"accepted", string(weir.Completed), string(weir.Failed), string(weir.Expired), string(weir.Busy), string(weir.NoAnswer)}
}

// readStates reads the meanings of the gateway's states.
func readStates(root object) map[string]meaning {
	out := map[string]meaning{}
	o, _ := root.object("states")
	for _, state := range o.keys() {
		at := object{wrong: root.wrong, at: o.under(state), fields: map[string]any{"outcome": o.fields[state]}}
		if _, isObject := o.fields[state].(map[string]any); isObject {
			at = readObject(root.wrong, o.fields[state], o.under(state), "outcome", "reason")
			at.need("outcome", "one of "+strings.Join(outcomes(), ", "))
		}
		s, _ := at.fields["outcome"].(string)
		if !slices.Contains(outcomes(), s) {
			root.wrong.fail(at.at, "value", "must be one of %s, or an object with outcome and reason", strings.Join(outcomes(), ", "))
		}
		m := meaning{outcome: weir.Outcome(s), reason: at.reason("reason")}
		// As in a report, an empty outcome means that the message goes on.
		if s == "accepted" {
			m.outcome = ""
		}
		out[state] = m
	}
	return out
}
