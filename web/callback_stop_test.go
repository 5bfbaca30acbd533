package web_test

import (
	"context"
	"testing"

	"weir"
	"weir/surveys"
)

// Incoming implements web.Surveys.
func (p *people) Incoming(_ context.Context, _ weir.ChannelID, m weir.Incoming) (surveys.Heard, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, surveys.Report{Key: m.GUID, Messages: []string{m.Body}})
	return surveys.Heard{}, p.hearError
}

// A message is acknowledged only after an opt-out has taken effect, also if it
// arrived before without being acknowledged.
func TestCallbackStop_MessagesAreAcknowledgedOnceTheyAreHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.channel("a", "texts")
	for _, step := range []struct {
		err    error
		status int
	}{{weir.Errorf(weir.CodeUnavailable, "not now"), 503}, {nil, 200}, {nil, 200}} {
		r.people.hearError = step.err
		if g := r.call("", callbackPath(ch, "incoming?guid=g&from=%2B15559998877&body=STOP"), "", ""); g.status != step.status {
			t.Errorf("%v: %d %s", step.err, g.status, g.body)
		}
	}
	if n := len(r.people.heard); n != 3 || len(r.incoming[ch.ID]) != 1 || r.people.heard[0].Messages[0] != "STOP" {
		t.Errorf("%d times heard, %d times stored", n, len(r.incoming[ch.ID]))
	}
	if n := r.counter("weir_incoming_messages_total", "channel", "a"); n != 1 {
		t.Errorf("counted %v times", n)
	}
}
