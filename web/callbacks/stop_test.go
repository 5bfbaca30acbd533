package callbacks_test

import (
	"testing"

	"weir"
	"weir/web/webtest"
)

// A message is acknowledged only after an opt-out has taken effect, also if it
// arrived before without being acknowledged.
func TestCallbackStop_MessagesAreAcknowledgedOnceTheyAreHeard(t *testing.T) {
	t.Parallel()
	r := webtest.New(t)
	ch := r.Channel("a", "texts")
	for _, step := range []struct {
		err    error
		status int
	}{{weir.Errorf(weir.CodeUnavailable, "not now"), 503}, {nil, 200}, {nil, 200}} {
		r.People.Refusal = step.err
		if g := r.Call("", webtest.CallbackPath(ch, "incoming?guid=g&from=%2B15559998877&body=STOP"), "", ""); g.Status != step.status {
			t.Errorf("%v: %d %s", step.err, g.Status, g.Body)
		}
	}
	if n := len(r.People.Reports); n != 3 || len(r.Messages(ch)) != 1 || r.People.Reports[0].Messages[0] != "STOP" {
		t.Errorf("%d times heard, %d times stored", n, len(r.Messages(ch)))
	}
	if n := r.Counter("weir_incoming_messages_total", "channel", "a"); n != 1 {
		t.Errorf("counted %v times", n)
	}
}
