package dashboard_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain detects streams that outlive their browsers. The actor runtime has a
// timer that runs for a few more seconds and ends by itself.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}
