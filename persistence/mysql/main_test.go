package mysql

import (
	"flag"
	"os"
	"testing"
)

// A script that fails is shortened for seconds, not for half a minute.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.shrinktime", "5s"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
