package contacts_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// A history that fails is shortened for seconds, not for half a minute.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.shrinktime", "5s"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
