package dashboard_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain finds streams that outlive their browsers. The actors' runtime has a
// timer that runs on for a few seconds and ends by itself.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}
