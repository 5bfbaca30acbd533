package persistence_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain allows for the database server: the test process that happens to
// start it waits for its end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/exec.(*Cmd).Wait"))
}
